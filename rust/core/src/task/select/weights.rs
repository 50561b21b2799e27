//! What the publication of noisy weights takes of delta.

use dpsel_exact::accounting::{L0Bound, Privacy, RELEASE_SLACK};
use dpsel_exact::noise::Noise;
use dpsel_exact::numeric::{Interval, add_up, mul_up, sub_down};
use dpsel_exact::{Error, Result};

use crate::rounds::{Calibration, Round};

/// The largest part of delta that may be reserved for publishing weights.
const WEIGHTS_SHARE: f64 = 1.0 / 1024.0;

/// Refuse rounds whose published weights cost more than `reserve` of delta.
pub(super) fn check_slack(
    calibration: &Calibration,
    kept: L0Bound,
    privacy: Privacy,
    reserve: f64,
) -> Result<()> {
    let slack = add_up(weights_slack(calibration, kept), calibration.numbers().slack());
    if slack > RELEASE_SLACK || mul_up(slack, delta_factor(privacy)) > reserve {
        return Err(Error::Calibration {
            what: format!("publishing noisy weights for {reserve:e} of delta"),
            fix: "leave with_weights out, raise delta or epsilon, or lower max_items_per_user",
        });
    }
    Ok(())
}

/// Upper bound of the total variation between the published weights and exact ones: of all items whose weights one user
/// can move, each value of their noise that is told apart is exact up to 2^-128.
pub(super) fn weights_slack(calibration: &Calibration, kept: L0Bound) -> f64 {
    let slack = |round: &Round| {
        let values = noise_values(round.rule.noisy()?.noise, round.values_per_unit());
        let items = round.weighting.changed_items(kept);
        Some(mul_up(mul_up(items, values), 1.0 / 2_f64.powi(128)))
    };
    calibration.rounds.iter().filter_map(slack).fold(0.0, add_up)
}

/// The cost in delta of a total variation of 1 on both sides: 1 + e^epsilon, or 1 under approximate zCDP.
fn delta_factor(privacy: Privacy) -> f64 {
    match privacy {
        Privacy::PureDp { epsilon } | Privacy::ApproxDp { epsilon, .. } => {
            add_up(1.0, Interval::point(epsilon).exp().hi())
        }
        Privacy::Zcdp { .. } => 1.0,
    }
}

/// Upper bound of the number of values that the noise takes: tails beyond 14 standard deviations, or 89 times the
/// scale, are below 2^-128.
fn noise_values(noise: Noise, per_unit: f64) -> f64 {
    let reach = match noise {
        Noise::Gaussian { sigma } => mul_up(14.0, sigma),
        Noise::Laplace { scale } => mul_up(89.0, scale),
    };
    add_up(mul_up(mul_up(2.0, reach), per_unit), 4.0)
}

/// The privacy left when a little of delta, also returned, is kept for publishing noisy weights.
pub(super) fn reserve_for_weights(privacy: Privacy) -> (Privacy, f64) {
    let keep = |delta: f64| {
        let reserve = mul_up(RELEASE_SLACK, delta_factor(privacy)).min(delta * WEIGHTS_SHARE);
        (sub_down(delta, reserve), reserve)
    };
    match privacy {
        Privacy::PureDp { .. } => (privacy, 0.0),
        Privacy::ApproxDp { epsilon, delta } => {
            let (delta, reserve) = keep(delta);
            (Privacy::ApproxDp { epsilon, delta }, reserve)
        }
        Privacy::Zcdp { rho, delta } => {
            let (delta, reserve) = keep(delta);
            (Privacy::Zcdp { rho, delta }, reserve)
        }
    }
}
