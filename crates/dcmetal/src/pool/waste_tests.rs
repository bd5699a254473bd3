//! Why a power of two has four classes: what other numbers would waste and find again, on streams of requests of known kinds.
//! `cargo test -p dcmetal --lib pool::waste_tests -- --nocapture` prints the table of docs/PERFORMANCE.md.

use std::collections::BTreeMap;

use super::shelves::{CLASSES_LOG2, class_of};

/// splitmix64, <https://prng.di.unimi.it/splitmix64.c>.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `0..n`.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// In `low..=high`, each octave as likely as the other.
    fn log_uniform(&mut self, low: f64, high: f64) -> usize {
        let unit = self.next() as f64 / u64::MAX as f64;
        (low * (high / low).powf(unit)) as usize
    }
}

/// A buffer of so many bytes is asked for, or the one that was asked for at that place comes back.
enum Step {
    Ask(usize),
    Return(usize),
}

/// Sizes that come and go, 64 at a time.
fn churn(mut size: impl FnMut(&mut Random) -> usize) -> Vec<Step> {
    let (mut random, mut steps, mut live) = (Random(1), Vec::new(), Vec::new());
    for number in 0..20_000 {
        if live.len() == 64 {
            steps.push(Step::Return(live.swap_remove(random.below(64))));
        }
        steps.push(Step::Ask(size(&mut random)));
        live.push(number);
    }
    steps
}

/// Scopes: all of the sizes are asked for, in order, and come back when the scope ends.
#[derive(Default)]
struct Scopes {
    steps: Vec<Step>,
    asked: usize,
}

impl Scopes {
    fn ask(&mut self, sizes: &[usize]) -> std::ops::Range<usize> {
        let first = self.asked;
        self.steps.extend(sizes.iter().map(|size| Step::Ask(*size)));
        self.asked += sizes.len();
        first..self.asked
    }

    fn end(&mut self, scope: std::ops::Range<usize>) {
        self.steps.extend(scope.rev().map(Step::Return));
    }
}

/// Activations of a transformer of 7 thousand million weights (32 layers, width 4096, 11008 within, 32 heads, 32,000 words; 16 bits), for
/// batches of 1 to 2048 words.
fn transformer() -> Vec<Step> {
    let (mut random, mut scopes) = (Random(2), Scopes::default());
    for _ in 0..200 {
        let words = random.log_uniform(1.0, 2048.0);
        let wide = words * 4096 * 2;
        let stream = scopes.ask(&[wide, words * 4]);
        for _ in 0..32 {
            let attention = scopes.ask(&[wide, wide, wide, wide, 32 * words * words * 2, wide]);
            scopes.end(attention);
            let inner = scopes.ask(&[wide, words * 11008 * 2, words * 11008 * 2, wide]);
            scopes.end(inner);
        }
        let logits = scopes.ask(&[words * 32_000 * 4]);
        scopes.end(logits);
        scopes.end(stream);
    }
    scopes.steps
}

/// Pictures of 64 to 4096 texels across, as bytes, RGBA8 and RGBA16, with five smaller levels, four of them at a time.
fn images() -> Vec<Step> {
    let (mut random, mut scopes, mut live) = (Random(3), Scopes::default(), Vec::new());
    for _ in 0..2000 {
        if live.len() == 4 {
            scopes.end(live.remove(0));
        }
        let width = 64 + random.below(4033);
        let (across, down) = [(1, 1), (4, 3), (3, 2), (16, 9)][random.below(4)];
        let texel = [1, 4, 8][random.below(3)];
        let height = width * down / across;
        let levels: Vec<usize> =
            (0..6).map(|level| (width >> level).max(1) * (height >> level).max(1) * texel).collect();
        live.push(scopes.ask(&levels));
    }
    scopes.steps
}

/// What a pool with so many classes in a power of two would have done.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    /// The part of lent bytes that nobody asked for, over all requests.
    waste: f64,
    /// Requests that found memory, with a limit of one and a half times the most bytes asked for at once.
    found: f64,
    /// The most bytes held, over the most asked for at once, without a limit.
    held: f64,
}

