//! What a plan needs beyond calibrations: keep probabilities and numbers of users. No data.

use dpsel_core::mechanisms::{Calibration, outlook};
use pyo3::prelude::*;

use crate::accounting::calibration_of;
use crate::error::guarded;

/// The probability that an item of so many users, each with so many items, is released.
#[pyfunction]
pub(crate) fn keep_probabilities(
    request_json: &str,
    items_per_user: u32,
    users: Vec<u64>,
) -> PyResult<Vec<f64>> {
    let calibration: Calibration = calibration_of(request_json)?;
    let keep = |users| outlook::keep_probability(&calibration, users, items_per_user);
    guarded(|| Ok(users.into_iter().map(keep).collect()))
}

/// The fewest users that make a release at least so likely; `None` if no number of users does.
#[pyfunction]
pub(crate) fn users_needed(
    request_json: &str,
    items_per_user: u32,
    probabilities: Vec<f64>,
) -> PyResult<Vec<Option<u64>>> {
    let calibration: Calibration = calibration_of(request_json)?;
    let needed = |probability| outlook::users_needed(&calibration, items_per_user, probability);
    guarded(|| Ok(probabilities.into_iter().map(needed).collect()))
}
