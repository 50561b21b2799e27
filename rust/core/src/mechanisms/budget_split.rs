//! Rounds that leave a part of the budget to counts of the users of what they release.
//!
//! Theorems and proofs: `docs/algorithms/counts.md`. Counts are Gaussian noise on a vector that one user moves by at
//! most a norm that is known beforehand, whatever was released.

use dpsel_exact::accounting::gaussian::largest_mu;
use dpsel_exact::accounting::{DECISION_SLACK, L0Bound, Privacy, minimise};
use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::{Interval, add_up, mul_down, mul_up, sqrt_down, sub_down};
use dpsel_exact::{Error, Result};

use super::ReleaseStep;
use super::shared::requirements::{TOO_FINE, value_slack, with_reserve};
use crate::counting::{CountNoise, NumbersAsked, Paid};
use crate::rounds::{Calibration, Rule};

/// The most items whose decisions one user can change: the number of codes.
const ALL_ITEMS: f64 = (1_u64 << 32) as f64;

/// Rounds and counts with budgets of their own.
///
/// Under approximate DP epsilon and delta are divided, under zCDP rho is. `calibrate` returns the rounds for a budget.
///
/// # Contract
/// If the rounds meet the budget they are given, rounds and counts together meet `privacy`.
///
/// # Errors
/// [`Error::Incompatible`] under pure DP, [`Error::Calibration`] if a part is nothing; the errors of `calibrate`.
pub(super) fn apart(
    privacy: Privacy,
    bound: L0Bound,
    asked: &NumbersAsked,
    calibrate: impl Fn(Privacy) -> Result<Calibration>,
) -> Result<Calibration> {
    asked.validate()?;
    match privacy.validate()? {
        Privacy::PureDp { .. } => Err(no_pure_numbers(asked)),
        Privacy::ApproxDp { epsilon, delta } => {
            let of_counts = (part(epsilon, asked)?, part(delta, asked)?);
            let left = |all, spent| left_of(all, spent, asked);
            let rounds =
                Privacy::ApproxDp { epsilon: left(epsilon, of_counts.0)?, delta: left(delta, of_counts.1)? };
            let noise = with_reserve(of_counts.1, delta_factor(epsilon), |delta| {
                let mu = largest_mu(of_counts.0, delta)?;
                let noise = asked.noise(mu, Paid::Apart)?;
                Ok((noise, noise.slack()))
            })?;
            Ok(calibrate(rounds)?.with_numbers(noise))
        }
        Privacy::Zcdp { rho, delta } => {
            let of_counts = part(rho, asked)?;
            let mu = sqrt_down(mul_down(2.0, of_counts));
            let noise = asked.noise(mu, Paid::Together)?;
            with_reserve(delta, 1.0, |left| {
                let rounds = calibrate(Privacy::Zcdp { rho: left_of(rho, of_counts, asked)?, delta: left })?;
                let slack = add_up(rounds_slack(&rounds, bound), noise.slack());
                Ok((rounds.with_numbers(noise), slack))
            })
        }
    }
}

/// Rounds of Gaussian noise and thresholds, and counts as one Gaussian round more.
///
/// The rounds are those of zCDP: together they move means by at most sqrt(2 rho) standard deviations, and thresholds fail
/// with probability at most delta. Under approximate DP that is composed exactly with the counts. `calibrate` is the
/// calibration of a mechanism for which `docs/algorithms/counts.md`, Theorem 2, is stated.
///
/// # Errors
/// As [`apart`].
pub(super) fn one_more_round(
    privacy: Privacy,
    bound: L0Bound,
    asked: &NumbersAsked,
    calibrate: impl Fn(Privacy) -> Result<Calibration>,
) -> Result<Calibration> {
    let Privacy::ApproxDp { epsilon, delta } = privacy.validate()? else {
        return apart(privacy, bound, asked, calibrate);
    };
    asked.validate()?;
    let divided = |delta: f64, of_thresholds: f64| {
        let thresholds = mul_down(delta, of_thresholds);
        let (total, spent) = (Interval::point(delta), Interval::point(thresholds));
        let mu = largest_mu(epsilon, ((total - spent) / (Interval::ONE - spent)).lo())?;
        let rho = mul_down(0.5, mul_down(mul_down(mu, mu), sub_down(1.0, asked.share())));
        Ok((calibrate(Privacy::Zcdp { rho, delta: thresholds })?, mul_down(mu, sqrt_down(asked.share()))))
    };
    // Otherwise: a division without a calibration, or without a threshold, is never the best.
    let last = |of: f64| divided(delta, of).ok().and_then(last_threshold).unwrap_or(f64::INFINITY);
    let best = minimise(last, 0.1, 0.7, 4, 6);
    with_reserve(delta, delta_factor(epsilon), |left| {
        let (rounds, mu) = divided(left, best)?;
        let noise = asked.noise(mu, Paid::Together)?;
        let slack = add_up(rounds_slack(&rounds, bound), noise.slack());
        Ok((rounds.with_numbers(noise), slack))
    })
}

