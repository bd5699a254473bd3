//! Where the choices come from: a seed, or bytes that a fuzzer mutates.

/// A sequence of choices.
#[derive(Clone, Debug)]
pub struct Choices {
    state: u64,
    /// The rest of the fuzzer's bytes; behind their end every choice is the first.
    bytes: Option<Vec<u8>>,
    at: usize,
}

impl Choices {
    /// As many choices as are wanted.
    pub fn of_seed(seed: u64) -> Choices {
        Choices { state: seed, bytes: None, at: 0 }
    }

    /// As many as there are bytes.
    pub fn of_bytes(bytes: &[u8]) -> Choices {
        Choices { state: 0, bytes: Some(bytes.to_vec()), at: 0 }
    }

    /// A number, any of 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        if let Some(bytes) = &self.bytes {
            let mut word = [0; 8];
            let rest = &bytes[self.at.min(bytes.len())..];
            let count = rest.len().min(8);
            word[..count].copy_from_slice(&rest[..count]);
            self.at += 8;
            return u64::from_le_bytes(word);
        }
        // splitmix64, https://prng.di.unimi.it/splitmix64.c
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `0..limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        if let Some(bytes) = &self.bytes {
            let byte = bytes.get(self.at).copied().unwrap_or(0);
            self.at += 1;
            return usize::from(byte) % limit;
        }
        (self.bits() % limit as u64) as usize
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// One of a list.
    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}
