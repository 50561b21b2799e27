use num_bigint::BigInt;
use num_traits::{One, Signed, Zero};
use proptest::prelude::*;

use super::*;
use crate::accounting::L0Bound;
use crate::numeric::mul_down;
use crate::weighting::Weighting;

fn l2_rounds(epsilon: f64, delta: f64, items: u64, shares: &[f64]) -> Vec<CurveSpec> {
    l2_curves(Weighting::EqualL2, L0Bound::new(items).unwrap(), epsilon, delta, shares).unwrap()
}

fn weight(units: u64) -> f64 {
    units as f64 / UNIT as f64
}

/// The curve of a single round of users of 100 items.
fn l2_single(epsilon: f64, delta: f64) -> CurveSpec {
    l2_curve(Weighting::EqualL2, L0Bound::new(100).unwrap(), epsilon, delta).unwrap()
}

/// The least weight with this probability.
fn quantile(curve: &Curve, probability: f64) -> f64 {
    weight((0..1 << 24).map(|n| n * curve.quantum).find(|&w| curve.probability(w) >= probability).unwrap())
}

#[test]
fn known_answers_of_single_rounds() {
    let spec = l2_single(1.765, 4.96e-5);
    let curve = Curve::of(spec.curve, spec.quantum).unwrap();
    let CurveKind::L2Region { alpha, .. } = spec.curve else { panic!("a region") };
    assert!((alpha - 9.7).abs() < 1.0, "{alpha}");
    assert!((quantile(&curve, 0.99) - 12.9).abs() < 0.2, "{}", quantile(&curve, 0.99));
    for (epsilon, delta, half) in [
        (0.5, 1e-6, 36.99),
        (1.0, 1e-5, 16.18),
        (1.765, 4.96e-5, 8.554),
        (3.0, 4.54e-5, 5.731),
        (4.0, 1e-3, 3.392),
    ] {
        let near = weight(l2_single(epsilon, delta).half);
        assert!((near / half - 1.0).abs() < 0.005, "{near} {half}");
        let shared = weight(l2_rounds(epsilon, delta, 100, &[1.0])[0].half);
        assert!(near < 0.96 * shared, "{near} {shared}");
        let continuous = weight(l2_continuous_curve(epsilon, delta, UNIT).unwrap().half);
        assert!(continuous > near && continuous < 1.05 * near, "{continuous} {near}");
    }
}

#[test]
fn continuous_curves_of_large_deltas_take_one_point() {
    let curve = l2_continuous_curve(1.0, 0.9, UNIT).unwrap();
    assert!(matches!(curve.curve, CurveKind::L2Continuous { .. }) && weight(curve.half) < 1.1);
    let curve = l2_continuous_curve(1.0, 1e-3, UNIT).unwrap();
    assert!(matches!(curve.curve, CurveKind::L2ContinuousRegion { .. }));
}

#[test]
fn known_answers() {
    let spec = l2_rounds(1.765, 4.96e-5, 100, &[1.0])[0];
    let curve = Curve::of(spec.curve, spec.quantum).unwrap();
    let CurveKind::L2 { alpha, divergence, .. } = spec.curve else { panic!("an L2 curve") };
    assert!((alpha - 10.0).abs() < 1.0 && (divergence - 0.948).abs() < 0.06, "{alpha} {divergence}");
    assert!((quantile(&curve, 0.5) - 9.05).abs() < 0.05, "{}", quantile(&curve, 0.5));
    assert!((quantile(&curve, 0.99) - 13.5).abs() < 0.1, "{}", quantile(&curve, 0.99));
    for (epsilon, delta, half) in [(0.5, 1e-6, 38.6), (1.0, 1e-5, 17.02), (3.0, 4.54e-5, 6.06)] {
        let near = weight(l2_rounds(epsilon, delta, 100, &[1.0])[0].half);
        assert!((near / half - 1.0).abs() < 0.01, "{near} {half}");
    }
    for (epsilon, delta, half) in [(0.5, 1e-6, 25.38), (1.0, 1e-5, 11.36), (1.765, 4.96e-5, 6.12)] {
        let near = weight(l1_curve(epsilon, delta, UNIT >> 7).unwrap().half);
        assert!((near / half - 1.0).abs() < 0.005, "{near} {half}");
    }
}

