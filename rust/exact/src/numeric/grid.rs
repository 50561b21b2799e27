//! The grid of weights: every weight, noise and threshold is a whole number of grid steps.

/// One unit of weight is `2^FRACTION_BITS` grid steps. With at most 2^32 users of one unit each a sum stays below
/// 2^62 steps, so it cannot overflow.
pub const FRACTION_BITS: u32 = 30;
/// Weight 1, in grid steps.
pub const UNIT: u64 = 1 << FRACTION_BITS;
