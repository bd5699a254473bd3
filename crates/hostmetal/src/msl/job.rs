//! [`Job`]: a folder of one compilation in the cache, `job-*`; and which of them nobody will remove any more.
//!
//! Whoever makes one holds a lock on it (flock(2)), which the kernel takes back when the process ends, in whatever way. So what can be locked is nobody's.
//! The number of a process would not tell: another has it later, or has it now in another container. Between a job's making and its lock, and where a file
//! system has no locks, only its age says that it was left behind.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use tempfile::{NamedTempFile, TempDir};

/// What the names of jobs begin with.
pub(super) const PREFIX: &str = "job-";
/// Nobody uses what was not changed for so long and is not locked.
pub(super) const LEFT: Duration = Duration::from_secs(3600);

/// A folder that is removed when this is dropped.
pub(crate) struct Job {
    folder: TempDir,
    /// Kept until the folder is gone. `None` where there is no lock.
    _lock: Option<File>,
}

impl Job {
    pub(super) fn new(cache: &Path) -> io::Result<Job> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(cache)?;
        let lock = File::open(folder.path()).ok();
        lock.as_ref().inspect(|file| hold(file));
        Ok(Job { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A file that is removed when it is dropped and has got no other name.
pub(super) fn file(cache: &Path) -> io::Result<NamedTempFile> {
    // tempfile gives it mode 0600.
    let file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(cache)?;
    hold(file.as_file());
    Ok(file)
}

/// Locks it where that is possible.
fn hold(file: &File) {
    let _ = flock(file, FlockOperation::NonBlockingLockExclusive);
}

/// Whether nobody holds a job any more.
pub(super) fn is_free(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // What is no folder and no file of ours cannot be opened so.
    let Ok(found) = rustix::fs::open(path, flags, Mode::empty()) else { return true };
    flock(&found, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::path::PathBuf;
    use std::process::{Command, Stdio};
    use std::time::SystemTime;

    use super::super::toolchain::{own_directory, sweep};
    use super::*;

    const CHILD: &str = "HOSTMETAL_TEST_JOB";
    const MADE: &str = "made: ";

    /// Does nothing unless the test below started it as a process of its own: makes a job and a file, and keeps them until it is killed.
    #[test]
    fn child() {
        let Some(cache) = std::env::var_os(CHILD) else { return };
        let (job, file) = (Job::new(Path::new(&cache)).unwrap(), file(Path::new(&cache)).unwrap());
        std::fs::write(job.path().join("kernel.ll"), "text").unwrap();
        for path in [job.path(), file.path()] {
            println!("\n{MADE}{}", path.display());
        }
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    }

    fn make_old(path: &Path) {
        File::open(path).unwrap().set_modified(SystemTime::now() - 2 * LEFT).unwrap();
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let cache = own_directory(place.path()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "msl::job::tests::child", "--nocapture"]).env(CHILD, &cache);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
        let made: Vec<PathBuf> = lines.filter_map(|line| Some(line.strip_prefix(MADE)?.into())).take(2).collect();
        let (own, own_file) = (Job::new(&cache).unwrap(), file(&cache).unwrap());
        // Of a process that was killed before there were locks, or before it had one.
        let [old, new] = ["job-old", "job-new"].map(|name| cache.join(name));
        std::fs::create_dir(&old).unwrap();
        std::fs::create_dir(&new).unwrap();
        let kept = [own.path(), own_file.path()];
        made.iter().map(PathBuf::as_path).chain(kept).chain([&*old]).for_each(make_old);
        sweep(&cache);
        assert!(!old.exists(), "nobody has it");
        assert!(made.iter().all(|path| path.exists()), "however old it is, it is used: {made:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        sweep(&cache);
        assert!(made.len() == 2 && !made.iter().any(|path| path.exists()), "its process has gone: {made:?}");
        assert!(kept.iter().all(|path| path.exists()) && new.exists());
        drop((own, own_file));
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 1, "only what is new is left");
    }
}