/// The optimal rule of one item, by its recurrence.
#[test]
fn the_l1_curve_of_whole_units_is_the_optimal_rule() {
    for (epsilon, delta) in [(1.0, 1e-5), (0.1, 1e-8), (5.0, 0.1), (1e-3, 0.5), (30.0, 1e-12)] {
        let curve = Curve::new(CurveKind::L1 { epsilon, delta }, UNIT).unwrap();
        let growth = libm::exp(epsilon);
        let (mut p, mut rest, mut n) = (0.0_f64, 1.0_f64, 0_u64);
        while rest > 0.0 {
            assert!(
                (curve.probability(n * UNIT) / p - 1.0).abs() < 1e-9 || p == 0.0,
                "{epsilon} {delta} {n}"
            );
            let complement = 1.0 - curve.probability(n * UNIT);
            assert!((complement - rest).abs() < 1e-9, "{epsilon} {delta} {n}");
            let falls = (rest - delta) / growth;
            p = (growth * p + delta).min(1.0 - falls);
            rest = if p < 0.5 { 1.0 - p } else { (1.0 - p).max(falls).max(0.0) };
            n += 1;
        }
        // Where the last step takes exactly what is left, rounding may need one more.
        assert!((n..=n + 1).contains(&(curve.words.len() as u64)), "{epsilon} {delta}");
    }
}

/// An `f64` in [0, 1] as a multiple of 2^-SCALE; all of them here are.
const SCALE: u32 = 320;

fn exact(x: f64) -> BigInt {
    let bits = x.to_bits();
    let exponent = i32::try_from(bits >> 52).unwrap() - 1075;
    let mantissa = BigInt::from(bits & ((1 << 52) - 1) | 1 << 52);
    let shift = exponent + i32::try_from(SCALE).unwrap();
    assert!(x == 0.0 || (shift >= 0 && x.is_normal()));
    if x == 0.0 { BigInt::zero() } else { mantissa << u32::try_from(shift).unwrap() }
}

fn one() -> BigInt {
    BigInt::one() << SCALE
}

/// e^x rounded down: the series of positive terms, cut off.
fn exp_down(x: &BigInt) -> BigInt {
    let (mut sum, mut term) = (one(), one());
    for n in 1..400 {
        term = ((&term * x) >> SCALE) / n;
        sum += &term;
    }
    sum
}

/// The probabilities of a table as multiples of 2^-SCALE, with one beyond the end.
fn probabilities(curve: &Curve) -> Vec<BigInt> {
    let inside = curve.words.iter().map(|&words| BigInt::from(words) << (SCALE - 128));
    inside.chain([one(), one()]).collect()
}

/// Both moments of every pair, in integers; `alpha` is an integer so that they are rational.
fn check_l2(alpha: u32, divergence: f64, delta: f64, quantum: u64) -> usize {
    let curve = Curve::new(CurveKind::L2 { alpha: alpha.into(), divergence, delta }, quantum).unwrap();
    check_points(&curve, alpha, &[Point { divergence, delta }])
}

/// The same for pairs that choose their points.
fn check_region(alpha: u32, epsilon: f64, delta: f64, quantum: u64) -> usize {
    let curve = Curve::new(CurveKind::L2Region { alpha: alpha.into(), epsilon, delta }, quantum).unwrap();
    check_points(&curve, alpha, &region::points(alpha.into(), epsilon, delta).unwrap())
}

