use num_bigint::BigInt;

use super::*;
use crate::accounting::L0Bound;
use crate::weighting::Weighting;

fn l2(epsilon: f64, delta: f64, items: u64) -> (CurveSpec, Curve) {
    let bound = L0Bound::new(items).unwrap();
    let specs = l2_curves(Weighting::EqualL2, bound, epsilon, delta, &[1.0]).unwrap();
    let curve = Curve::new(specs[0].curve, specs[0].quantum).unwrap();
    (specs[0], curve)
}

#[test]
fn known_answers() {
    let (spec, curve) = l2(1.765, 4.96e-5, 100);
    let CurveKind::L2 { alpha, divergence, .. } = spec.curve else { panic!("an L2 curve") };
    let near = spec.half as f64 / UNIT as f64;
    eprintln!("{spec:?} {near} {}", curve.words.len());
    assert!((alpha - 10.0).abs() < 1.0 && (divergence - 0.948).abs() < 0.05, "{alpha} {divergence}");
    assert!((near - 9.05).abs() < 0.05, "{near}");
    let surely = (0..).find(|w| curve.probability(w * spec.quantum) >= 0.99).unwrap() * spec.quantum;
    assert!((surely as f64 / UNIT as f64 - 13.5).abs() < 0.1, "{surely}");
}

#[test]
fn parameters_of_other_budgets() {
    for (epsilon, delta, half) in [(0.5, 1e-6, 38.6), (1.0, 1e-5, 17.02), (3.0, 4.54e-5, 6.06)] {
        let start = std::time::Instant::now();
        let (spec, curve) = l2(epsilon, delta, 100);
        let near = spec.half as f64 / UNIT as f64;
        eprintln!("{spec:?} {near} {} {:?}", curve.words.len(), start.elapsed());
        assert!((near / half - 1.0).abs() < 0.01, "{near} {half}");
    }
}
