//! The facts of kernels, against tables written by hand from the sources.

use clmsl::{FactKind, Options, translate};

use FactKind::{Atomic, Barrier, Fence, GroupPosition, LocalMemory, Print, SubGroup, WorkGroup};

/// A source, its options, and by kernel the facts as kind and line.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static [(FactKind, u32)])]);

const CASES: &[Case] = &[
    (
        "kernel void k(global float* y, float a) {\n y[get_global_id(0)] = a * get_global_size(0) + get_work_dim(); }",
        "",
        &[("k", &[])],
    ),
    (
        "kernel void k(global int* y) { barrier(CLK_GLOBAL_MEM_FENCE);\n barrier(CLK_LOCAL_MEM_FENCE);\n y[0] = 1; }",
        "",
        &[("k", &[(Barrier, 1), (Barrier, 2)])],
    ),
    // Of two kernels with one helper each, and of a helper that no kernel calls.
    (
        "int id(void) {\n return get_local_id(0); }\nvoid never(void) { barrier(0); }\nint twice(void) { return 2 * id(); }\n\
         kernel void a(global int* y) { y[0] = twice() + id(); }\nkernel void b(global int* y) { y[0] = get_global_id(1); }",
        "",
        &[("a", &[(GroupPosition, 2)]), ("b", &[])],
    ),
    // A helper that is copied for two address spaces has its fact once.
    (
        "int first(int* p) {\n return p[get_group_id(0)]; }\nkernel void k(global int* x, constant int* c, global int* y) {\n y[0] = first(x) + first(y); }",
        "-cl-std=CL2.0",
        &[("k", &[(GroupPosition, 2)])],
    ),
    ("kernel void k(global int* y) {\n local int t[4];\n t[0] = 1; y[0] = t[0]; }", "", &[("k", &[(LocalMemory, 2)])]),
    ("kernel void k(global int* y,\n local int* t) { y[0] = 1; }", "", &[("k", &[(LocalMemory, 2)])]),
    // A kernel that another calls.
    (
        "kernel void in(global int* y) {\n local int t; t = 3; *y = t; }\nkernel void out(global int* y) { in(y); }",
        "",
        &[("in", &[(LocalMemory, 2)]), ("out", &[(LocalMemory, 2)])],
    ),
    (
        "kernel void k(global int* y) {\n y[0] = get_local_id(0);\n y[1] = get_group_id(1);\n y[2] = get_local_size(2);\n y[3] = get_num_groups(0); }",
        "",
        &[("k", &[(GroupPosition, 2), (GroupPosition, 3), (GroupPosition, 4), (GroupPosition, 5)])],
    ),
    (
        "kernel void k(global uint* y) {\n y[0] = get_local_linear_id();\n y[1] = get_enqueued_local_size(0);\n y[2] = get_global_linear_id(); }",
        "-cl-std=CL2.0",
        &[("k", &[(GroupPosition, 2), (GroupPosition, 3)])],
    ),
    (
        "kernel void k(global int* y) {\n atomic_add(y, 1);\n mem_fence(CLK_GLOBAL_MEM_FENCE); }",
        "",
        &[("k", &[(Atomic, 2), (Fence, 3)])],
    ),
    // On local memory only the memory counts.
    ("kernel void k(local int* t) {\n atomic_inc(t); }", "", &[("k", &[(LocalMemory, 1)])]),
    (
        "kernel void k(global atomic_int* y) {\n atomic_fetch_add(y, 1);\n atomic_fetch_add_explicit(y, 1, memory_order_relaxed, memory_scope_work_group);\n\
         atomic_store_explicit(y, 1, memory_order_release, memory_scope_device);\n atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, memory_scope_work_group); }",
        "-cl-std=CL2.0",
        &[("k", &[(Atomic, 2), (Fence, 3), (Atomic, 4), (Fence, 5)])],
    ),
    (
        "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\nkernel void k(global int* y) {\n y[0] = sub_group_reduce_add(1);\n y[1] = get_sub_group_id();\n sub_group_barrier(CLK_LOCAL_MEM_FENCE);\n\
         y[2] = work_group_reduce_add(2); }",
        "-cl-std=CL2.0",
        &[("k", &[(SubGroup, 3), (SubGroup, 4), (SubGroup, 5), (WorkGroup, 6)])],
    ),
    (
        "kernel void k(global int* y, local int* t) {\n event_t e = async_work_group_copy(t, y, 4, 0);\n wait_group_events(1, &e); }",
        "",
        &[("k", &[(LocalMemory, 1), (WorkGroup, 2), (Barrier, 3)])],
    ),
    // Behind a macro the place is the call's.
    (
        "#define SYNC barrier(CLK_LOCAL_MEM_FENCE)\nkernel void k(void) {\n SYNC;\n SYNC; }",
        "",
        &[("k", &[(Barrier, 3), (Barrier, 4)])],
    ),
    // In code that is never run, but not in text that the preprocessor drops.
    (
        "kernel void k(void) {\n if (0) barrier(CLK_LOCAL_MEM_FENCE);\n#if 0\n barrier(0);\n#endif\n}",
        "",
        &[("k", &[(Barrier, 2)])],
    ),
    (
        r#"kernel void k(int n) {
 printf("%d", n); }"#,
        "",
        &[("k", &[(Print, 2)])],
    ),
];

#[test]
fn kernels_have_the_facts_of_their_sources() {
    for (source, options, wanted) in CASES {
        let build = Options::parse_build_options(options).expect("options");
        let translation = translate("case.cl", source, &build.options);
        assert!(translation.msl.is_some(), "{source}\n{}", translation.rendered());
        let kernels = &translation.analysis.kernels;
        let names: Vec<&str> = translation.reflection.kernels.iter().map(|kernel| &*kernel.name).collect();
        assert_eq!(kernels.iter().map(|kernel| &*kernel.name).collect::<Vec<_>>(), names, "{source}");
        for (name, facts) in *wanted {
            let kernel = translation.analysis.kernel(name).unwrap_or_else(|| panic!("{name}: {source}"));
            let line = |fact: &clmsl::Fact| (fact.kind, translation.sources.location(fact.span).line);
            assert_eq!(kernel.facts.iter().map(line).collect::<Vec<_>>(), *facts, "{name}: {source}");
            let depends: Vec<FactKind> = kernel.group_dependences();
            let free = facts.iter().all(|(kind, _)| matches!(kind, Atomic | Print));
            assert_eq!(depends.is_empty(), free, "{name}: {source}: {depends:?}");
        }
        assert_eq!(kernels.len(), wanted.len(), "{source}");
    }
}

#[test]
fn what_is_wrong_has_no_facts() {
    let translation = translate("case.cl", "kernel void k(void) { barrier(0) }", &Options::default());
    assert!(translation.msl.is_none() && translation.analysis.kernels.is_empty());
}