/// Every pair of a table satisfies the constraint at one of the points.
fn check_points(curve: &Curve, alpha: u32, points: &[Point]) -> usize {
    let (table, quantum) = (probabilities(curve), curve.quantum);
    for change in 1..=usize::try_from(UNIT / quantum).unwrap() {
        let a = (change as u64 * quantum) as f64 / UNIT as f64;
        let allowances: Vec<_> = points.iter().map(|point| allowance(alpha, *point, a)).collect();
        for (q, p) in table.iter().zip(&table[change.min(table.len() - 1)..]) {
            assert!(q <= p);
            assert!(allowances.iter().any(|(d, allowed)| is_pair(alpha, q, p, d, allowed)), "{change}");
        }
    }
    table.len()
}

/// The approximation and the moment of a point for a change, in integers.
fn allowance(alpha: u32, point: Point, a: f64) -> (BigInt, BigInt) {
    let d = exact(mul_down(point.delta, a * a));
    let x = exact(mul_down(point.divergence, a * a) / 1024.0) * 1024 * (alpha - 1);
    let allowed = ((one() - &d) * exp_down(&x)) >> SCALE;
    (d, allowed)
}

/// (p - d)^alpha q^(1-alpha) + (1-p)^alpha (1-q-d)^(1-alpha) <= allowed, all multiples of 2^-SCALE, multiplied by
/// q^(alpha-1) (1-q-d)^(alpha-1), and the same with the roles exchanged.
fn is_pair(alpha: u32, q: &BigInt, p: &BigInt, d: &BigInt, allowed: &BigInt) -> bool {
    if &(p - q) <= d {
        return true;
    }
    let (above, left, rest) = (p - d, one() - p, one() - q - d);
    if !(q.is_positive() && left.is_positive() && rest.is_positive()) {
        return false;
    }
    let order = alpha - 1;
    let forwards = above.pow(alpha) * rest.pow(order) + left.pow(alpha) * q.pow(order);
    let backwards = q.pow(alpha) * left.pow(order) + rest.pow(alpha) * above.pow(order);
    forwards <= allowed * q.pow(order) * rest.pow(order)
        && backwards <= allowed * above.pow(order) * left.pow(order)
}

#[test]
fn every_pair_of_a_region_satisfies_its_constraint_exactly_at_some_point() {
    let sizes = [
        check_region(10, 1.765, 4.96e-5, UNIT / 12),
        check_region(2, 6.0, 0.3, UNIT / 9),
        check_region(40, 0.6, 1e-6, UNIT / 3),
        check_region(4, 9.0, 1e-9, UNIT / 7 - 5),
        check_region(7, 2.0, 1e-3, UNIT),
    ];
    assert!(sizes.iter().all(|size| *size > 4), "{sizes:?}");
}

/// For alpha = 2, (1 - 1/alpha)^alpha / (alpha - 1) is 1/4: D + (1 - D) e^(R - epsilon) / 4 <= delta, in integers.
#[test]
fn points_convert_to_delta_and_nearly_use_it() {
    for (epsilon, delta) in [(9.0, 1e-3), (6.0, 0.2), (30.0, 1e-9), (16.0, 4.96e-5)] {
        let points = region::points(2.0, epsilon, delta).unwrap();
        assert!(points.len() > 8 && points.last().unwrap().divergence == 0.0);
        assert!(points.is_sorted_by(|a, b| a.divergence > b.divergence && a.delta < b.delta));
        for Point { divergence, delta: approximation } in points {
            let gap = exp_down(&(exact((epsilon - divergence) / 1024.0) * 1024));
            let d = exact(approximation);
            let converted = ((one() - &d) * one() / 4) / gap;
            let (total, limit) = (d + converted, exact(delta));
            // The difference above is one of doubles.
            let slack = &limit >> 44;
            assert!(total <= &limit + &slack, "{epsilon} {delta}");
            assert!(total > limit * 999 / 1000, "{epsilon} {delta}");
        }
    }
    assert!(region::points(2.0, 0.1, 1e-3).is_none());
}

