//! The math functions (OpenCL C 3.0 §6.15.2) against MPFR, within the limits of §7.4.

use std::collections::BTreeMap;
use std::sync::Mutex;

use dcmetal::{Accelerator, Scalar};

use crate::batch::{self, Column, Job};
use crate::math_table::{Answer, Function, HALF_PREFIXED, Limit, Second, TABLE};
use crate::samples;
use crate::ulp::Format;

/// A function in one format, with what it is tried on and what must come out.
pub(crate) struct Trial {
    pub(crate) function: &'static Function,
    pub(crate) format: Format,
    pub(crate) limit: Limit,
    columns: Vec<Column>,
    answers: Vec<Answer>,
}

/// The largest error met, in units in the last place, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worst {
    pub(crate) error: f64,
    pub(crate) at: Vec<f64>,
}

impl Format {
    fn scalar(self) -> Scalar {
        match self {
            Format::Float => Scalar::F32,
            Format::Half => Scalar::F16,
        }
    }
}

impl Trial {
    pub(crate) fn new(function: &'static Function, format: Format, count: usize) -> Trial {
        let floats = function.params.chars().filter(|p| *p == 'x').count();
        let mut numbers = match floats {
            1 => vec![samples::one(format, function.dense, count)],
            n => samples::several(format, n, function.dense, count),
        };
        if function.params.ends_with('n') {
            let (first, integers) = (&numbers[0], samples::integers(count));
            // Each special number with each special integer, then side by side.
            let (some, few) = (samples::special(format).len(), 17);
            let pairs = (0..some * few).map(|at| (first[at % some], integers[at / some]));
            let pairs: Vec<(f64, f64)> = pairs.chain(first.iter().copied().zip(integers.iter().copied())).collect();
            numbers = vec![pairs.iter().map(|p| p.0).collect(), pairs.iter().map(|p| p.1).collect()];
        }
        Trial::of(function, format, &numbers)
    }

    /// On these numbers, a column per argument.
    pub(crate) fn of(function: &'static Function, format: Format, numbers: &[Vec<f64>]) -> Trial {
        // A whole number of vectors of any width.
        let len = numbers[0].len() / 48 * 48;
        let answers = (0..len).map(|at| {
            let args: Vec<f64> = numbers.iter().map(|column| column[at]).collect();
            (function.reference)(&args, format)
        });
        let scalar = |at: usize| match function.params.as_bytes()[at] {
            b'n' => Scalar::I32,
            _ => format.scalar(),
        };
        let columns = numbers.iter().enumerate();
        Trial {
            function,
            format,
            limit: function.limit(format),
            columns: columns.map(|(at, c)| Column::new(scalar(at), c[..len].iter().copied())).collect(),
            answers: answers.collect(),
        }
    }

