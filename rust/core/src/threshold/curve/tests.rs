mod continuous;
mod exact;
mod users;

use dpsel_exact::Error;
use dpsel_exact::accounting::L0Bound;
use dpsel_exact::numeric::{UNIT, mul_down};

use super::*;
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
        assert!((n..=n + 1).contains(&(curve.words().len() as u64)), "{epsilon} {delta}");
    }
}

/// An `f64` in [0, 1] as a multiple of 2^-SCALE; all of them here are.
const SCALE: u32 = 320;

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
    let beyond = curve.words().len() as u64 * (UNIT / 4);
    assert!(curve.releases(beyond, u128::MAX) && !curve.releases(beyond - 1, u128::MAX));
    assert!(curve.releases(u64::MAX, u128::MAX));
    for (at, &words) in curve.words().iter().enumerate().skip(1) {
        let weight = at as u64 * (UNIT / 4);
        assert!(curve.releases(weight, words - 1) && !curve.releases(weight, words));
        assert!(curve.words()[at - 1] <= words);
    }
    assert_eq!(Curve::new(CurveKind::L1 { epsilon: 1.0, delta: 0.1 }, UNIT).unwrap().half(), 3 * UNIT);
}

/// One unit with an epsilon for each direction: equal ones give the L1 curve, and each direction limits its own end.
#[test]
fn the_curve_of_one_unit_has_two_directions() {
    let curve =
        |adding, removing| Curve::new(CurveKind::OneUnit { adding, removing, delta: 1e-6 }, UNIT).unwrap();
    let alike = Curve::new(CurveKind::L1 { epsilon: 1.5, delta: 1e-6 }, UNIT).unwrap();
    for weight in (0..30).map(|n| n * UNIT) {
        assert!((curve(1.5, 1.5).probability(weight) - alike.probability(weight)).abs() < 1e-12);
    }
    for (adding, removing) in [(1.5, 1.0), (1.0, 1.5), (0.3, 4.0)] {
        let found = curve(adding, removing);
        let (grown, left) = (libm::exp(adding), libm::exp(-removing));
        let (mut p, mut n) = (0.0_f64, 0_u64);
        while p < 1.0 - 1e-9 {
            assert!((found.probability(n * UNIT) - p).abs() < 1e-9, "{adding} {removing} {n}");
            p = (grown * p + 1e-6).min(1.0 - left * (1.0 - p - 1e-6));
            n += 1;
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let refused = |curve, quantum| matches!(Curve::new(curve, quantum), Err(Error::Calibration { .. }));
    let good = CurveKind::L2 { alpha: 4.0, divergence: 2.0, delta: 1e-3 };
    assert!(refused(good, 0) && refused(good, UNIT + 1) && refused(good, 1));
    assert!(refused(CurveKind::OneUnit { adding: 1.0, removing: 1.0, delta: 0.1 }, UNIT / 2));
    for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(CurveKind::L1 { epsilon: x, delta: 0.1 }, UNIT));
        assert!(refused(CurveKind::L1 { epsilon: 1.0, delta: x }, UNIT));
        assert!(refused(CurveKind::OneUnit { adding: x, removing: 1.0, delta: 0.1 }, UNIT));
        assert!(refused(CurveKind::OneUnit { adding: 1.0, removing: x, delta: 0.1 }, UNIT));
        assert!(refused(CurveKind::OneUnit { adding: 1.0, removing: 1.0, delta: x }, UNIT));
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
