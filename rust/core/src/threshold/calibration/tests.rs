use proptest::prelude::*;

use super::*;
use crate::threshold::Noisy;
use crate::weighting::{Greedy, MadWeights, PolicyL1, PolicyL2};

fn bound(d0: u64) -> L0Bound {
    L0Bound::new(d0).unwrap()
}

/// ln of the survival probability of every t, one after the other, in plain arithmetic.
fn worst_release(noise: Noise, weighting: Weighting, d0: u32, threshold: Threshold) -> f64 {
    let at = |t: u32| {
        let units = i128::from(threshold.steps()) - i128::from(weighting.weight(t));
        -libm::expm1(f64::from(t) * libm::log1p(-noise_tail(noise, units).middle()))
    };
    (1..=d0).map(at).fold(0.0, f64::max)
}

#[test]
fn one_unit_lower_violates_delta() {
    let noises =
        [Noise::Gaussian { sigma: 3.73 }, Noise::Gaussian { sigma: 0.2 }, Noise::Laplace { scale: 1.0 }];
    for noise in noises {
        for weighting in [Weighting::Count, Weighting::EqualL1, Weighting::EqualL2] {
            for d0 in [1, 2, 10, 1000] {
                for delta in [1e-12, 1e-5, 0.1] {
                    let threshold = smallest_threshold(noise, weighting, bound(d0), delta).unwrap();
                    let below = Threshold::from_steps(threshold.steps() - 1);
                    let d0 = u32::try_from(d0).unwrap();
                    assert!(worst_release(noise, weighting, d0, threshold) <= delta * (1.0 + 1e-12));
                    assert!(
                        worst_release(noise, weighting, d0, below) > delta,
                        "{noise:?} {weighting:?} {d0} {delta}"
                    );
                }
            }
        }
    }
}

#[test]
fn thresholds_at_extremes() {
    for sigma in [1e-3, 1.0, 1e6] {
        for delta in [1e-300, 1e-100, 1e-9, 0.5, 0.999] {
            for d0 in [1, 100, 10_000_000] {
                let noise = Noise::Gaussian { sigma };
                let threshold = smallest_threshold(noise, Weighting::EqualL2, bound(d0), delta).unwrap();
                let holds = |t| novel_items_within(noise, Weighting::EqualL2, bound(d0), t, delta);
                assert!(holds(threshold) && !holds(Threshold::from_steps(threshold.steps() - 1)));
            }
        }
    }
    let huge = Noise::Gaussian { sigma: 1e10 };
    let error = smallest_threshold(huge, Weighting::Count, bound(1), 1e-9).unwrap_err();
    assert!(matches!(error, Error::Calibration { .. }));
}

#[test]
fn known_thresholds_of_one_round() {
    // Published and independent values to four digits: sigma and threshold at (epsilon, delta), D0.
    let known = [
        (0.1, 1e-5, 100, 30.750, 159.98),
        (0.5, 1e-6, 100, 8.058, 45.32),
        (1.0, 1e-5, 100, 3.731, 19.50),
        (1.0, 1e-5, 1000, 3.731, 20.97),
        (1.765, 4.96e-5, 100, 2.027, 10.02),
        (8.0, 1e-6, 100, 0.653, 4.104),
    ];
    for (epsilon, delta, d0, sigma, threshold) in known {
        let round = calibrate_single_round(Weighting::EqualL2, bound(d0), epsilon, delta).unwrap();
        let Noise::Gaussian { sigma: got } = round.noise else { panic!("Gaussian") };
        assert!((got / sigma - 1.0).abs() < 1e-3, "{got} {sigma}");
        assert!((round.threshold.value() / threshold - 1.0).abs() < 1e-3, "{round:?} {threshold}");
    }
}

#[test]
fn a_lower_threshold_or_less_noise_does_not_verify() {
    for weighting in [Weighting::Count, Weighting::EqualL2] {
        for (epsilon, delta) in [(1e-3, 1e-6), (1.0, 1e-5), (8.0, 1e-6), (1e-6, 0.1), (0.1, 0.1)] {
            for d0 in [1, 2, 7, 100, 100_000] {
                let round = calibrate_single_round(weighting, bound(d0), epsilon, delta).unwrap();
                let holds = |round| single_round_holds(round, weighting, bound(d0), epsilon, delta);
                assert!(holds(round), "{round:?}");
                let Noise::Gaussian { sigma } = round.noise else { panic!("Gaussian") };
                let quiet = Noise::Gaussian { sigma: sigma * 0.98 };
                assert!(!holds(Noisy { noise: quiet, ..round }), "{weighting:?} {epsilon} {delta} {d0}");
                let low = Threshold::from_steps(round.threshold.steps() / 100 * 98);
                assert!(!holds(Noisy { threshold: low, ..round }), "{weighting:?} {epsilon} {delta} {d0}");
            }
        }
    }
}

#[test]
fn where_delta_buys_little_noise_the_search_still_verifies() {
    // Near epsilon = 0 delta buys noise only linearly: noise and threshold taking all of it is a close call.
    let (epsilon, delta, d0) = (1e-6, 1e-3, bound(1_000_000));
    let round = calibrate_single_round(Weighting::EqualL2, d0, epsilon, delta).unwrap();
    assert!(single_round_holds(round, Weighting::EqualL2, d0, epsilon, delta));
    let least = smallest_threshold(round.noise, Weighting::EqualL2, d0, delta).unwrap();
    assert!(round.threshold >= least && round.threshold.value() < 1.01 * least.value());
    for novel in [0, 1, 10, 1_000, 10_000, 100_000, 500_000, 900_000, 999_999, 1_000_000] {
        let found = divergence(round, Weighting::EqualL2, epsilon, d0.get(), novel);
        assert!(found <= delta * (1.0 + 1e-9), "{found} with {novel} novel items");
    }
}

