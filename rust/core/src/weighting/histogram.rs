//! The weighted histogram of one round.

use crate::bounding::BoundedContributions;
use crate::control::Control;
use crate::weighting::Weighting;

/// Sum of the weights of each item code, in integer units.
#[derive(Debug)]
pub struct WeightHistogram {
    pub(crate) weights: Vec<u64>,
}

/// Every user gives its weight to each of its bounded items.
pub fn weigh(
    contributions: &BoundedContributions,
    weighting: Weighting,
    control: &Control,
) -> WeightHistogram {
    let _ = (contributions, weighting, control);
    todo!()
}
