//! Whether the machine, or the group of processes that this one is limited with, is short of memory.
//!
//! Linux: the limits of control group v2 (`memory.max`, `memory.high`) of this process and of the groups around it, less what the
//! kernel can drop at once (`inactive_file`); `MemAvailable` of `/proc/meminfo`; and the share of time in which processes stood still for
//! memory (`/proc/pressure/memory` and the group's own, <https://docs.kernel.org/accounting/psi.html>). All of them are
//! plain files, read when asked: the kernel's notifications need privileges that programs rarely have.
//! macOS: `kern.memorystatus_vm_pressure_level`; at its changes a dispatch source, `DISPATCH_SOURCE_TYPE_MEMORYPRESSURE`, has who is told
//! look at once ([`notices`]).
//! What a system does not tell counts as no pressure.

/// How short memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pressure {
    None,
    /// Memory that was not used lately should go.
    Some,
    /// Whatever can go should go.
    Critical,
}

/// What has the system send something when memory becomes short or is so no longer, as long as it is kept.
#[cfg(target_os = "macos")]
pub(crate) type Notices = crate::raw::system::PressureSource;
/// What has the system send something: it has no such thing.
#[cfg(not(target_os = "macos"))]
pub(crate) type Notices = std::convert::Infallible;

/// `None` where the system sends nothing: then it has to be asked from time to time.
#[cfg(target_os = "macos")]
pub(crate) fn notices(to: std::sync::mpsc::Sender<()>) -> Option<Notices> {
    Notices::new(to)
}

/// `None`: it has to be asked from time to time.
#[cfg(not(target_os = "macos"))]
pub(crate) fn notices(_: std::sync::mpsc::Sender<()>) -> Option<Notices> {
    None
}

#[cfg(target_os = "macos")]
pub(crate) fn pressure() -> Pressure {
    // sys/kern_memorystatus.h: 1 normal, 2 warning, 4 critical.
    match crate::raw::system::sysctl_u32(c"kern.memorystatus_vm_pressure_level") {
        Some(4..) => Pressure::Critical,
        Some(2..) => Pressure::Some,
        _ => Pressure::None,
    }
}

#[cfg(not(target_os = "macos"))]
pub(crate) fn pressure() -> Pressure {
    linux::pressure(&root())
}

/// Where the machine's `/proc` and `/sys` are.
#[cfg(not(any(target_os = "macos", test)))]
fn root() -> std::path::PathBuf {
    "/".into()
}

/// The same, which a test may put elsewhere.
#[cfg(all(not(target_os = "macos"), test))]
fn root() -> std::path::PathBuf {
    let root = ROOT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    root.clone().unwrap_or_else(|| "/".into())
}

/// Whose `/proc` and `/sys` all pools of the tests' process look at; `None` for the machine's.
#[cfg(all(not(target_os = "macos"), test))]
pub(super) static ROOT: std::sync::Mutex<Option<std::path::PathBuf>> = std::sync::Mutex::new(None);

#[cfg(any(not(target_os = "macos"), test))]
mod linux {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::Pressure;

    /// Of a machine whose `/proc` and `/sys` lie under `root`.
    pub(super) fn pressure(root: &Path) -> Pressure {
        let machine = [available(root), stalls(&root.join("proc/pressure/memory"))];
        let groups = groups(root);
        let groups = groups.iter().flat_map(|group| [limits(group), stalls(&group.join("memory.pressure"))]);
        machine.into_iter().chain(groups).max().unwrap_or(Pressure::None)
    }

    /// The control groups of this process, its own first.
    fn groups(root: &Path) -> Vec<PathBuf> {
        let Ok(text) = fs::read_to_string(root.join("proc/self/cgroup")) else { return Vec::new() };
        let Some(own) = text.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
        Path::new(own).ancestors().map(|group| root.join("sys/fs/cgroup").join(group)).collect()
    }

    /// The part of the whole that is left: under a tenth is some pressure, under a twentieth is critical.
    fn of_room(left: u64, whole: u64) -> Pressure {
        match () {
            () if left < whole / 20 => Pressure::Critical,
            () if left < whole / 10 => Pressure::Some,
            () => Pressure::None,
        }
    }

    fn available(root: &Path) -> Pressure {
        let Ok(text) = fs::read_to_string(root.join("proc/meminfo")) else { return Pressure::None };
        match (field(&text, "MemAvailable:"), field(&text, "MemTotal:")) {
            (Some(available), Some(total)) => of_room(available, total),
            _ => Pressure::None,
        }
    }

    /// A group's use against its own limits.
    fn limits(group: &Path) -> Pressure {
        let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let limit = ["memory.max", "memory.high"].into_iter().filter_map(number).min();
        let (Some(limit), Some(current)) = (limit, number("memory.current")) else { return Pressure::None };
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let used = current.saturating_sub(field(&stat, "inactive_file").unwrap_or(0));
        of_room(limit.saturating_sub(used), limit)
    }

