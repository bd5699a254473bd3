//! What is told of MSL that compiles, and where.

use hostmetal::msl::{CompileOptions, check};

#[test]
fn warnings_do_not_fail_and_are_told() {
    let source = "vertex float4 v() { return float4(1); }\nkernel void k(device float *y) {\n  int unused = 1;\n  threadgroup float t[2] = {0};\n  t[0] = 1; y[0] = t[0];\n}";
    let checked = check(source, &CompileOptions::default()).unwrap();
    let warnings = checked.warnings().unwrap();
    for expected in [
        "program_source:1:15: warning: vertex function 'v' is left out: hostmetal runs compute functions only",
        "program_source:3:7: warning: unused variable 'unused'",
        "program_source:4:21: warning: the initializer of a threadgroup variable has no effect",
    ] {
        assert!(warnings.contains(expected), "{expected}\n{warnings}");
    }
    assert_eq!(checked.kernels().iter().map(|k| k.name.as_str()).collect::<Vec<_>>(), ["k"]);
}

/// Their values are not known yet.
#[test]
fn function_constants_are_no_cause_of_warnings() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\n\
        constant int n [[function_constant(0)]];\nconstant uint4 v [[function_constant(1)]];\n\
        constant bool b [[function_constant(2)]];\nconstant half h [[function_constant(3)]];\n\
        constant int m = is_function_constant_defined(n) ? n : 3;\n\
        kernel void k(device int *p, uint i [[thread_position_in_grid]]) {\n\
          const int rows = 32 / n;\n  p[i] = int(i) % n + rows / m + int(i / v.y) + (b ? 1 : 0) + int(h);\n}\n";
    let checked = check(source, &CompileOptions::default()).unwrap();
    assert_eq!(checked.warnings(), None);
    let divided = check("kernel void k(device int *p) { p[0] = p[1] / 0; }", &CompileOptions::default()).unwrap();
    assert!(divided.warnings().unwrap().contains("division by zero is undefined"));
}

#[test]
fn a_message_s_argument_of_another_size_is_a_warning() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device ulong *p, device short4 *v, uint i [[thread_position_in_grid]]) {\n\
                  os_log_default.log(\"%d\", p[0]);\nos_log_default.log(\"%lu\", i);\nos_log_default.log(\"%v4hld\", v[0]);\n\
                  os_log_default.log(\"%d %u %hd %f %v4hd %lu\", i, v[0].x, i, 1.0h, v[0], p[0]);\n}";
    let checked = check(source, &CompileOptions::default()).unwrap();
    let warnings = checked.warnings().unwrap();
    let told: Vec<&str> = warnings.lines().filter(|line| line.contains(": warning: ")).collect();
    let expected = [4, 5, 6].map(|line| {
        format!("program_source:{line}:16: warning: an argument has another size than its conversion prints, and is converted [-Wuser-defined-warnings]")
    });
    assert_eq!(told, expected, "{warnings}");
}

/// Warnings, not errors: a branch that is not taken may have them, in a template for vectors of several lengths.
#[test]
fn a_constant_place_that_is_not_there_is_told() {
    let source = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *p, device float2x3 *m, uint i [[thread_position_in_grid]]) {\n\
                  float4 v = p[0]; p[1] = v[4] + v[i];\npacked_float3 w = v.xyz; w[-1] = 1; p[2] = w[2];\n\
                  array<float, 2> a; a[2] = 1; p[3] = a[0] + a[1];\np[4] = m[0][1][3] + m[0][1][2];\n\
                  volatile int2 z = 1; p[5] = z[2];\n}";
    let checked = check(source, &CompileOptions::default()).unwrap();
    let warnings = checked.warnings().unwrap();
    let told: Vec<&str> = warnings.lines().filter(|line| line.contains(": warning: ")).collect();
    let places = [("4:28", "vector"), ("5:30", "vector"), ("6:23", "array"), ("7:17", "vector"), ("8:32", "vector")];
    let expected = places.map(|(place, what)| {
        format!("program_source:{place}: warning: the {what} has no such element [-Wuser-defined-warnings]")
    });
    assert_eq!(told, expected, "{warnings}");
}