/// The larger one of the two divergences for a user of `k` items, so many of them novel.
fn divergence(round: Noisy, weighting: Weighting, epsilon: f64, k: u32, novel: u32) -> f64 {
    let Noise::Gaussian { sigma } = round.noise else { panic!("Gaussian") };
    let units = weighting.weight(k);
    let q = noise_tail(round.noise, i128::from(round.threshold.steps()) - i128::from(units)).middle();
    let log_p = f64::from(novel) * libm::log1p(-q);
    let mu = f64::from(k - novel).sqrt() * units as f64 / UNIT as f64 / sigma;
    let gauss =
        |e: f64| dpsel_exact::accounting::gaussian::delta(Interval::point(e), Interval::point(mu)).middle();
    let with_user = -libm::expm1(log_p) + libm::exp(log_p) * gauss(epsilon - log_p);
    with_user.max(gauss(epsilon + log_p))
}

#[test]
fn laplace_weightings_are_not_gaussian_rounds() {
    let round = Noisy { noise: Noise::Laplace { scale: 1.0 }, threshold: Threshold::from_steps(1 << 40) };
    assert!(!single_round_holds(round, Weighting::EqualL1, bound(1), 1.0, 1e-5));
}

#[test]
fn a_weighting_without_a_proof_is_not_taken_for_one_of_norm_one() {
    let generous =
        Noisy { noise: Noise::Gaussian { sigma: 50.0 }, threshold: Threshold::from_steps(1 << 42) };
    assert!(single_round_holds(generous, Weighting::EqualL2, bound(9), 1.0, 1e-5));
    let cutoff = 4 * UNIT;
    let unproved = [
        Weighting::EqualL1,
        Weighting::PolicyL1(PolicyL1 { cutoff, passes: 1 }),
        Weighting::Greedy(Greedy { cutoff }),
        Weighting::Mad(MadWeights { limit: cutoff, most: 9, norm: MadWeights::NORM }),
    ];
    for weighting in unproved {
        assert!(!single_round_holds(generous, weighting, bound(9), 1.0, 1e-5), "{weighting:?}");
        assert!(matches!(calibrate_single_round(weighting, bound(9), 1.0, 1e-5), Err(Error::Internal(_))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The certified maximum is not below any configuration of a random round.
    #[test]
    fn no_configuration_exceeds_delta(
        log_epsilon in -6.0..1.5_f64, log_delta in -12.0..-0.5_f64, d0 in 1_u32..60, count in any::<bool>()
    ) {
        let (epsilon, delta) = (libm::exp10(log_epsilon), libm::exp10(log_delta));
        let weighting = if count { Weighting::Count } else { Weighting::EqualL2 };
        let round = calibrate_single_round(weighting, bound(d0.into()), epsilon, delta).unwrap();
        for k in 1..=d0 {
            for novel in 0..=k {
                prop_assert!(divergence(round, weighting, epsilon, k, novel) <= delta * (1.0 + 1e-9));
            }
        }
    }

    /// The same for a policy, whose novel items may weigh anything between 1/sqrt(D0) and 1/sqrt(t).
    #[test]
    fn no_configuration_of_a_policy_exceeds_delta(
        log_epsilon in -3.0..1.2_f64, log_delta in -12.0..-0.5_f64, d0 in 1_u32..60, tenths in 0_u32..=10,
    ) {
        let (epsilon, delta) = (libm::exp10(log_epsilon), libm::exp10(log_delta));
        let policy = PolicyL2 { cutoff: UNIT, passes: 1, norm: UNIT + UNIT / 10_000 };
        let weighting = Weighting::PolicyL2(policy);
        let round = calibrate_single_round(weighting, bound(d0.into()), epsilon, delta).unwrap();
        let Noise::Gaussian { sigma } = round.noise else { panic!("Gaussian") };
        for t in 0..=d0 {
            let (least, most) = (f64::from(d0).sqrt().recip(), f64::from(t.max(1)).sqrt().recip());
            let a = least + (most - least) * f64::from(tenths) / 10.0;
            #[expect(clippy::cast_possible_truncation, reason = "below 2^30")]
            let missing = round.threshold.steps() - (a * UNIT as f64) as i64;
            let log_p = f64::from(t) * libm::log1p(-noise_tail(round.noise, missing.into()).middle());
            let mu = (policy.norm().lo().powi(2) - f64::from(t) * a * a).max(0.0).sqrt() / sigma;
            let gauss = |e: f64| dpsel_exact::accounting::gaussian::delta(Interval::point(e), Interval::point(mu)).middle();
            let with_user = -libm::expm1(log_p) + libm::exp(log_p) * gauss(epsilon - log_p);
            prop_assert!(with_user <= delta * (1.0 + 1e-6) && gauss(epsilon + log_p) <= delta * (1.0 + 1e-6));
        }
    }
}

#[test]
fn no_gaussian_noise_without_a_proved_norm() {
    let bound = L0Bound::new(9).unwrap();
    let sigma = |weighting| match gaussian_noise(weighting, bound, 2.0) {
        Ok(Noise::Gaussian { sigma }) => Some(sigma),
        Ok(Noise::Laplace { .. }) | Err(_) => None,
    };
    assert_eq!(sigma(Weighting::EqualL2), Some(2.0));
    assert!(sigma(Weighting::Count).is_some_and(|sigma| (6.0..6.000_000_1).contains(&sigma)));
    assert_eq!(sigma(Weighting::EqualL1), None);
    assert_eq!(sigma(Weighting::Greedy(Greedy { cutoff: UNIT })), None);
}
