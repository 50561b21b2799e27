//! The sizes of users for which norms and caps are found. A user has those of the next larger size.

use dpsel_exact::accounting::L0Bound;

/// 1, 2, 3, 4, 6, 8, 12, 16, ... and the bound.
pub(crate) fn sizes(bound: L0Bound) -> Vec<u32> {
    let powers = (0..u32::BITS - 2).map(|bits| 1_u32 << bits);
    let halves = powers.flat_map(|power| [power, power + power / 2]).filter(|size| *size != 1);
    let mut sizes: Vec<u32> = [1].into_iter().chain(halves).take_while(|size| *size < bound.get()).collect();
    sizes.push(bound.get());
    sizes
}

/// `times` / sqrt(`items`), at most 1.
pub(crate) fn per_root(times: f64, items: u32) -> f64 {
    (times / f64::from(items).sqrt()).min(1.0)
}
