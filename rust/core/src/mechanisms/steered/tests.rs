//! Costs of the rounds against formulas, and what is refused.

use dpsel_exact::accounting::gaussian::{composed_mu, delta_upper};
use dpsel_exact::numeric::UNIT;

use super::*;
use crate::rounds::NoiseCheck;
use crate::threshold::calibration::noise_tail;
use crate::weighting::{Allowance, Allowances};

fn scoring(calibration: &Calibration) -> (Vec<&Scoring>, &Publish) {
    calibration.scoring().unwrap()
}

/// For each round its noise in units of a norm of one, its share being the norm.
fn sigmas(calibration: &Calibration) -> Vec<f64> {
    let sigma = |round: &&Scoring| match round.noise {
        Noise::Gaussian { sigma } => sigma / fraction(round.share),
        Noise::Laplace { .. } => f64::NAN,
    };
    scoring(calibration).0.iter().map(sigma).collect()
}

/// The probability that the noise of one of `items` items lies between `from` and `to`, in grid steps.
fn novel(publish: &Publish, items: u32, from: i128, to: Option<i128>) -> f64 {
    let tail = |steps| noise_tail(publish.score_noise, steps).hi();
    let q = tail(from) - to.map_or(0.0, tail);
    -libm::expm1(f64::from(items) * libm::log1p(-q))
}

#[test]
fn delta_pays_for_noise_and_publication_of_users_of_every_size() {
    for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-5), (1.765, 4.96e-5), (8.0, 1e-6), (0.5, 0.5), (20.0, 0.1)]
    {
        for bound in [1, 2, 10, 300, 3000, 1_000_000] {
            for rounds in [1, 3, 30, 256] {
                let privacy = Privacy::ApproxDp { epsilon, delta };
                let bound = L0Bound::new(bound).unwrap();
                let calibration = Steered { rounds, ..Steered::default() }.calibrate(privacy, bound).unwrap();
                let (found, publish) = scoring(&calibration);
                assert_eq!(found.iter().map(|round| round.share).sum::<u32>(), SHARES);
                assert_eq!(publish.noise_check, NoiseCheck::BelowThreshold);
                let mu = composed_mu(sigmas(&calibration));
                // The rest is reserved for the finite precision of the noise: 2^-20 of delta, or what it costs.
                let cost = (1.0 + libm::exp(epsilon)) * total_slack(&calibration, bound);
                let left = (delta - cost).min(delta * (1.0 - 0.5_f64.powi(20)));
                let threshold = i128::from(publish.threshold.steps());
                for size in &publish.sizes {
                    let norm = size.norm as f64 / UNIT as f64;
                    let end = threshold + i128::from(rounds);
                    let novel = novel(publish, size.items, threshold - i128::from(size.cap), Some(end));
                    let total = novel + delta_upper(epsilon, norm * mu);
                    assert!(total <= left * (1.0 + 1e-12), "{size:?} {total} {delta}");
                    let is_largest = size.norm == crate::weighting::LARGEST_NORM;
                    let is_at_threshold = i128::from(size.cap) + 1 >= threshold;
                    assert!(
                        total > delta * 0.99 || is_largest || is_at_threshold,
                        "{size:?} {total} {delta}"
                    );
                    assert!(i128::from(size.cap) <= threshold && size.cap <= size.norm);
                }
                assert!(publish.sizes.is_sorted_by_key(|size| size.items));
                let reference = approx_dp::reference(bound);
                let norm = publish.sizes.iter().find(|size| size.items == reference).map(|size| size.norm);
                assert_eq!(norm, Some(UNIT));
            }
        }
    }
}

/// A user of any size moves the counts by the same distance, beside the one of its norm.
#[test]
fn delta_pays_for_counts_as_well() {
    for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-5), (1.765, 4.96e-5), (8.0, 1e-6)] {
        for (bound, share) in [(1, 0.2), (10, 0.01), (300, 0.2), (300, 0.9), (100_000, 0.4)] {
            let privacy = Privacy::ApproxDp { epsilon, delta };
            let counts = crate::counting::CountedUsers {
                share,
                max_counted_items: L0Bound::new(77).unwrap(),
                nonnegative: false,
                max_rows_per_item: None,
            };
            let kept = L0Bound::new(bound).unwrap();
            let calibration = Steered::default()
                .calibrate_beside(
                    privacy,
                    kept,
                    &crate::counting::NumbersAsked { counts: Some(counts), rest: None },
                )
                .unwrap();
            let (_, publish) = scoring(&calibration);
            let (mu, moved) = (composed_mu(sigmas(&calibration)), calibration.counts.unwrap().mu());
            // Of the reference user, whose norm is one unit.
            assert!((moved * moved / (moved * moved + mu * mu) - share).abs() < 1e-9);
            let threshold = i128::from(publish.threshold.steps());
            for size in &publish.sizes {
                let norm = size.norm as f64 / UNIT as f64;
                let novel =
                    novel(publish, size.items, threshold - i128::from(size.cap), Some(threshold + 30));
                let both = (norm * mu * norm * mu + moved * moved).sqrt();
                let total = novel + delta_upper(epsilon, both);
                assert!(total <= delta && total > 0.5 * delta, "{size:?} {total} {delta}");
            }
        }
    }
}

