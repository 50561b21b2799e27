//! What a plan needs beyond calibrations: keep probabilities and numbers of users. No data.

use dpsel_core::Error;
use dpsel_core::mechanisms::forecast;
use dpsel_core::rounds::Calibration;
use dpsel_core::task::loss_bound;
use dpsel_core::threshold::curve::{Curve, CurveSpec};
use pyo3::prelude::*;

use crate::error::guarded;
use crate::request::{parse_select, parse_top_k};

/// The probability that an item of so many users, each with so many items, is released.
#[pyfunction]
pub(crate) fn keep_probabilities(
    request_json: &str,
    items_per_user: u32,
    users: Vec<u64>,
) -> PyResult<Vec<f64>> {
    let calibration: Calibration = calibration_of(request_json)?;
    let keep = |users| forecast::keep_probability(&calibration, users, items_per_user);
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
    let needed = |probability| forecast::users_needed(&calibration, items_per_user, probability);
    guarded(|| Ok(probabilities.into_iter().map(needed).collect()))
}

/// An upper bound of the loss of a top-k among `items` items, which holds with this probability.
#[pyfunction]
pub(crate) fn top_k_loss(request_json: &str, items: u64, probability: f64) -> PyResult<Option<f64>> {
    let request = parse_top_k(request_json)?;
    guarded(|| loss_bound(&request, items, probability))
}

/// Calibrate the request of a selection.
fn calibration_of(request_json: &str) -> PyResult<Calibration> {
    let request = parse_select(request_json)?;
    guarded(|| request.calibrate())
}

/// The table of a release curve as it stands in a report: how many of the 2^128 words release an item of 0, 1, ... quanta.
/// Beyond the end all of them do.
#[pyfunction]
pub(crate) fn curve_words(spec_json: &str) -> PyResult<Vec<u128>> {
    guarded(|| {
        let spec: CurveSpec = serde_json::from_str(spec_json).map_err(|e| Error::Report(e.to_string()))?;
        Ok(Curve::of(spec.curve, spec.quantum)?.words().to_vec())
    })
}