/// Rounds of Gaussian noise and thresholds, or of release curves, and counts.
///
/// # Errors
/// As [`apart`].
pub(super) fn of_step(
    step: ReleaseStep,
    privacy: Privacy,
    bound: L0Bound,
    asked: &NumbersAsked,
    calibrate: impl Fn(Privacy) -> Result<Calibration>,
) -> Result<Calibration> {
    match step {
        ReleaseStep::Noise => one_more_round(privacy, bound, asked, calibrate),
        ReleaseStep::Curve => apart(privacy, bound, asked, calibrate),
    }
}

/// The error of a request with counts, in words about counts if they are the reason: if the same request has a
/// calibration without them, the mechanism is not.
///
/// `alone` is the calibration without counts, for the whole budget.
pub(crate) fn blamed(
    error: Error,
    asked: &NumbersAsked,
    alone: impl FnOnce() -> Result<Calibration>,
) -> Error {
    let Error::Calibration { fix, .. } = error else { return error };
    match (alone(), fix) {
        (Err(without), _) => without,
        (Ok(_), CountNoise::TOO_NOISY) => error,
        (Ok(_), TOO_FINE) => Error::Calibration {
            what: format!(
                "{} at an epsilon this large, because their noise has a precision of 128 bits",
                asked.options()
            ),
            fix: if asked.rest.is_some() {
                "lower epsilon, raise delta, or leave rest= out, and counts="
            } else {
                "lower epsilon, raise delta, or leave counts= out"
            },
        },
        (Ok(_), _) => nothing_left(asked),
    }
}

/// The threshold of the last round, if it has one.
fn last_threshold((rounds, _): (Calibration, f64)) -> Option<f64> {
    rounds.rounds.last()?.rule.noisy().map(|rule| rule.threshold.value())
}

/// Upper bound of the total variation of the decisions of all rounds to exact ones.
fn rounds_slack(rounds: &Calibration, bound: L0Bound) -> f64 {
    let slack = |rule: &Rule| match rule {
        Rule::Scoring(scoring) => match scoring.noise {
            Noise::Gaussian { sigma: scale } | Noise::Laplace { scale } => value_slack(scale, bound),
        },
        Rule::Noisy(_) | Rule::Curve(_) | Rule::Screening(_) | Rule::Ranking(_) => {
            mul_up(ALL_ITEMS, DECISION_SLACK)
        }
    };
    rounds.rounds.iter().map(|round| slack(&round.rule)).fold(0.0, add_up)
}

/// The cost in delta of a total variation of 1 on both sides.
pub(super) fn delta_factor(epsilon: f64) -> f64 {
    add_up(1.0, Interval::point(epsilon).exp().hi())
}

/// The part of a number that counts take.
fn part(whole: f64, asked: &NumbersAsked) -> Result<f64> {
    let part = mul_down(whole, asked.share());
    if part > 0.0 { Ok(part) } else { Err(no_part(asked)) }
}

/// What is left of a number.
fn left_of(whole: f64, spent: f64, asked: &NumbersAsked) -> Result<f64> {
    let left = sub_down(whole, spent);
    if left > 0.0 { Ok(left) } else { Err(nothing_left(asked)) }
}

fn nothing_left(asked: &NumbersAsked) -> Error {
    Error::Calibration {
        what: format!("the items with what {} leaves of the budget", asked.options()),
        fix: "lower share, or raise epsilon or rho",
    }
}

fn no_part(asked: &NumbersAsked) -> Error {
    let what = format!("{} with no part of the budget", asked.options());
    Error::Calibration { what, fix: CountNoise::TOO_NOISY }
}