    /// All processes stood still for a tenth of the last ten seconds, or some did.
    fn stalls(file: &Path) -> Pressure {
        let Ok(text) = fs::read_to_string(file) else { return Pressure::None };
        let stalled = |kind: &str| {
            let line = text.lines().find(|line| line.starts_with(kind))?;
            line.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse::<f64>().ok()
        };
        match (stalled("full"), stalled("some")) {
            (Some(full), _) if full >= 10.0 => Pressure::Critical,
            (_, Some(some)) if some >= 10.0 => Pressure::Some,
            _ => Pressure::None,
        }
    }

    /// The number behind a name that begins a line.
    fn field(text: &str, name: &str) -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// Files below a root, what they hold, and the pressure they mean.
        type Case = (&'static str, &'static [(&'static str, &'static str)], Pressure);

        const PLENTY: (&str, &str) = ("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 500 kB\n");

        const CASES: &[Case] = &[
            ("nothing is known", &[], Pressure::None),
            ("plenty", &[PLENTY], Pressure::None),
            ("a tenth is left", &[("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 100 kB\n")], Pressure::None),
            ("less than a tenth", &[("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 99 kB\n")], Pressure::Some),
            ("less than 5 %", &[("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 49 kB\n")], Pressure::Critical),
            (
                "some stand still",
                &[
                    PLENTY,
                    (
                        "proc/pressure/memory",
                        "some avg10=12.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=9.99 avg60=0.00 avg300=0.00 total=1\n",
                    ),
                ],
                Pressure::Some,
            ),
            (
                "all stand still",
                &[
                    PLENTY,
                    (
                        "proc/pressure/memory",
                        "some avg10=30.00 avg60=0.0 total=1\nfull avg10=10.00 avg60=0.0 total=1\n",
                    ),
                ],
                Pressure::Critical,
            ),
            (
                "stood still long ago",
                &[PLENTY, ("proc/pressure/memory", "some avg10=0.00 avg60=50.0 total=1\nfull avg10=0.00 avg60=40.0\n")],
                Pressure::None,
            ),
            (
                "the group is near its limit",
                &[
                    PLENTY,
                    ("proc/self/cgroup", "0::/a/b\n"),
                    ("sys/fs/cgroup/a/b/memory.max", "1000\n"),
                    ("sys/fs/cgroup/a/b/memory.current", "920\n"),
                ],
                Pressure::Some,
            ),
            (
                "files in memory can go",
                &[
                    PLENTY,
                    ("proc/self/cgroup", "0::/a/b\n"),
                    ("sys/fs/cgroup/a/b/memory.max", "1000\n"),
                    ("sys/fs/cgroup/a/b/memory.current", "990\n"),
                    ("sys/fs/cgroup/a/b/memory.stat", "anon 10\nactive_file 1\ninactive_file 500\n"),
                ],
                Pressure::None,
            ),
            (
                "the group around it is near its limit",
                &[
                    PLENTY,
                    ("proc/self/cgroup", "0::/a/b\n"),
                    ("sys/fs/cgroup/a/b/memory.max", "max\n"),
                    ("sys/fs/cgroup/a/b/memory.current", "970\n"),
                    ("sys/fs/cgroup/a/memory.max", "1000\n"),
                    ("sys/fs/cgroup/a/memory.current", "970\n"),
                ],
                Pressure::Critical,
            ),
            (
                "the lower of both limits counts",
                &[
                    PLENTY,
                    ("proc/self/cgroup", "0::/\n"),
                    ("sys/fs/cgroup/memory.max", "10000\n"),
                    ("sys/fs/cgroup/memory.high", "1000\n"),
                    ("sys/fs/cgroup/memory.current", "1200\n"),
                ],
                Pressure::Critical,
            ),
            (
                "the group stands still",
                &[
                    PLENTY,
                    ("proc/self/cgroup", "12:pids:/other\n0::/a\n"),
                    ("sys/fs/cgroup/a/memory.pressure", "some avg10=11.00 total=1\nfull avg10=0.00 total=1\n"),
                ],
                Pressure::Some,
            ),
            (
                "nonsense is not pressure",
                &[("proc/meminfo", "MemTotal: many\n"), ("proc/pressure/memory", "some avg10=x\n")],
                Pressure::None,
            ),
        ];

        #[test]
        fn files_of_the_kernel_mean_this_pressure() {
            for (name, files, wanted) in CASES {
                let root = tempfile::tempdir().unwrap();
                for (path, text) in *files {
                    let path = root.path().join(path);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, text).unwrap();
                }
                assert_eq!(pressure(root.path()), *wanted, "{name}");
            }
        }
    }
}
