//! The cutoff and the parameters of the policy mechanisms.

use dpsel_exact::noise::{Noise, Threshold};
use dpsel_exact::numeric::mul_up;
use dpsel_exact::{Error, Result};

use crate::threshold::curve::{Curve, CurveSpec};
use dpsel_exact::numeric::UNIT;

/// The largest `alpha`.
const MOST_ALPHA: f64 = 1000.0;
/// The most passes.
const MOST_PASSES: u32 = 100;
/// Cutoffs stay below this, so that weights and noise fit an `i64`.
const LARGEST_CUTOFF: f64 = (1_u64 << 61) as f64;

/// Check the parameters of a policy mechanism.
///
/// # Errors
/// [`Error::InvalidParameter`] naming the parameter.
pub(in crate::mechanisms) fn validate(alpha: f64, passes: u32) -> Result<()> {
    if !(0.0..=MOST_ALPHA).contains(&alpha) {
        let fix = "it is how far the cutoff lies above the threshold, or above the weight of even odds; 2 to 5 do well";
        return Err(Error::parameter("alpha", "between 0 and 1000", alpha, fix));
    }
    if !(1..=MOST_PASSES).contains(&passes) {
        let fix = "1 does well; with more, each user comes again with its share of the budget";
        return Err(Error::parameter("passes", "between 1 and 100", passes, fix));
    }
    Ok(())
}

/// The cutoff in grid steps, at least one unit of weight: the weight of even odds, raised by `alpha` distances.
///
/// The distance is from there to the weight of odds 27 : 5, which is one standard deviation for Gaussian noise.
///
/// Every cutoff is private.
///
/// # Errors
/// [`Error::Calibration`] if it does not fit the integer units.
pub(in crate::mechanisms) fn curve_cutoff(spec: CurveSpec, alpha: f64) -> Result<u64> {
    let curve = Curve::of(spec.curve, spec.quantum)?;
    let scale = curve.weight_of(27 << 123).saturating_sub(spec.half).max(spec.quantum);
    in_units(spec.half as f64 + mul_up(alpha, scale as f64))
}

/// threshold + `alpha` scales in integer units, and at least one unit of weight.
///
/// Every cutoff from one unit on is private. Below one a user's unit would not fit into one item.
///
/// # Errors
/// [`Error::Calibration`] if it does not fit the integer units.
pub(in crate::mechanisms) fn cutoff(threshold: Threshold, noise: Noise, alpha: f64) -> Result<u64> {
    let scale = match noise {
        Noise::Gaussian { sigma } => sigma,
        Noise::Laplace { scale } => scale,
    };
    in_units(threshold.steps() as f64 + mul_up(alpha, mul_up(scale, UNIT as f64)))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and below 2^61")]
fn in_units(units: f64) -> Result<u64> {
    if units >= LARGEST_CUTOFF {
        return Err(Error::Calibration {
            what: "a cutoff below 2^31 units of weight".into(),
            fix: "lower alpha, raise epsilon, rho or delta, or lower max_items_per_user",
        });
    }
    Ok((units.ceil().max(0.0) as u64).max(UNIT))
}
