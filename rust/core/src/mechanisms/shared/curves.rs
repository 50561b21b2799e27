//! Rounds that decide by L2 release curves.

use dpsel_exact::Result;
use dpsel_exact::accounting::{Guarantee, L0Bound, Privacy};

use super::requirements::{ADD_OR_REMOVE, no_curve_zcdp, no_pure_dp};
use crate::rounds::{Calibration, Round, Rule};
use crate::threshold::curve::{l2_curve, l2_curves};
use crate::weighting::Weighting;

/// The guarantee of rounds that decide by L2 release curves.
pub(in crate::mechanisms) const CURVE_GUARANTEE: Guarantee = Guarantee {
    statement: "(epsilon, delta)-DP for weights of L2 norm at most 1 and any number of items: each round is approximately \
                Renyi-DP at one order, rounds add, and the sum is converted; the rounds may adapt to what earlier ones released",
    neighbours: ADD_OR_REMOVE,
    source: "after Harrison and Manurangsi 2026; the proof is complete on its page",
    proof: "docs/algorithms/release_curves.md",
};

/// Rounds that decide by release curves, each with its share of the budget.
pub(in crate::mechanisms) fn curve_rounds(
    mechanism: &str,
    privacy: Privacy,
    bound: L0Bound,
    shares: &[f64],
) -> Result<Calibration> {
    let weighting = Weighting::EqualL2;
    match privacy.validate()? {
        Privacy::PureDp { .. } => Err(no_pure_dp(mechanism)),
        Privacy::Zcdp { .. } => Err(no_curve_zcdp(mechanism)),
        Privacy::ApproxDp { epsilon, delta } => {
            let curves = match shares {
                [_] => vec![l2_curve(weighting, bound, epsilon, delta)?],
                _ => l2_curves(weighting, bound, epsilon, delta, shares)?,
            };
            let round = |spec| Round { weighting, rule: Rule::Curve(spec) };
            Ok(Calibration::of(curves.into_iter().map(round).collect()))
        }
    }
}