    /// The kernel that runs it with this many lanes.
    pub(crate) fn job(&self, lanes: usize) -> Job<'_> {
        let (function, scalar) = (self.function, self.format.scalar());
        let load = |name: &str| match lanes {
            1 => format!("{name}[i]"),
            n => format!("vload{n}(i, {name})"),
        };
        let store = |value: &str, name: &str| match lanes {
            1 => format!("{name}[i] = {value}"),
            n => format!("vstore{n}({value}, i, {name})"),
        };
        let mut args: Vec<String> = ["a", "b", "c"][..self.columns.len()].iter().map(|n| load(n)).collect();
        let width = if lanes == 1 { String::new() } else { lanes.to_string() };
        let mut outputs = vec![(if function.gives_int { Scalar::I32 } else { scalar }, self.answers.len())];
        let second = match function.second {
            Second::None => None,
            Second::Same(_) => Some(scalar),
            Second::Int | Second::Quotient => Some(Scalar::I32),
        };
        let statement = match second {
            None => store(&format!("{}({})", function.name, args.join(", ")), "r"),
            Some(second) => {
                outputs.push((second, self.answers.len()));
                args.push("&other".to_owned());
                let call = format!("{}({})", function.name, args.join(", "));
                let declaration = format!("{}{width} other", batch::type_name(second));
                format!("{declaration};\n  {};\n  {}", store(&call, "r"), store("other", "s"))
            }
        };
        Job {
            label: format!("{} of {}{width}", function.name, batch::type_name(scalar)),
            statement,
            inputs: self.columns.iter().collect(),
            outputs,
            work_items: self.answers.len() / lanes,
        }
    }

    /// Compares; the worst error within the limit, and what is outside it.
    pub(crate) fn judge(&self, label: &str, got: &[Column]) -> (Worst, Option<String>) {
        let (mut worst, mut wrong, mut count) = (Worst::default(), Vec::new(), 0);
        for (at, answer) in self.answers.iter().enumerate() {
            let value = got[0].get(at);
            let other = got.get(1).map_or(0.0, |column| column.get(at));
            let error = self.error(value, answer);
            if error <= self.limit.ulps() && self.second_fits(other, answer) {
                if error > worst.error && error.is_finite() {
                    worst = Worst { error, at: self.args(at) };
                }
                continue;
            }
            let args = self.args(at);
            if self.fits_flushed(value, other, answer, &args) {
                continue;
            }
            count += 1;
            if wrong.len() < 4 {
                let second = if got.len() > 1 { format!(" and {other:e}") } else { String::new() };
                let expected = if got.len() > 1 { format!(" and {:e}", answer.second) } else { String::new() };
                wrong.push(format!(
                    "  {label}: {args:?} gives {value:e}{second}, not {:e}{expected}: {error:.3} ulp",
                    answer.value
                ));
            }
        }
        let text =
            (count > 0).then(|| format!("{label}: {count} of {} wrong\n{}", self.answers.len(), wrong.join("\n")));
        (worst, text)
    }

    fn args(&self, at: usize) -> Vec<f64> {
        self.columns.iter().map(|column| column.get(at)).collect()
    }

    fn error(&self, value: f64, answer: &Answer) -> f64 {
        if answer.any {
            return 0.0;
        }
        if self.function.gives_int {
            return if value == answer.value { 0.0 } else { f64::INFINITY };
        }
        let error = |exact: f64| match self.limit {
            Limit::Exact => self.format.error(value, self.format.round(exact)),
            Limit::Ulp(_) | Limit::Undefined => self.format.error(value, exact),
            Limit::Absolute(_) if exact.is_finite() => (value - exact).abs(),
            Limit::Absolute(_) => self.format.error(value, exact),
        };
        let first = error(answer.value);
        if first == 0.0 { first } else { first.min(error(answer.also)) }
    }

    fn second_fits(&self, other: f64, answer: &Answer) -> bool {
        match self.function.second {
            _ if answer.any => true,
            Second::None => true,
            Second::Same(Limit::Ulp(limit)) => self.format.error(other, answer.second) <= limit,
            Second::Same(_) => self.format.error(other, self.format.round(answer.second)) == 0.0,
            Second::Int => other == answer.second,
            Second::Quotient => {
                let low = |x: f64| x.abs() % 128.0;
                low(other) == low(answer.second) && (other == 0.0 || (other < 0.0) == (answer.second < 0.0))
            }
        }
    }

    /// §7.5.3: arguments and results that are subnormal may count as zero, of any sign.
    fn fits_flushed(&self, value: f64, other: f64, answer: &Answer, args: &[f64]) -> bool {
        let lowest = crate::ulp::power_of_two(self.format.lowest());
        let zero = |got: f64, exact: f64| got == 0.0 && exact != 0.0 && exact.abs() < lowest;
        let fits = |answer: &Answer| {
            let second = match self.function.second {
                Second::Same(_) => zero(other, answer.second),
                _ => false,
            };
            (self.error(value, answer) <= self.limit.ulps() || (!self.function.gives_int && zero(value, answer.value)))
                && (second || self.second_fits(other, answer))
        };
        if fits(answer) {
            return true;
        }
        let subnormal: Vec<usize> = (0..args.len()).filter(|at| self.format.is_subnormal(args[*at])).collect();
        // Each of them as it is, 0 or -0.
        (1..3usize.pow(subnormal.len() as u32)).any(|choice| {
            let (mut args, mut choice) = (args.to_vec(), choice);
            for at in &subnormal {
                args[*at] = [args[*at], 0.0, -0.0][choice % 3];
                choice /= 3;
            }
            fits(&(self.function.reference)(&args, self.format))
        })
    }
}

