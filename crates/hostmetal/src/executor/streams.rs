//! When a kernel writes around the caches: native/hostmetal/pass/streams.cpp has the code, and why; here is for which grids.

use std::sync::OnceLock;

use crate::msl;

/// Where nothing is known of the caches.
const USUAL_CACHE: u64 = 32 << 20;

/// The least number of bytes that each thread of a grid must write for all of them together to write more than the caches hold.
pub(crate) fn stream_bytes(threads: [u32; 3]) -> u32 {
    least(threads, limit())
}

fn least(threads: [u32; 3], limit: Option<u64>) -> u32 {
    let threads = threads.into_iter().map(u128::from).product::<u128>();
    let Some(limit) = limit else { return u32::MAX };
    match u128::from(limit).checked_div(threads) {
        Some(bytes) => u32::try_from(bytes + 1).unwrap_or(u32::MAX),
        None => u32::MAX,
    }
}

/// Bytes that a grid may write into the caches; none: any number.
fn limit() -> Option<u64> {
    static LIMIT: OnceLock<Option<u64>> = OnceLock::new();
    *LIMIT.get_or_init(|| {
        let set = std::env::var("HOSTMETAL_STREAM_SIZE").ok().and_then(|text| {
            let size = msl::size(&text);
            if size.is_none() {
                eprintln!("hostmetal: HOSTMETAL_STREAM_SIZE={text:?} is not a number of bytes, such as 0, 64K or 32M; the default is used");
            }
            size
        });
        match set {
            Some(0) => None,
            Some(bytes) => Some(bytes),
            None => Some(last_level_cache()),
        }
    })
}

/// Of the first processor; the C library tells all that the machine has, on a virtual machine also what is others'.
fn last_level_cache() -> u64 {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size");
    text.ok().and_then(|text| msl::size(&text)).filter(|&bytes| bytes > 0).unwrap_or(USUAL_CACHE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of a grid, what the caches hold, and the least number of bytes of a thread's that are more.
    const CASES: &[([u32; 3], Option<u64>, u32)] = &[
        ([1 << 20, 1, 1], Some(4 << 20), 5),
        ([1 << 20, 1, 1], Some((4 << 20) - 1), 4),
        ([1 << 10, 1 << 10, 4], Some(4 << 20), 2),
        ([3, 1, 1], Some(1), 1),
        ([1, 1, 1], Some(1 << 40), u32::MAX),
        ([0, 1, 1], Some(1), u32::MAX),
        ([u32::MAX, u32::MAX, u32::MAX], Some(u64::MAX), 1),
        ([1 << 20, 1, 1], None, u32::MAX),
    ];

    #[test]
    fn large_grids_write_around_the_caches() {
        for &(threads, limit, bytes) in CASES {
            assert_eq!(least(threads, limit), bytes, "{threads:?} {limit:?}");
            if let Some(limit) = limit.filter(|_| bytes < u32::MAX) {
                let threads: u128 = threads.into_iter().map(u128::from).product();
                assert!(threads * u128::from(bytes) > u128::from(limit), "{bytes} are enough");
                assert!(threads * u128::from(bytes - 1) <= u128::from(limit), "fewer are not");
            }
        }
    }
}
