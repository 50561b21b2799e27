//! The privacy cost of the finite precision of release decisions.

use super::Privacy;
use crate::numeric::{Interval, add_up, mul_up, sub_down};
use crate::{Error, Result};

/// The most by which the probability of one release decision may differ from the exact one: 2^-127, the contract of
/// [`crate::noise::NoisyThreshold::releases`].
pub const DECISION_SLACK: f64 = 1.0 / (1_u128 << 127) as f64;

/// The most by which the law of one release may differ from that of the mechanism that was proved, as a total
/// variation.
pub const RELEASE_SLACK: f64 = 1e-18;

/// The privacy left for exact decisions after the slack of the real ones.
///
/// Adding or removing a user changes the laws of at most `decisions` decisions in all rounds together
/// (`Weighting::changed_items`), so the real mechanism is within total variation
/// slack = decisions * 2^-127 of one that decides exactly. That adds (1 + e^epsilon) slack to delta (and for
/// approximate zCDP, slack to the probability of failing). It is taken off here.
///
/// # Errors
/// [`Error::Calibration`] if that is more than half of delta: then decisions are too coarse for the request.
pub fn without_decision_slack(privacy: Privacy, decisions: f64) -> Result<Privacy> {
    let slack = mul_up(decisions, DECISION_SLACK);
    let (delta, cost) = match privacy {
        Privacy::PureDp { .. } => return Ok(privacy),
        Privacy::ApproxDp { epsilon, delta } => {
            (delta, mul_up(slack, add_up(1.0, Interval::point(epsilon).exp().hi())))
        }
        Privacy::Zcdp { delta, .. } => (delta, slack),
    };
    if cost > 0.5 * delta {
        return Err(Error::Calibration {
            what: format!(
                "delta = {delta:e}, below what release decisions of 127 bits resolve here ({cost:e})"
            ),
            fix: "raise delta, or lower epsilon or max_items_per_user",
        });
    }
    let delta = sub_down(delta, cost);
    Ok(match privacy {
        Privacy::PureDp { .. } => privacy,
        Privacy::ApproxDp { epsilon, .. } => Privacy::ApproxDp { epsilon, delta },
        Privacy::Zcdp { rho, .. } => Privacy::Zcdp { rho, delta },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slack_is_taken_off_and_too_small_deltas_are_refused() {
        let asked = Privacy::ApproxDp { epsilon: 1.0, delta: 1e-10 };
        let Privacy::ApproxDp { delta, .. } = without_decision_slack(asked, 300.0).unwrap() else {
            unreachable!("the kind stays");
        };
        assert!(delta < 1e-10 && delta > 1e-10 * (1.0 - 1e-15));
        let tiny = Privacy::Zcdp { rho: 1.0, delta: 1e-36 };
        assert!(matches!(without_decision_slack(tiny, 300.0), Err(Error::Calibration { .. })));
        let pure = Privacy::PureDp { epsilon: 1.0 };
        assert_eq!(without_decision_slack(pure, 300.0).unwrap(), pure);
    }
}