#[test]
fn what_an_item_needs_is_as_computed_for_the_papers_budget() {
    let privacy = Privacy::ApproxDp { epsilon: 1.765, delta: 4.96e-5 };
    let calibration = Steered::default().calibrate(privacy, L0Bound::new(300).unwrap()).unwrap();
    let publish = scoring(&calibration).1;
    assert!((publish.threshold.value() - 11.09).abs() < 0.01, "{}", publish.threshold.value());
    let needed = |items: u32| {
        let size = publish.sizes.iter().find(|size| size.items >= items).unwrap();
        publish.threshold.steps() as f64 / size.norm as f64
    };
    for (items, units) in [(1, 10.75), (12, 10.88), (128, 11.11), (300, 11.20)] {
        assert!((needed(items) - units).abs() < 0.01, "{items}: {}", needed(items));
    }
}

#[test]
fn users_give_every_item_a_weight_in_the_first_round() {
    let shares = [1 << 12; 256];
    let size = |items, norm, cap| UserSize { items, norm, cap };
    assert!(gives_weight_first(&size(1 << 20, 1 << 19, 1), &shares));
    assert!(!gives_weight_first(&size(1 << 20, (1 << 19) - 256, 1), &shares));
    assert!(gives_weight_first(&size(1 << 20, 0, 0), &shares), "nothing in any round");
    let first = Allowances::new(vec![(1 << 20, Allowance::new(1 << 19, 1))]).in_round(shares[0])[0];
    assert!(first.spread((1 << 20) * 256 * 256).uncapped(256) >= 1);
}

#[test]
fn noise_that_is_looked_at_too_often_is_refused() {
    let bound = L0Bound::new(1_000_000).unwrap();
    for privacy in
        [Privacy::ApproxDp { epsilon: 1e-3, delta: 1e-10 }, Privacy::Zcdp { rho: 1e-9, delta: 1e-3 }]
    {
        let refused = Steered { rounds: 256, ..Steered::default() }.calibrate(privacy, bound);
        assert!(matches!(refused, Err(Error::Calibration { .. })), "law 4 allows 1e-18");
    }
}

/// At large epsilon finite precision costs e^epsilon times as much. A larger reserve pays for it where it can.
#[test]
fn the_reserve_grows_with_epsilon_up_to_a_part_of_delta() {
    let cost = |(epsilon, delta, items): (f64, f64, u64)| {
        let (privacy, bound) = (Privacy::ApproxDp { epsilon, delta }, L0Bound::new(items).unwrap());
        let calibration = Steered::default().calibrate(privacy, bound)?;
        Ok((1.0 + libm::exp(epsilon)) * total_slack(&calibration, bound) / delta)
    };
    for request in [(25.0, 1e-9, 1000), (12.0, 1e-15, 300), (0.01, 1e-15, 3000), (50.0, 0.9, 300)] {
        let cost = cost(request).unwrap();
        assert!(cost > 0.5_f64.powi(20) && cost <= 0.5_f64.powi(10), "{request:?}: {cost}");
    }
    for request in [(50.0, 1e-5, 1), (40.0, 1e-9, 300)] {
        assert!(matches!(cost(request), Err::<f64, _>(Error::Calibration { .. })), "{request:?}");
    }
}

#[test]
fn zcdp_rounds_cost_rho_and_caps_are_generous_to_small_users() {
    let bound = L0Bound::new(300).unwrap();
    let steered = Steered { rounds: 20, ..Steered::default() };
    let calibration = steered.calibrate(Privacy::Zcdp { rho: 0.1, delta: 1e-5 }, bound).unwrap();
    assert!(composed_mu(sigmas(&calibration)) <= 0.2_f64.sqrt() * (1.0 + 1e-14));
    let publish = scoring(&calibration).1;
    assert_eq!(publish.noise_check, NoiseCheck::Absent, "a condition on the noise has no proof under zCDP");
    assert!((publish.threshold.value() - 12.527).abs() < 1e-2, "{}", publish.threshold.value());
    assert!(publish.sizes.iter().all(|size| size.norm == UNIT));
    assert_eq!(publish.sizes[0].cap, UNIT);
    assert!((publish.sizes.last().unwrap().cap as f64 / UNIT as f64 - 0.4041).abs() < 1e-3);
    let threshold = i128::from(publish.threshold.steps());
    for size in &publish.sizes {
        assert!(novel(publish, size.items, threshold - i128::from(size.cap), None) <= 1e-5);
    }
}

#[test]
fn a_reach_of_one_is_no_part_of_a_report() {
    let json = |steered: &Steered| serde_json::to_string(steered).unwrap();
    assert_eq!(json(&Steered::default()), r#"{"rounds":30}"#);
    let wide = Steered { reach: 3, ..Steered::default() };
    assert_eq!(json(&wide), r#"{"rounds":30,"reach":3}"#);
    for steered in [Steered::default(), wide] {
        assert_eq!(serde_json::from_str::<Steered>(&json(&steered)).unwrap(), steered);
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let privacy = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-30 };
    for (rounds, reach) in [(0, 1), (257, 1), (30, 0), (30, 65)] {
        assert!(matches!(Steered { rounds, reach }.validate(), Err(Error::InvalidParameter { .. })));
    }
    let bound = L0Bound::new(100).unwrap();
    assert!(matches!(Steered::default().calibrate(privacy, bound), Err(Error::Calibration { .. })));
    let weak = Privacy::Zcdp { rho: 1e-30, delta: 0.1 };
    assert!(matches!(Steered::default().calibrate(weak, bound), Err(Error::Calibration { .. })));
    let pure = Privacy::PureDp { epsilon: 1.0 };
    assert!(matches!(Steered::default().calibrate(pure, bound), Err(Error::Incompatible { .. })));
}
