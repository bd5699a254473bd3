//! The claim on recovery: faults injected on purpose, which hostmetal can and Apple's Metal cannot.

use super::Bench;
use crate::{Measured, Refusal};

#[cfg(not(target_os = "linux"))]
pub(super) fn recovery(_: &mut Bench<'_>) -> Result<Measured, Refusal> {
    Err(Refusal::NotMeasured("Metal on this system has no way to inject faults; hostmetal has".to_owned()))
}

#[cfg(target_os = "linux")]
pub(super) fn recovery(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    linux::recovery(bench)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    use dcmetal::{Accelerator, Grid, Origin, Recovery, Result, Retries, args};

    use super::super::Bench;
    use crate::{Measured, Rate, Refusal};

    /// Tries after the first.
    const RETRIES: usize = 4;

    /// Faults that a further try gets past.
    const PASSING: [(&str, &str); 9] = [
        ("buffer", "buffer"),
        ("command_buffer", "command_buffer"),
        ("encoder", "encoder"),
        ("compile", "compile:error=internal"),
        ("pipeline", "pipeline:error=internal"),
        ("commit", "commit:error=internal"),
        ("commit", "commit:error=not_permitted:after=1"),
        ("commit", "commit:error=out_of_memory"),
        ("commit", "commit:error=memoryless:after=1"),
    ];

    /// Faults that are to be told.
    const LASTING: [(&str, &str); 6] = [
        ("compile", "compile:error=compile_failure"),
        ("pipeline", "pipeline:error=unsupported"),
        ("commit", "commit:error=page_fault"),
        ("commit", "commit:error=page_fault:after=1"),
        ("commit", "commit:error=invalid_resource"),
        ("commit", "commit:error=stack_overflow:after=2"),
    ];

    const SOURCE: &str = "
        kernel void twice(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]], uint i [[thread_position_in_grid]]) { y[i] = x[i] * 2u; }
        kernel void next(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1u; }";
    const LEN: usize = 1000;

    /// Rules that hold until it is dropped.
    struct Rules;

    impl Rules {
        fn set(text: &str) -> Result<Rules, Refusal> {
            hostmetal::faults::set(text).map_err(Refusal::Broken)?;
            Ok(Rules)
        }
    }

    impl Drop for Rules {
        fn drop(&mut self) {
            hostmetal::faults::set("").expect("no rules are always fine");
        }
    }

    /// Everything from the source to the result, in a batch of two launches.
    fn work(gpu: &Accelerator, input: &[u32]) -> Result<Vec<u32>> {
        let library = gpu.compile_msl(SOURCE)?;
        let (twice, next) = (library.kernel("twice")?, library.kernel("next")?);
        let (x, mut y) = (gpu.buffer_from(input)?, gpu.buffer_from(&[0xdead_beefu32; LEN])?);
        let mut batch = gpu.batch()?;
        batch.launch(&twice, Grid::linear(LEN), args![&x, &mut y])?;
        batch.launch(&next, Grid::linear(LEN), args![&mut y])?;
        batch.submit()?.wait()?;
        y.to_vec()
    }

    fn expected(input: &[u32]) -> Vec<u32> {
        input.iter().map(|x| x.wrapping_mul(2).wrapping_add(1)).collect()
    }

    #[derive(Default)]
    struct Ends {
        recovered: usize,
        told: usize,
        /// Errors where a retry would have helped.
        lost: Vec<String>,
        /// Results, wrong or in spite of a fault that is to be told.
        lies: Vec<String>,
        injected: u64,
    }

    impl Ends {
        fn runs(&self) -> usize {
            self.recovered + self.told + self.lost.len() + self.lies.len()
        }
    }

    /// One run under a rule.
    fn run(site: &str, rule: &str, input: &[u32], passing: bool, ends: &mut Ends) -> Result<(), Refusal> {
        // A device of its own finds no kernel that was compiled before.
        let gpu = Accelerator::system_default()?;
        let retries = Retries { count: RETRIES, first_pause: Duration::ZERO, longest_pause: Duration::ZERO };
        let limits = dcmetal::BreakerLimits { failures: RETRIES as u32 + 2, pause: Duration::MAX };
        let recovery = Recovery::new([gpu]).retries(retries).breaker_limits(limits);
        let rules = Rules::set(rule)?;
        let result = recovery.run(|gpu| work(gpu, input));
        let injected = hostmetal::faults::counts(site).map_or(0, |counts| counts.injected);
        drop(rules);
        if injected == 0 {
            return Err(Refusal::Broken(format!("`{rule}` injected nothing")));
        }
        ends.injected += injected;
        let right = |value: &[u32]| value == expected(input);
        match result {
            Ok(done) if passing && right(&done.value) && matches!(done.origin, Origin::Device(_)) => {
                ends.recovered += 1
            }
            Ok(done) if right(&done.value) => ends.lies.push(format!("`{rule}`: a result in spite of the fault")),
            Ok(_) => ends.lies.push(format!("`{rule}`: a wrong result")),
            Err(error) if passing => ends.lost.push(format!("`{rule}`: {error}")),
            Err(_) => ends.told += 1,
        }
        Ok(())
    }

    pub(super) fn recovery(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
        let mut ends = Ends::default();
        // What no fault disturbs must be right, or nothing below says anything.
        let input = bench.random.words(LEN);
        if work(bench.gpu, &input)? != expected(&input) {
            return Err(Refusal::Broken("wrong output without any fault".to_owned()));
        }
        for _ in 0..bench.of(1, 10) {
            for (site, rule) in PASSING {
                for times in 1..=RETRIES {
                    let input = bench.random.words(LEN);
                    run(site, &format!("{rule}:times={times}"), &input, true, &mut ends)?;
                }
            }
            for (site, rule) in LASTING {
                let input = bench.random.words(LEN);
                run(site, rule, &input, false, &mut ends)?;
            }
        }
        let runs = ends.runs();
        let good = ends.recovered + ends.told;
        let value = good as f64 / runs as f64;
        let mut apart = vec![
            ("faults injected".to_owned(), ends.injected.to_string()),
            ("runs with faults that pass: right data from the device".to_owned(), ends.recovered.to_string()),
            ("runs with faults that last: told as errors".to_owned(), ends.told.to_string()),
            ("runs that failed within the retry budget".to_owned(), ends.lost.len().to_string()),
            ("faults reported as success".to_owned(), ends.lies.len().to_string()),
        ];
        apart.extend(ends.lost.iter().chain(&ends.lies).map(|text| ("of these".to_owned(), text.clone())));
        Ok(Measured {
            value,
            rates: vec![Rate::share(value, "% of runs", "all of them")],
            verified: vec![format!(
                "the whole output of every run that gave one, {} of {runs}",
                runs - ends.told - ends.lost.len()
            )],
            apart,
            ..Measured::default()
        })
    }
}
