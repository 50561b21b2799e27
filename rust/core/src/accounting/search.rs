//! Deterministic one-dimensional searches. What they find is only a proposal: callers verify it with intervals.

/// A zero of the increasing function `f` between `lo` and `hi`, to about the precision of `f64`.
///
/// Regula falsi with the Illinois correction, falling back to bisection where `f` is not finite or progress is slow.
pub(crate) fn root(f: impl Fn(f64) -> f64, mut lo: f64, mut hi: f64) -> f64 {
    let (mut at_lo, mut at_hi) = (f(lo), f(hi));
    for step in 0..200 {
        let secant = (lo * at_hi - hi * at_lo) / (at_hi - at_lo);
        let usable = step % 8 != 7 && at_lo.is_finite() && at_hi.is_finite() && secant > lo && secant < hi;
        let x = if usable { secant } else { 0.5 * (lo + hi) };
        let y = f(x);
        if y.abs() <= 1e-15 || hi - lo <= 1e-16 * lo.abs().max(hi.abs()) {
            return x;
        }
        if y > 0.0 {
            (hi, at_hi) = (x, y);
            at_lo *= 0.5;
        } else {
            (lo, at_lo) = (x, y);
            at_hi *= 0.5;
        }
    }
    0.5 * (lo + hi)
}

/// Where `f` is smallest between `lo` and `hi`: a grid of `cells`, then golden sections of the best part.
pub(crate) fn minimise(f: impl Fn(f64) -> f64, lo: f64, hi: f64, cells: u32, sections: u32) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let width = (hi - lo) / f64::from(cells);
    let at = |i: u32| f(lo + width * f64::from(i));
    let best =
        (0..=cells).map(|i| (i, at(i))).fold((0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a }).0;
    let mut a = (lo + width * (f64::from(best) - 1.0)).max(lo);
    let mut b = (lo + width * (f64::from(best) + 1.0)).min(hi);
    let (mut c, mut d) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
    let (mut at_c, mut at_d) = (f(c), f(d));
    for _ in 0..sections {
        if at_c < at_d {
            (b, d, at_d) = (d, c, at_c);
            c = b - GOLDEN * (b - a);
            at_c = f(c);
        } else {
            (a, c, at_c) = (c, d, at_d);
            d = a + GOLDEN * (b - a);
            at_d = f(d);
        }
    }
    if at_c < at_d { c } else { d }
}
