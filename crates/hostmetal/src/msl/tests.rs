//! The pre-pass alone, without a compiler: it must cope with any text, and cost no more than the text is long.

use super::constants::{DataType, Known, enumerators, evaluate};
use super::discover::{describe_constants, find_kernels, finish};
use super::rewrite::{Rewrite, bodies, emit, rewrite, set_constant, strip_address_space, undeduce, wrap_conditional};
use super::rules;
use super::scan::scan;
use super::token::Stream;
use super::{globals, logging, reconverge};

const PROGRAM: &str = r#"
# 3 "program_source" 2
enum E : uint { a = 1, b = a << 3, c };
namespace n { template <class T, int N = 4> struct S { T v[N]; S() : v{} {} T get(int i) const device { return v[i]; } ~S(); friend S operator+(S x, S y) { return x; } }; }
constant bool flag [[function_constant(c + 1)]];
constant float table[] = {1., .5, 1e3, 0x1p-3, 2.bf};
using F = void (*)(device float *);
template <void (*fn)(thread int &), typename... A> [[kernel, max_total_threads_per_threadgroup(32)]] void f(device A *...p [[buffer(0)]], uint3 g [[thread_position_in_grid]]) {
  threadgroup float x[2][N], y = {0}; alignas(16) threadgroup half z; device A *threadgroup q[2];
#pragma unroll(MIN(1, 2))
  for (int i = 0; i < N && g.x > 1; i++) x[0][i] = flag ? p[i] : is_function_constant_defined(flag) ? y : z;
  do { for (int i : x[0]) { if (i) continue; simd_sum(i); } while (int j = i--) { switch (j) { case 1: break; default: return; } l(j); } } while (simd_any(g.x) || y);
  auto l = [&](int q) -> int { static constant int k = 3; return q < k ? q : l(k); };
}
template [[host_name("h" "i")]] [[kernel]] decltype(f<g, int>) f<g, int>;
vertex float4 v(float a [[stage_in]]) { return a; }
uint3 at [[thread_position_in_grid]]; device int *constant bound [[buffer(3)]];
float placed(void) { return [](int b) { return n::at.x + ::at.y + bound[b]; }(at.z); } void told() { os_log_default.log("%d %v2hlf" "%%", placed(), placed<2>()); }
kernel void k(constant n::S<float> &s [[buffer(c), function_constant(flag)]], threadgroup int *t, texture2d<float> x [[texture(0)]], int (*fp)(int)) { goto e; e: double d; recursion(k(s)); }
"#;

/// Everything that happens to a text between the two runs of clang.
fn pass(text: String) -> String {
    let stream = Stream::new(text);
    let mut findings = Vec::new();
    if stream.unbalanced.is_some() {
        let Rewrite { edits, .. } = rewrite(&stream, &super::scan::Program::default(), &mut findings);
        return emit(&stream, &edits, "", &[]).0;
    }
    let program = scan(&stream);
    let inside = bodies(&stream, &program);
    let known = enumerators(&stream, &program.enums);
    let Rewrite { mut edits, constants, tested } = rewrite(&stream, &program, &mut findings);
    let globals = globals::rewrite(&stream, &program, &known, (3, 2), &mut edits, &mut findings);
    rules::check(&stream, &program, &inside, &globals.declarations, (3, 2), &mut findings);
    logging::rewrite(&stream, &mut edits, true, &mut findings);
    let types = constants.iter().map(|constant| DataType::of_spelling(&constant.spelling)).collect();
    let constants = describe_constants(&stream, constants, types, &tested, &known, &mut findings);
    let (kernels, removed) = find_kernels(&stream, &program, &known, &globals, &mut findings);
    for &(start, end) in &removed {
        edits.remove(start, end + 1);
    }
    for (constant, _) in &constants {
        set_constant(&stream, &mut edits, constant, None);
    }
    for token in 0..stream.len() {
        if stream.is(token, "?") {
            wrap_conditional(&stream, &mut edits, token);
        }
        if token % 7 == 3 {
            strip_address_space(&stream, &mut edits, token);
            undeduce(&stream, &program, &mut edits, token, "T");
        }
    }
    finish(&stream, &program, &constants, kernels, &removed);
    let _unsupported = reconverge::insert(&stream, &program, &mut edits, true);
    for finding in &findings {
        super::diagnose::Printer::new(&stream, PROGRAM).print(finding);
    }
    emit(&stream, &edits, "", &[]).0
}