/// Runs trials in these widths; returns the worst error per function and what went wrong.
pub(crate) fn run(
    gpu: &Accelerator,
    options: &str,
    trials: &[Trial],
    widths: &[usize],
) -> (BTreeMap<String, Worst>, Vec<String>) {
    let jobs: Vec<(usize, Job<'_>)> = trials
        .iter()
        .enumerate()
        .flat_map(|(at, trial)| widths.iter().map(move |lanes| (at, trial.job(*lanes))))
        .collect();
    let (of, jobs): (Vec<usize>, Vec<Job<'_>>) = jobs.into_iter().unzip();
    let found = Mutex::new((BTreeMap::<String, Worst>::new(), Vec::new()));
    let messages = batch::run(gpu, options, &jobs, |job, columns| {
        let trial = &trials[of[job]];
        let (worst, wrong) = trial.judge(&jobs[job].label, columns);
        let mut found = found.lock().expect("no panic holds it");
        let name = format!("{} {:?}", trial.function.name, trial.format);
        let entry = found.0.entry(name).or_default();
        if worst.error >= entry.error {
            *entry = worst;
        }
        found.1.extend(wrong);
    });
    let (worst, mut wrong) = found.into_inner().expect("no panic holds it");
    wrong.sort();
    wrong.extend(messages);
    (worst, wrong)
}

/// The trials of the functions that `wanted` names.
fn trials(format: Format, count: usize, wanted: impl Fn(&str) -> bool + Sync) -> Vec<Trial> {
    // MPFR takes most of the time.
    let next = std::sync::atomic::AtomicUsize::new(0);
    let trials = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(function) = TABLE.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if !wanted(function.name) {
                        continue;
                    }
                    let trial = Trial::new(function, format, count);
                    trials.lock().expect("no panic holds it").push(trial);
                }
            });
        }
    });
    let mut trials = trials.into_inner().expect("no panic holds it");
    trials.sort_by_key(|trial| trial.function.name);
    trials
}

fn check(trials: &[Trial], options: &str, widths: &[usize]) {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let (worst, wrong) = run(&gpu, options, trials, widths);
    for (name, worst) in &worst {
        println!("{name}: {:.3} ulp at {:?}", worst.error, worst.at);
    }
    assert!(wrong.is_empty(), "{} of {} trials:\n{}", wrong.len(), trials.len(), wrong.join("\n"));
    assert_eq!(worst.len(), trials.len());
}

#[test]
fn float_functions_are_within_the_limits() {
    let trials = trials(Format::Float, 12_000, |_| true);
    assert_eq!(trials.len(), TABLE.len());
    check(&trials, "", &[1, 2, 3, 4, 8, 16]);
}

#[test]
fn half_functions_are_within_the_limits() {
    check(&trials(Format::Half, 6_000, |_| true), "", &[1, 2, 3, 4, 16]);
}

#[test]
fn half_prefixed_functions_are_within_the_limits() {
    let trials: Vec<Trial> = HALF_PREFIXED.iter().map(|f| Trial::new(f, Format::Float, 3_000)).collect();
    assert_eq!(trials.len(), 14);
    check(&trials, "", &[1, 4]);
}

/// docs/ACCURACY.md has a row for each function, with its limits.
#[test]
fn the_documented_limits_are_those_tested() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ACCURACY.md");
    let text = std::fs::read_to_string(path).expect("docs/ACCURACY.md");
    let shown = |limit: Limit| match limit {
        Limit::Exact => "exact".to_owned(),
        Limit::Ulp(limit) => limit.to_string(),
        Limit::Absolute(limit) => format!("{limit:e} absolute"),
        Limit::Undefined => "none".to_owned(),
    };
    for function in TABLE {
        let (float, half) = (shown(function.limit(Format::Float)), shown(function.limit(Format::Half)));
        let row = format!("| `{}` | {float} | {half} | ", function.name);
        assert!(text.lines().any(|line| line.starts_with(&row)), "no row begins with {row}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("| `")).count(), TABLE.len());
}

/// Functions that Metal lacks are made of exact steps, which `-cl-fast-relaxed-math` must not reorder. Numbers that the
/// option's permissions concern are left out: zeros, infinities, NaN.
#[test]
fn the_prelude_keeps_its_limits_under_fast_math() {
    const NAMES: &[&str] = &[
        "acospi",
        "asinpi",
        "atan2pi",
        "atanpi",
        "cbrt",
        "erf",
        "erfc",
        "expm1",
        "hypot",
        "lgamma",
        "log1p",
        "pown",
        "remainder",
        "remquo",
        "rootn",
        "tgamma",
    ];
    let mut trials = trials(Format::Float, 6_000, |name| NAMES.contains(&name));
    assert_eq!(trials.len(), NAMES.len());
    for trial in &mut trials {
        for at in 0..trial.answers.len() {
            let normal = |x: &f64| x.is_finite() && *x != 0.0;
            let answer = trial.answers[at];
            trial.answers[at].any |=
                !(normal(&answer.value) && answer.value.abs() < 1e38 && trial.args(at).iter().all(normal));
        }
    }
    check(&trials, "-cl-fast-relaxed-math", &[1]);
}
