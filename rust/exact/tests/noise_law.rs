//! The law of the noise through the public names: enumeration over words, and invariants.

use dpsel_exact::noise::Threshold;
use dpsel_exact::noise::{Noise, NoisyThreshold};
use dpsel_exact::numeric::UNIT;
use proptest::prelude::*;

/// Strata of the enumerations: the top sixteen bits of the word.
const STRATA: u128 = 1 << 16;

/// Draws after which tables give the noise of most words.
const WITHOUT_TABLES: u128 = 512;

/// Draw often enough for tables.
fn draw_often(decision: &NoisyThreshold) {
    for word in 0..WITHOUT_TABLES {
        let _ = decision.noisy_weight(0, word << 118);
    }
}

/// One word from the middle of each stratum.
fn words() -> impl Iterator<Item = u128> {
    (0..STRATA).map(|top| (top << 112) | (1 << 111))
}

fn noises(scale: f64) -> [Noise; 2] {
    [Noise::Gaussian { sigma: scale }, Noise::Laplace { scale }]
}

/// P[X >= x] for the continuous noise with scale one, to the accuracy of `f64`.
fn tail(noise: Noise, x: f64) -> f64 {
    match noise {
        Noise::Gaussian { .. } => 0.5 * libm::erfc(x / std::f64::consts::SQRT_2),
        Noise::Laplace { .. } if x >= 0.0 => 0.5 * libm::exp(-x),
        Noise::Laplace { .. } => 1.0 - 0.5 * libm::exp(x),
    }
}

/// Among equally spaced words the share of releases is the probability, to within one word.
#[test]
fn releases_have_their_probability() {
    let unit = UNIT as f64;
    for noise in noises(2.5) {
        let decision = NoisyThreshold::new(noise, Threshold::from_steps(10 << 30));
        for weight in (0..80).map(|i| i * UNIT / 4) {
            let released = words().filter(|&w| decision.releases(weight, w)).count();
            let expected = tail(noise, (10.0 - weight as f64 / unit) / 2.5) * STRATA as f64;
            assert!(
                (released as f64 - expected).abs() <= 1.0,
                "{noise:?} {weight}: {released}, not {expected}"
            );
        }
    }
}

/// With a scale of a few integer units the whole law can be written down: N = n has probability
/// P[n <= X < n + 1], X in integer units.
#[test]
fn noise_is_the_continuous_variable_rounded_down() {
    let scale = 1.5;
    for noise in noises(scale / UNIT as f64) {
        let decision = NoisyThreshold::new(noise, Threshold::from_steps(0));
        let weight = 1000;
        let mut counts = std::collections::BTreeMap::<i64, u32>::new();
        for word in words() {
            *counts.entry(decision.noisy_weight(weight, word) - 1000).or_default() += 1;
        }
        for n in -30..30_i32 {
            let seen = counts.remove(&n.into()).unwrap_or(0);
            let expected =
                (tail(noise, f64::from(n) / scale) - tail(noise, f64::from(n + 1) / scale)) * STRATA as f64;
            assert!((f64::from(seen) - expected).abs() <= 1.0, "{noise:?} {n}: {seen}, not {expected}");
        }
        assert!(counts.is_empty(), "{counts:?}");
    }
}

/// Scales from far below one integer unit to far above all weights, log-uniform.
fn any_noise() -> impl Strategy<Value = Noise> {
    (-12.0..3.0_f64, any::<bool>()).prop_map(|(exponent, gaussian)| {
        let scale = 10_f64.powf(exponent);
        if gaussian { Noise::Gaussian { sigma: scale } } else { Noise::Laplace { scale } }
    })
}

/// Words of every size, from both ends.
fn any_word() -> impl Strategy<Value = u128> {
    (any::<u128>(), 0..128_u32, any::<bool>())
        .prop_map(|(word, shift, top)| if top { !(word >> shift) } else { word >> shift })
}

proptest! {
    #[test]
    fn monotone_in_weight_and_word(
        noise in any_noise(), threshold in 0..1_i64 << 40, weight in 0..1_u64 << 40, more in 0..1_u64 << 36,
        word in any_word(), other in any_word(),
    ) {
        let decision = NoisyThreshold::new(noise, Threshold::from_steps(threshold));
        if decision.releases(weight, word) {
            prop_assert!(decision.releases(weight + more, word));
            prop_assert!(decision.releases(weight, word.min(other)));
        } else {
            prop_assert!(!decision.releases(weight.saturating_sub(more), word));
            prop_assert!(!decision.releases(weight, word.max(other)));
        }
    }

    #[test]
    fn noisy_weight_agrees_with_the_decision(
        noise in any_noise(), threshold in -1_i64 << 40..1 << 40, weight in 0..1_u64 << 40, word in any_word(),
    ) {
        let decision = NoisyThreshold::new(noise, Threshold::from_steps(threshold));
        let noisy = decision.noisy_weight(weight, word);
        draw_often(&decision);
        prop_assert_eq!(decision.noisy_weight(weight, word), noisy);
        prop_assert_eq!(noisy >= threshold, decision.releases(weight, word));
        // The noise does not depend on the threshold, and it is added: one unit more weight, one unit more.
        if i64::MIN < noisy && noisy < i64::MAX {
            prop_assert_eq!(decision.noisy_weight(weight + 1, word), noisy + 1);
            let exactly = NoisyThreshold::new(noise, Threshold::from_steps(noisy));
            prop_assert!(exactly.releases(weight, word));
            let above = NoisyThreshold::new(noise, Threshold::from_steps(noisy + 1));
            prop_assert!(!above.releases(weight, word));
        }
    }
}