#[test]
fn every_pair_of_an_l2_table_satisfies_its_constraint_exactly() {
    let sizes = [
        check_l2(10, 0.948, 2.4e-5, UNIT / 12),
        check_l2(2, 3.0, 0.1, UNIT / 9),
        check_l2(40, 0.25, 5e-7, UNIT / 3),
        check_l2(3, 8.0, 1e-12, UNIT / 7 - 5),
        check_l2(7, 0.05, 1e-4, UNIT),
        check_l2(5, 1.7, 1e-20, UNIT / 2),
    ];
    assert!(sizes.iter().all(|size| *size > 5), "{sizes:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn random_l2_tables_satisfy_their_constraints(
        alpha in 2_u32..12, divergence in 0.05..4.0_f64, log_delta in -25.0..-1.0_f64, parts in 1_u64..9,
    ) {
        check_l2(alpha, divergence, libm::exp(log_delta), UNIT / parts);
    }

    #[test]
    fn random_regions_satisfy_their_constraints(
        alpha in 2_u32..12, surplus in 0.2..4.0_f64, log_delta in -20.0..-1.0_f64, parts in 1_u64..7,
    ) {
        let epsilon = (surplus - log_delta) / f64::from(alpha - 1);
        check_region(alpha, epsilon, libm::exp(log_delta), UNIT / parts);
    }

    #[test]
    fn random_l1_tables_satisfy_their_constraints(
        epsilon in 0.01..6.0_f64, log_delta in -25.0..-1.0_f64, parts in 1_u64..9,
    ) {
        let (delta, quantum) = (libm::exp(log_delta), UNIT / parts);
        let table = probabilities(&Curve::new(CurveKind::L1 { epsilon, delta }, quantum).unwrap());
        for change in 1..=usize::try_from(UNIT / quantum).unwrap() {
            let a = BigInt::from(change as u64 * quantum);
            let growth = exp_down(&((exact(epsilon / 1024.0) * 1024 * &a) >> 30));
            let d = (exact(delta) * a) >> 30;
            for (q, p) in table.iter().zip(&table[change.min(table.len() - 1)..]) {
                let slack = 1; // the last place of the shifts
                prop_assert!(p <= &(((&growth * q) >> SCALE) + &d + slack));
                prop_assert!(one() - q <= ((&growth * (one() - p)) >> SCALE) + &d + slack);
            }
        }
    }
}

#[test]
fn rounds_share_the_budget() {
    let shares = [0.04, 0.16, 0.8];
    let whole = l2_rounds(1.0, 1e-5, 50, &[1.0])[0];
    let rounds = l2_rounds(1.0, 1e-5, 50, &shares);
    let of = |spec: &CurveSpec| match spec.curve {
        CurveKind::L2 { alpha, divergence, delta } => (alpha, divergence, delta),
        _ => panic!("an L2 curve"),
    };
    assert!(rounds.iter().all(|spec| of(spec).0.to_bits() == of(&rounds[0]).0.to_bits()));
    let (alpha, divergence, delta) =
        rounds.iter().map(of).fold((0.0, 0.0, 0.0), |a, b| (b.0, a.1 + b.1, a.2 + b.2));
    let converted =
        libm::exp((alpha - 1.0) * (divergence - 1.0)) * (1.0 - 1.0 / alpha).powf(alpha) / (alpha - 1.0);
    let total = delta + (1.0 - delta) * converted;
    assert!(total < 1e-5 * (1.0 + 1e-9) && total > 0.999e-5, "{total}");
    assert!(
        rounds[2].half > whole.half && rounds[1].half > rounds[2].half && rounds[0].half > rounds[1].half
    );
}