fn no_pure_numbers(asked: &NumbersAsked) -> Error {
    Error::Incompatible {
        what: format!("{} adds Gaussian noise, which has no guarantee under PureDP", asked.options()),
        fix: "use ApproxDP(epsilon=..., delta=...) or ZCDP(rho=..., delta=...)",
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::gaussian::delta_upper;

    use super::*;
    use crate::counting::{CountedUsers, Rest};
    use crate::mechanisms::{
        CountGaussian, CountLaplace, Mechanism, OneItem, PolicyGaussian, Sips, UnitGreedy, WeightedGaussian,
    };

    const SHARES: [f64; 3] = [0.01, 0.2, 0.9];

    fn bound(items: u64) -> L0Bound {
        L0Bound::new(items).unwrap()
    }

    fn counts(share: f64, items: u64) -> NumbersAsked {
        let max_counted_items = bound(items);
        let counts = CountedUsers { share, max_counted_items, nonnegative: false, max_rows_per_item: None };
        NumbersAsked { counts: Some(counts), rest: None }
    }

    fn approx(epsilon: f64, delta: f64) -> Privacy {
        Privacy::ApproxDp { epsilon, delta }
    }

    fn gaussian() -> [Box<dyn Mechanism>; 5] {
        [
            Box::new(WeightedGaussian::default()),
            Box::new(CountGaussian {}),
            Box::new(PolicyGaussian { alpha: 3.0, passes: 1, release: ReleaseStep::Noise }),
            Box::new(Sips::default()),
            Box::new(Sips { rounds: 1, ..Sips::default() }),
        ]
    }

    /// Of what is certified for the release as a whole: distance of means and thresholds, with the counts.
    #[test]
    fn gaussian_rounds_and_counts_are_within_delta_together() {
        for (epsilon, delta) in [(0.1, 1e-6), (1.0, 1e-5), (6.0, 1e-9)] {
            for (share, mechanism) in
                SHARES.into_iter().flat_map(|share| gaussian().map(|each| (share, each)))
            {
                for (items, counted) in [(1, 1), (30, 7), (300, 3000)] {
                    let asked = counts(share, counted);
                    let found =
                        mechanism.calibrate_beside(approx(epsilon, delta), bound(items), &asked).unwrap();
                    let part = found.gaussian_part(bound(items)).unwrap();
                    let total = part.delta + (1.0 - part.delta) * delta_upper(epsilon, part.mu);
                    assert!(total <= delta && total > 0.98 * delta, "{share} {items} {total} {delta}");
                    let moved = found.counts.unwrap().mu();
                    assert!((moved * moved / (part.mu * part.mu) - share).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn under_zcdp_rho_is_divided() {
        let (rho, delta) = (0.1, 1e-5);
        for (share, mechanism) in SHARES.into_iter().flat_map(|share| gaussian().map(|each| (share, each))) {
            let found = mechanism
                .calibrate_beside(Privacy::Zcdp { rho, delta }, bound(30), &counts(share, 100))
                .unwrap();
            let (part, moved) = (found.gaussian_part(bound(30)).unwrap(), found.counts.unwrap().mu());
            assert!(part.mu * part.mu / 2.0 <= rho * (1.0 + 1e-12) && part.mu * part.mu / 2.0 > rho * 0.999);
            assert!((moved * moved / 2.0 / rho - share).abs() < 1e-9 && part.delta <= delta * (1.0 + 1e-6));
        }
    }

    /// The sums of the parts are compared in parts, because sums of f64 are rounded.
    #[test]
    fn other_rounds_and_counts_have_budgets_that_add_up() {
        let (epsilon, delta) = (2.0, 1e-5);
        let mechanisms: [&dyn Mechanism; 4] = [
            &CountLaplace {},
            &UnitGreedy::default(),
            &WeightedGaussian { release: ReleaseStep::Curve },
            &Sips { release: ReleaseStep::Curve, ..Sips::default() },
        ];
        for (share, mechanism) in SHARES.into_iter().flat_map(|share| mechanisms.map(|each| (share, each))) {
            let found =
                mechanism.calibrate_beside(approx(epsilon, delta), bound(9), &counts(share, 9)).unwrap();
            let left = |all: f64| all - share * all;
            let rounds =
                mechanism.calibrate(approx(left(epsilon).next_down(), left(delta).next_down()), bound(9));
            assert_eq!(found.rounds.len(), rounds.unwrap().rounds.len());
            let noise = found.counts.unwrap();
            assert_eq!(noise.paid, Paid::Apart);
            let spent = delta_upper(share * epsilon, noise.mu() * (1.0 - 1e-12));
            assert!(spent <= share * delta && spent > 0.99 * share * delta, "{share}: {spent}");
            let alone = mechanism.calibrate(approx(epsilon, delta), bound(9)).unwrap();
            assert_ne!(found.rounds, alone.rounds, "what counts cost is missing elsewhere");
        }
        let seen = std::cell::RefCell::new(Vec::new());
        let one_item = |privacy: Privacy| {
            seen.borrow_mut().push(privacy);
            OneItem {}.calibrate(privacy, bound(1))
        };
        apart(approx(epsilon, delta), bound(1), &counts(0.25, 1), one_item).unwrap();
        let Some(Privacy::ApproxDp { epsilon, delta }) = seen.take().pop() else { panic!("approximate DP") };
        assert!(epsilon <= 1.5 && epsilon > 1.499_999 && delta <= 0.75e-5 && delta > 0.749_999e-5);
    }

    /// Counts and the rest, or the rest alone.
    fn with_rest(counts_share: Option<f64>, share: f64, rows: Option<u32>) -> NumbersAsked {
        let rest = Some(Rest { share, max_rows_per_user: rows });
        NumbersAsked { counts: counts_share.and_then(|share| counts(share, 7).counts), rest }
    }

    #[test]
    fn the_rest_is_more_coordinates_in_the_same_budget() {
        let asked = [
            (with_rest(None, 0.02, Some(30)), 0.02),
            (with_rest(Some(0.2), 0.02, None), 0.22),
            (with_rest(Some(0.4), 0.5, Some(3)), 0.9),
        ];
        let (epsilon, delta, rho) = (1.0, 1e-5, 0.1);
        for ((asked, share), mechanism) in
            asked.into_iter().flat_map(|asked| gaussian().map(|each| (asked, each)))
        {
            let squares = |found: &Calibration| found.numbers().mus().map(|mu| mu * mu).sum::<f64>();
            let found = mechanism.calibrate_beside(approx(epsilon, delta), bound(30), &asked).unwrap();
            let part = found.gaussian_part(bound(30)).unwrap();
            let total = part.delta + (1.0 - part.delta) * delta_upper(epsilon, part.mu);
            assert!(total <= delta && total > 0.98 * delta, "{total}");
            assert!((squares(&found) / (part.mu * part.mu) - share).abs() < 1e-6);
            let found = mechanism.calibrate_beside(Privacy::Zcdp { rho, delta }, bound(30), &asked).unwrap();
            assert!((squares(&found) / 2.0 / rho - share).abs() < 1e-9);
            let part = found.gaussian_part(bound(30)).unwrap();
            assert!(part.mu * part.mu / 2.0 <= rho * (1.0 + 1e-12));
        }
        let found = CountLaplace {}.calibrate_beside(approx(2.0, 1e-5), bound(9), &asked[2].0).unwrap();
        let noise = found.numbers();
        assert_eq!(noise.paid(), Some(Paid::Apart));
        let mu = noise.mus().map(|mu| mu * mu).sum::<f64>().sqrt();
        let spent = delta_upper(0.9 * 2.0, mu * (1.0 - 1e-12));
        assert!(spent <= 0.9e-5 && spent > 0.99 * 0.9e-5, "{spent}");
    }

    #[test]
    fn errors_name_what_was_asked_for() {
        let said = |privacy, asked| {
            CountGaussian {}.calibrate_beside(privacy, bound(3), &asked).unwrap_err().to_string()
        };
        let pure = Privacy::PureDp { epsilon: 1.0 };
        assert!(said(pure, with_rest(None, 0.02, None)).contains("rest= adds Gaussian noise"));
        assert!(said(pure, with_rest(Some(0.2), 0.02, None)).contains("counts= and rest= adds"));
        let whole = said(approx(1.0, 1e-6), with_rest(Some(0.6), 0.4, None));
        assert!(whole.contains("take the whole budget"), "{whole}");
        assert!(said(approx(1.0, 1e-6), with_rest(None, 1e-20, None)).contains("rest="));
    }

    #[test]
    fn what_cannot_be_divided_is_refused() {
        let pure = Privacy::PureDp { epsilon: 1.0 };
        for mechanism in gaussian() {
            let refused = mechanism.calibrate_beside(pure, bound(3), &counts(0.2, 3));
            assert!(matches!(refused, Err(Error::Incompatible { .. })));
        }
        for share in [0.0, 1.0, f64::NAN] {
            let refused = CountGaussian {}.calibrate_beside(approx(1.0, 1e-6), bound(3), &counts(share, 3));
            assert!(matches!(refused, Err(Error::InvalidParameter { .. })));
        }
        let refused = CountGaussian {}.calibrate_beside(approx(1.0, 1e-6), bound(3), &counts(1e-20, 3));
        assert!(matches!(refused, Err(Error::Calibration { .. })));
    }
}