/// The most bytes that are asked for at once.
fn most_asked(steps: &[Step]) -> usize {
    let (mut sizes, mut now, mut most) = (Vec::new(), 0, 0);
    for step in steps {
        match step {
            Step::Ask(size) => {
                sizes.push(*size);
                now += size;
            }
            Step::Return(number) => now -= sizes[*number],
        }
        most = most.max(now);
    }
    most
}

/// Requests that found memory in a pool with that limit, and the most bytes that it held.
fn serve(steps: &[Step], classes_log2: u32, limit: usize) -> (usize, usize) {
    // By size: how many are idle. Beyond the limit the largest go, and nothing is kept that comes back.
    let (mut idle, mut lent) = (BTreeMap::<usize, usize>::new(), Vec::new());
    let (mut held, mut most, mut hits) = (0, 0, 0);
    for step in steps {
        match step {
            Step::Ask(asked) => {
                let size = class_of(*asked, classes_log2).1;
                lent.push(size);
                match idle.get_mut(&size) {
                    Some(count) => {
                        hits += 1;
                        *count -= 1;
                        if *count == 0 {
                            idle.remove(&size);
                        }
                    }
                    None => {
                        while held + size > limit
                            && let Some(mut largest) = idle.last_entry()
                        {
                            held -= largest.key();
                            *largest.get_mut() -= 1;
                            if *largest.get() == 0 {
                                largest.remove();
                            }
                        }
                        held += size;
                    }
                }
            }
            Step::Return(number) if held <= limit => *idle.entry(lent[*number]).or_default() += 1,
            Step::Return(number) => held -= lent[*number],
        }
        most = most.max(held);
    }
    (hits, most)
}

fn measure(steps: &[Step], classes_log2: u32) -> Outcome {
    let asked: Vec<usize> =
        steps.iter().filter_map(|step| if let Step::Ask(size) = step { Some(*size) } else { None }).collect();
    let lent: usize = asked.iter().map(|size| class_of(*size, classes_log2).1).sum();
    let most = most_asked(steps);
    Outcome {
        waste: 1.0 - asked.iter().sum::<usize>() as f64 / lent as f64,
        found: serve(steps, classes_log2, most + most / 2).0 as f64 / asked.len() as f64,
        held: serve(steps, classes_log2, usize::MAX).1 as f64 / most as f64,
    }
}

/// A part of all bytes that is wasted counts as much here as the same part of all requests that allocate: what the number of classes exchanges.
#[test]
fn four_classes_in_a_power_of_two_waste_little_and_are_found_again() {
    let streams: [(&str, Vec<Step>); 4] = [
        ("uniform, 1 B to 1 MiB", churn(|random| 1 + random.below(1 << 20))),
        ("log-uniform, 256 B to 64 MiB", churn(|random| random.log_uniform(256.0, (64 << 20) as f64))),
        ("a transformer's activations", transformer()),
        ("pictures and their levels", images()),
    ];
    println!("| requests | classes | waste | found | held without a limit |");
    println!("| --- | --: | --: | --: | --: |");
    let mut cost = [0.0; 5];
    for (name, steps) in &streams {
        for (classes_log2, cost) in (0..).zip(&mut cost) {
            let Outcome { waste, found, held } = measure(steps, classes_log2);
            let classes = 1 << classes_log2;
            println!("| {name} | {classes} | {:.1} % | {:.1} % | {held:.2} |", waste * 100.0, found * 100.0);
            *cost += (waste + 1.0 - found) / streams.len() as f64;
            if classes_log2 == CLASSES_LOG2 {
                assert!(waste < 0.1 && found > 0.9, "{name}: {waste} of the bytes, {found} of the requests");
            }
        }
    }
    println!("waste and requests that allocate, together: {cost:.3?}");
    let least = cost.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(cost[CLASSES_LOG2 as usize], least, "of {cost:?}");
}