#[test]
fn decisions_follow_the_table() {
    let curve = Curve::new(CurveKind::L2 { alpha: 4.0, divergence: 2.0, delta: 1e-3 }, UNIT / 4).unwrap();
    assert!(!curve.releases(0, 0) && !curve.releases(UNIT / 4 - 1, 0));
    let beyond = curve.words.len() as u64 * (UNIT / 4);
    assert!(curve.releases(beyond, u128::MAX) && !curve.releases(beyond - 1, u128::MAX));
    assert!(curve.releases(u64::MAX, u128::MAX));
    for (at, &words) in curve.words.iter().enumerate().skip(1) {
        let weight = at as u64 * (UNIT / 4);
        assert!(curve.releases(weight, words - 1) && !curve.releases(weight, words));
        assert!(curve.words[at - 1] <= words);
    }
    assert_eq!(Curve::new(CurveKind::L1 { epsilon: 1.0, delta: 0.1 }, UNIT).unwrap().half(), 3 * UNIT);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let refused = |curve, quantum| matches!(Curve::new(curve, quantum), Err(Error::Calibration { .. }));
    let good = CurveKind::L2 { alpha: 4.0, divergence: 2.0, delta: 1e-3 };
    assert!(refused(good, 0) && refused(good, UNIT + 1) && refused(good, 1));
    for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(CurveKind::L1 { epsilon: x, delta: 0.1 }, UNIT));
        assert!(refused(CurveKind::L1 { epsilon: 1.0, delta: x }, UNIT));
        assert!(refused(CurveKind::L2 { alpha: 1.0 + x, divergence: 1.0, delta: 0.1 }, UNIT));
        assert!(refused(CurveKind::L2 { alpha: 2.0, divergence: x, delta: 0.1 }, UNIT));
        assert!(refused(CurveKind::L2 { alpha: 2.0, divergence: 1.0, delta: x }, UNIT));
    }
}

#[test]
fn curves_that_would_take_minutes_are_refused_at_once() {
    for items in [1, 100] {
        let curves = l2_curves(Weighting::EqualL2, L0Bound::new(items).unwrap(), 1e-6, 1e-30, &[1.0]);
        assert!(curves.unwrap_err().to_string().contains("before the weight"));
    }
}

/// ln of the binomial coefficients (k over 0..=k).
fn log_binomials(k: u32) -> Vec<f64> {
    (0..=k)
        .map(|j| {
            libm::lgamma(f64::from(k) + 1.0)
                - libm::lgamma(f64::from(j) + 1.0)
                - libm::lgamma(f64::from(k - j) + 1.0)
        })
        .collect()
}

/// The probability and its complement, each precise where it is small.
fn both(curve: &Curve, at: usize) -> (f64, f64) {
    let all = 2_f64.powi(128);
    let Some(&words) = curve.words.get(at) else { return (1.0, 0.0) };
    (words as f64 / all, if words == 0 { 1.0 } else { words.wrapping_neg() as f64 / all })
}

/// The exact hockey-stick divergence, in both directions, between `k` items of one probability and of another.
fn hockey_stick(k: u32, epsilon: f64, p: (f64, f64), q: (f64, f64), binomials: &[f64]) -> (f64, f64) {
    let log = |x: f64, n: u32| if n == 0 { 0.0 } else { f64::from(n) * libm::log(x) };
    let (mut forwards, mut backwards) = (0.0, 0.0);
    for j in 0..=k {
        let more = binomials[j as usize] + log(p.0, j) + log(p.1, k - j);
        let less = binomials[j as usize] + log(q.0, j) + log(q.1, k - j);
        forwards += (libm::exp(more) - libm::exp(epsilon + less)).max(0.0);
        backwards += (libm::exp(less) - libm::exp(epsilon + more)).max(0.0);
    }
    (forwards, backwards)
}

