//! [`Retries`]: how often work is tried again, and the pauses before; knows nothing of what is tried.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

/// How often, and with which pauses, work is tried again on the same device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Tries after the first.
    pub count: usize,
    /// The pause before the first of them, which doubles from one to the next. Each pause is lengthened at random by at most itself.
    pub first_pause: Duration,
    /// No pause is longer, before it is lengthened.
    pub longest_pause: Duration,
}

impl Default for Retries {
    /// Four, after 1, 2, 4 and 8 ms at least.
    fn default() -> Retries {
        Retries { count: 4, first_pause: Duration::from_millis(1), longest_pause: Duration::from_secs(1) }
    }
}

impl Retries {
    /// The pauses, one before each further try; others each time.
    pub(super) fn pauses(&self) -> impl Iterator<Item = Duration> + use<> {
        ExponentialBuilder::default()
            .with_min_delay(self.first_pause.min(self.longest_pause))
            .with_max_delay(self.longest_pause)
            .with_max_times(self.count)
            .with_jitter()
            .build()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The pauses before they are lengthened.
    fn least(retries: &Retries) -> Vec<u128> {
        let (first, longest) = (retries.first_pause.as_nanos(), retries.longest_pause.as_nanos());
        // Doubled 100 times, a nanosecond is longer than any `Duration`.
        (0..retries.count).map(|at| first.saturating_mul(1 << at.min(100)).min(longest)).collect()
    }

    /// Pauses of all magnitudes, none and the longest among them.
    fn pause() -> impl Strategy<Value = Duration> {
        prop_oneof![
            1 => Just(Duration::ZERO),
            1 => Just(Duration::MAX),
            8 => (0u32..64, any::<u64>()).prop_map(|(bits, nanos)| Duration::from_nanos(nanos >> bits)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn pauses_double_up_to_the_longest_and_are_lengthened_by_at_most_themselves(
            count in 0usize..100,
            first_pause in pause(),
            longest_pause in pause(),
        ) {
            let retries = Retries { count, first_pause, longest_pause };
            let (pauses, least): (Vec<Duration>, _) = (retries.pauses().collect(), least(&retries));
            prop_assert_eq!(pauses.len(), count);
            for (at, (pause, least)) in pauses.iter().zip(&least).enumerate() {
                // They are computed as floats of 24 bits, each from the one before.
                let rounding = least / 100_000 + 10;
                let (shortest, longest) = (least.saturating_sub(rounding), least * 2 + rounding);
                let pause = pause.as_nanos();
                prop_assert!((shortest..=longest).contains(&pause), "pause {at}: {pause} ns, at least {least}");
                prop_assert!(pause <= longest_pause.as_nanos() * 2, "pause {at}: {pause} ns");
            }
            // What all tries together wait.
            let (all, budget) = (pauses.iter().map(Duration::as_nanos).sum::<u128>(), least.iter().sum::<u128>() * 2);
            prop_assert!(all <= budget + budget / 100_000 + 10 * count as u128, "{all} ns of {budget}");
        }
    }

    /// A thousand draws leave out a tenth of the range once in 10^45 times.
    #[test]
    fn pauses_are_spread_between_themselves_and_twice_as_long() {
        let second = Duration::from_secs(1);
        let retries = Retries { count: 1000, first_pause: second, longest_pause: second };
        let mut tenths = [0; 10];
        for pause in retries.pauses() {
            tenths[((pause - second).as_secs_f64() * 10.0).min(9.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| *count > 0), "{tenths:?}");
    }

    /// Programs that failed together do not come back together: neither one after the other nor from several threads.
    #[test]
    fn no_two_wait_alike() {
        let retries = Retries { count: 20, ..Retries::default() };
        let pauses = move || retries.pauses().collect::<Vec<_>>();
        let threads = [(); 4].map(|()| std::thread::spawn(pauses));
        let mut all: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect();
        all.extend([pauses(), pauses()]);
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other != one), "{one:?}");
        }
    }
}
