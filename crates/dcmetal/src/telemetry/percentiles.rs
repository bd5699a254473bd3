//! Tests of [`Histogram`]: its percentiles against those of the sorted numbers.

use std::time::Duration;

use proptest::prelude::*;

use super::histogram::{BUCKETS, Histogram, Recorded, bounds, bucket};

#[test]
fn buckets_follow_each_other_and_hold_their_bounds() {
    let mut next = 0u128;
    for at in 0..BUCKETS {
        let (first, last) = bounds(at);
        assert_eq!(u128::from(first), next, "bucket {at} begins where the one before ended");
        assert_eq!((bucket(first), bucket(last)), (at, at));
        assert!((last - first) as f64 / 2.0 <= Histogram::RELATIVE_ERROR * first as f64, "{first} to {last}");
        next = u128::from(last) + 1;
    }
    assert_eq!(next, 1 << 64, "every number has a bucket");
}

#[test]
fn nothing_has_no_percentile() {
    let none = Recorded::default().read();
    assert_eq!(
        (none.count(), none.sum(), none.max(), none.percentile(50.0)),
        (0, Duration::ZERO, Duration::ZERO, None)
    );
    assert_eq!(none, Histogram::default());
}

/// Numbers of every size.
fn durations() -> impl Strategy<Value = Vec<u64>> {
    let one = (0u32..45, any::<u64>()).prop_map(|(bits, random)| random & ((1 << bits) - 1));
    prop::collection::vec(one, 1..400)
}

proptest! {
    /// Against the sorted numbers themselves.
    #[test]
    fn percentiles_are_those_of_the_sorted_numbers(numbers in durations(), percents in prop::collection::vec(-5.0..105.0f64, 8)) {
        let recorded = Recorded::default();
        numbers.iter().for_each(|number| recorded.record(*number));
        let read = recorded.read();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        prop_assert_eq!(read.count(), numbers.len() as u64);
        prop_assert_eq!(read.sum(), Duration::from_nanos(numbers.iter().sum()));
        prop_assert_eq!(read.max(), Duration::from_nanos(sorted[sorted.len() - 1]));
        for percent in percents.into_iter().chain([0.0, 50.0, 99.0, 99.9, 100.0]) {
            let share = (percent / 100.0).clamp(0.0, 1.0);
            // As many as that are at most as long, and no shorter one has as many.
            let exact = *sorted.iter().enumerate().find(|(at, _)| (at + 1) as f64 >= share * sorted.len() as f64).expect("the last").1;
            let got = read.percentile(percent).expect("there are some").as_nanos() as f64;
            prop_assert!((got - exact as f64).abs() <= Histogram::RELATIVE_ERROR * exact as f64, "{} of {:?}: {} for {}", percent, sorted, got, exact);
        }
        #[cfg(any(feature = "otlp", feature = "prometheus"))]
        for power in [0, 1, 5, 6, 10, 20, 34, 44] {
            let below = numbers.iter().filter(|number| **number < 1 << power).count() as u64;
            prop_assert_eq!(read.below_power(power), below, "below 2^{}", power);
        }
    }
}