/// No user of k items, all of which have the same weight without it, is seen by more than delta.
#[test]
fn no_user_of_equal_items_exceeds_delta() {
    let mut worst = 0.0_f64;
    for (epsilon, delta) in [(1.765, 4.96e-5), (0.5, 1e-6), (4.0, 1e-3)] {
        let spec = l2_single(epsilon, delta);
        let curve = Curve::of(spec.curve, spec.quantum).unwrap();
        for k in [1, 2, 3, 5, 10, 30, 100] {
            let binomials = log_binomials(k);
            let change = usize::try_from(Weighting::EqualL2.weight(k) / spec.quantum).unwrap();
            for base in (0..curve.words.len()).step_by(7) {
                let (p, q) = (both(&curve, base + change), both(&curve, base));
                let (forwards, backwards) = hockey_stick(k, epsilon, p, q, &binomials);
                worst = worst.max(forwards / delta).max(backwards / delta);
            }
        }
    }
    assert!(worst <= 1.0 && worst > 0.8, "{worst}");
}

fn continuous(norm: u64) -> Curve {
    let kind = CurveKind::L2Continuous { alpha: 10.0, divergence: 0.95, delta: 2.4e-5, norm };
    Curve::new(kind, UNIT >> 6).unwrap()
}

/// Whether exactly the words below this number release.
fn releases_below(curve: &Curve, weight: u64, words: u128) -> bool {
    curve.releases(weight, words - 1) && !curve.releases(weight, words)
}

#[test]
fn between_its_entries_a_continuous_curve_is_a_parabola_and_then_straight() {
    let curve = continuous(UNIT);
    let quantum = UNIT >> 6;
    let square = u128::from(quantum) * u128::from(quantum);
    assert!(!curve.releases(0, 0) && curve.words[1] > 0 && curve.words[1].is_multiple_of(square));
    for weight in [1, 2, 12_345, quantum / 2, quantum - 1] {
        assert!(releases_below(&curve, weight, curve.words[1] / square * u128::from(weight).pow(2)));
    }
    for at in (1..curve.words.len() - 1).step_by(3) {
        let (here, next) = (curve.words[at], curve.words[at + 1]);
        for beyond in [0, 1, quantum / 3, quantum - 1] {
            let words = here + (next - here) / u128::from(quantum) * u128::from(beyond);
            assert!(releases_below(&curve, at as u64 * quantum + beyond, words));
        }
    }
    let last = *curve.words.last().unwrap();
    assert!(last > u128::MAX - (1 << 84));
    assert!(releases_below(&curve, u64::MAX, last));
}

#[test]
fn a_larger_norm_makes_a_continuous_curve_rise_later() {
    let (near, far) = (continuous(UNIT), continuous(UNIT + UNIT / 16));
    let late = far.half() as f64 / near.half() as f64;
    assert!((1.055..1.07).contains(&late), "{late}");
    let discrete = CurveKind::L2 { alpha: 10.0, divergence: 0.95, delta: 2.4e-5 };
    let discrete = Curve::new(discrete, UNIT >> 6).unwrap().half();
    // Coarse lines cost more than the usual ones.
    assert!(near.half() > discrete && near.half() < discrete + discrete / 10);
}

#[test]
fn continuous_curves_out_of_range_are_refused() {
    let refused = |alpha, delta, norm, quantum| {
        let kind = CurveKind::L2Continuous { alpha, divergence: 1.0, delta, norm };
        matches!(Curve::new(kind, quantum), Err(Error::Calibration { .. }))
    };
    assert!(refused(4.0, 1e-3, UNIT - 1, UNIT >> 6) && refused(4.0, 1e-3, 2 * UNIT + 1, UNIT >> 6));
    assert!(refused(4.0, 1e-3, UNIT, 3 * (UNIT >> 8)) && refused(4.0, 1e-3, UNIT, UNIT >> 2));
    assert!(refused(1.0, 1e-3, UNIT, UNIT >> 6) && refused(4.0, 1e-40, UNIT, UNIT >> 6));
    assert!(refused(900.0, 1e-3, UNIT, UNIT >> 4));
}