/// Numbers without a pattern, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

#[test]
fn any_text_passes_without_a_panic() {
    let mut random = Random(1);
    let whole = Stream::new(PROGRAM.to_owned());
    let words: Vec<&str> = (0..whole.len()).map(|i| whole.at(i)).collect();
    // Instrumented it takes fifty times as long, and has nothing more to find: it is safe Rust in one thread.
    let (rounds, step) = if std::env::var_os("DCMETAL_SANITIZE").is_some() { (100, 37) } else { (3000, 1) };
    for round in 0..rounds {
        let mut tokens = words.clone();
        for _ in 0..=random.below(6) {
            let at = random.below(tokens.len());
            match random.below(4) {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, words[random.below(words.len())]),
                2 => tokens.truncate(at),
                _ => {
                    let other = random.below(tokens.len());
                    tokens.swap(at, other);
                }
            }
            if tokens.is_empty() {
                break;
            }
        }
        // Pragmas need a line of their own; now and then nothing is on one.
        let separator = if round % 3 == 0 { "\n" } else { " " };
        pass(tokens.join(separator));
    }
    for cut in (0..PROGRAM.len()).step_by(step) {
        pass(PROGRAM[..cut].to_owned());
    }
    for odd in [
        "\"",
        "'",
        "#",
        "# 1",
        "#line 4294967295 \"",
        "[[",
        "]]",
        "0x",
        "1e+",
        ".",
        "<",
        "template",
        "template<",
        "}{",
        "\u{0}",
        "é ü",
    ] {
        pass(odd.to_owned());
        pass(format!("{PROGRAM}{odd}"));
    }
}

#[test]
fn lines_stay_where_they_are() {
    let text = pass(PROGRAM.to_owned());
    assert_eq!(text.lines().count(), PROGRAM.lines().count());
    for (before, after) in
        [("for (int i = 0", "for (int i = 0"), ("auto l =", "auto l ="), ("kernel void k", "void k(")]
    {
        let line = |text: &str, what: &str| {
            text.lines().position(|l| l.contains(what)).unwrap_or_else(|| panic!("{what}: {text}"))
        };
        assert_eq!(line(PROGRAM, before), line(&text, after));
    }
}

#[test]
fn integer_constant_expressions_have_their_values() {
    let cases: [(&str, Option<i64>); 14] = [
        ("7", Some(7)),
        ("0x1F + 010 + 0b11", Some(31 + 8 + 3)),
        ("2 + 3 * 4", Some(14)),
        ("(2 + 3) * 4 - -1", Some(21)),
        ("1 << 4 | 3", Some(19)),
        ("256 >> 2 >> 1", Some(32)),
        ("~0 & 0xff ^ 1", Some(254)),
        ("100 - 20 - 3", Some(77)),
        ("(uint)5u + n::two", Some(7)),
        ("17 / 5 * 10 + 17 % 5", Some(32)),
        ("1 / 0", None),
        ("unknown", None),
        ("1 +", None),
        ("9223372036854775807 + 1", None),
    ];
    let known = Known::from([("two".to_owned(), 2)]);
    for (text, expected) in cases {
        let stream = Stream::new(text.to_owned());
        assert_eq!(evaluate(&stream, 0, stream.len(), &known), expected, "{text}");
    }
    let stream = Stream::new("{ a, b = 5, c, d = b + c, e = sizeof(int), f, g = 1 }".to_owned());
    let found = enumerators(&stream, &[(0, stream.len() - 1)]);
    let mut sorted: Vec<(&str, i64)> = found.iter().map(|(n, v)| (n.as_str(), *v)).collect();
    sorted.sort_unstable();
    assert_eq!(sorted, [("a", 0), ("b", 5), ("c", 6), ("d", 11), ("g", 1)]);
}
