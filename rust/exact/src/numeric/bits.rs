//! Where random bits come from.

/// A source of bits.
pub trait Bits {
    /// The next 64 bits.
    fn half_word(&mut self) -> u64;

    /// The next 128 bits.
    fn word(&mut self) -> u128 {
        u128::from(self.half_word()) | u128::from(self.half_word()) << 64
    }

    /// A uniform integer below `n`, which must not be 0.
    #[expect(clippy::cast_possible_truncation, reason = "below `n`, which has 64 bits")]
    fn below_u64(&mut self, n: u64) -> u64 {
        self.below(n.into()) as u64
    }

    /// A uniform integer below `n`, which must not be 0.
    fn below(&mut self, n: u128) -> u128 {
        debug_assert!(n > 0);
        let mask = u128::MAX >> (n - 1).leading_zeros().min(127);
        loop {
            let candidate = if mask >> 64 == 0 { self.half_word().into() } else { self.word() } & mask;
            if candidate < n {
                return candidate;
            }
        }
    }
}
