//! Curves for weights that are not multiples of a quantum.

use super::*;

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
    assert!(!curve.releases(0, 0) && curve.words()[1] > 0 && curve.words()[1].is_multiple_of(square));
    for weight in [1, 2, 12_345, quantum / 2, quantum - 1] {
        assert!(releases_below(&curve, weight, curve.words()[1] / square * u128::from(weight).pow(2)));
    }
    for at in (1..curve.words().len() - 1).step_by(3) {
        let (here, next) = (curve.words()[at], curve.words()[at + 1]);
        for beyond in [0, 1, quantum / 3, quantum - 1] {
            let words = here + (next - here) / u128::from(quantum) * u128::from(beyond);
            assert!(releases_below(&curve, at as u64 * quantum + beyond, words));
        }
    }
    let last = *curve.words().last().unwrap();
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
