//! What one user of equal items can change, by the exact divergence.

use super::*;

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
    let Some(&words) = curve.words().get(at) else { return (1.0, 0.0) };
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
            for base in (0..curve.words().len()).step_by(7) {
                let (p, q) = (both(&curve, base + change), both(&curve, base));
                let (forwards, backwards) = hockey_stick(k, epsilon, p, q, &binomials);
                worst = worst.max(forwards / delta).max(backwards / delta);
            }
        }
    }
    assert!(worst <= 1.0 && worst > 0.8, "{worst}");
}
