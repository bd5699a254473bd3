//! Flags of shared objects, by how the threads of a kernel take turns; and what is read in the code that clang prints with some.

/// Flags for a shared object.
pub(super) const SHARED: [&str; 4] = ["-shared", "-fuse-ld=lld", "-Wl,-z,defs", "-Wl,-z,now"];

/// Flags for loops over threads.
pub(super) const LOOPS: [&str; 2] = ["-mllvm", "-inline-threshold=2000"];

/// Without the plugin, LLVM must not join a thread's accesses with a stride: see native/hostmetal/pass/joins.cpp, which proves where
/// it may.
pub(super) const UNJOINED: [&str; 2] = ["-mllvm", "-enable-interleaved-mem-accesses=false"];

/// Flags for a stack per thread. Later passes do not know that a synchronising call must stay one call (hostmetal_runtime.h). The
/// executor takes the order of addresses for the order of the text (executor/schedule.rs), so no branch is so unlikely that
/// its blocks are moved behind the others, blocks are not placed anew (which turns loops, so that their end comes first), and
/// variables have no lifetimes (whose ends clang places before the body of a loop, and with them what follows it).
pub(super) const STACKS: [&str; 16] = [
    "-mllvm",
    "-static-likely-prob=100",
    "-mllvm",
    "-profile-likely-prob=100",
    "-mllvm",
    "-tail-dup-placement=0",
    "-mllvm",
    "-disable-tail-duplicate",
    "-mllvm",
    "-disable-early-taildup",
    "-mllvm",
    "-disable-block-placement",
    "-mllvm",
    "-disable-branch-fold",
    "-Xclang",
    "-disable-lifetime-markers",
];

/// Flags that print the code of `hm_kernel_group` for `keeps_memory`.
pub(super) const PRINTED: [&str; 5] = [
    "-fno-discard-value-names",
    "-mllvm",
    "-print-before=loop-vectorize",
    "-mllvm",
    "-filter-print-funcs=hm_kernel_group",
];

/// Of what clang prints for `keeps_memory`, the lines that it looks at.
pub(super) fn allocations(output: &str) -> String {
    let Some(at) = output.find("define dso_local void @hm_kernel_group").or_else(|| output.find("@hm_kernel_group("))
    else {
        return String::new();
    };
    let mut lines = output[at..].lines();
    let first = lines.next().into_iter();
    first.chain(lines.filter(|line| line.contains(" = alloca "))).map(|line| format!("{line}\n")).collect()
}

/// How the names of arguments begin that `each_thread` (hostmetal_kernel.h) holds per threadgroup.
pub(super) const HELD: &str = "hm_held";

/// Whether the printed code of `hm_kernel_group` has stack memory of a thread (not only the arguments held per
/// threadgroup), or was not printed. `named`: no variable of the program has a name that begins with `HELD`.
pub(super) fn keeps_memory(allocations: &str, named: bool) -> bool {
    let mut lines = allocations.lines().filter_map(|line| line.split_once(" = alloca "));
    // Arguments that `each_thread` holds go by their name or by their type, whichever the optimiser has left them.
    let held = |name: &str| named && name.trim_start().strip_prefix('%').is_some_and(|name| name.starts_with(HELD));
    allocations.is_empty()
        || lines.any(|(name, kind)| {
            !held(name)
                && !kind.starts_with("%\"struct.hostmetal::argument<")
                && !kind.starts_with("%\"struct.hostmetal::resource_argument<")
                && !kind.starts_with("%\"struct.hostmetal::stage_in<")
        })
}
