//! Deterministic one-dimensional searches. Their results are only proposals: callers verify them with intervals.

/// Where the increasing function `f` is 0 between `lo` and `hi`: `f` within `tolerance`, or as close as `f64` gets.
///
/// Regula falsi with the Illinois correction; every fourth step bisects, which also covers values that are not finite.
pub fn root(f: impl Fn(f64) -> f64, mut lo: f64, mut hi: f64, tolerance: f64) -> f64 {
    let (mut at_lo, mut at_hi) = (f(lo), f(hi));
    // The end that stayed last time: if it stays again its value is halved.
    let mut stayed = 0_i8;
    for step in 0..400 {
        let secant = (lo * at_hi - hi * at_lo) / (at_hi - at_lo);
        let usable = step % 4 != 3 && at_lo.is_finite() && at_hi.is_finite() && secant > lo && secant < hi;
        let x = if usable { secant } else { 0.5 * (lo + hi) };
        let y = f(x);
        if y.abs() <= tolerance || hi - lo <= 4.0 * f64::EPSILON * lo.abs().max(hi.abs()) {
            return x;
        }
        if y > 0.0 {
            (hi, at_hi) = (x, y);
            at_lo *= if stayed < 0 { 0.5 } else { 1.0 };
            stayed = -1;
        } else {
            (lo, at_lo) = (x, y);
            at_hi *= if stayed > 0 { 0.5 } else { 1.0 };
            stayed = 1;
        }
    }
    0.5 * (lo + hi)
}

/// Where `f` is smallest between `lo` and `hi`: a grid of `cells`, then golden sections of the best part.
pub fn minimise(f: impl Fn(f64) -> f64, lo: f64, hi: f64, cells: u32, sections: u32) -> f64 {
    let width = (hi - lo) / f64::from(cells);
    let at = |i: u32| f(lo + width * f64::from(i));
    let best =
        (0..=cells).map(|i| (i, at(i))).fold((0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a }).0;
    let left = (lo + width * (f64::from(best) - 1.0)).max(lo);
    let right = (lo + width * (f64::from(best) + 1.0)).min(hi);
    golden_section(f, left, right, sections)
}

/// Where a valley `f` is smallest between the two ends.
fn golden_section(f: impl Fn(f64) -> f64, mut left: f64, mut right: f64, sections: u32) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let inner = |left: f64, right: f64| (right - GOLDEN * (right - left), left + GOLDEN * (right - left));
    let (mut low, mut high) = inner(left, right);
    let (mut at_low, mut at_high) = (f(low), f(high));
    for _ in 0..sections {
        if at_low < at_high {
            (right, high, at_high) = (high, low, at_low);
            low = inner(left, right).0;
            at_low = f(low);
        } else {
            (left, low, at_low) = (low, high, at_high);
            high = inner(left, right).1;
            at_high = f(high);
        }
    }
    if at_low < at_high { low } else { high }
}
