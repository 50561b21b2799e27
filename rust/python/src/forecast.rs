//! Forecasts without data: keep probabilities, numbers of users, and the loss of a top-k.

use dpsel_core::look::Quantile;
use dpsel_core::mechanisms::forecast;
use dpsel_core::rounds::{Calibration, Lowered};
use dpsel_core::task::loss_bound;
use dpsel_core::threshold::curve::{Curve, CurveSpec};
use dpsel_exact::Error;
use pyo3::prelude::*;

use crate::error::guarded;
use crate::request::{parse_select, parse_top_k};

/// The probability of release of an item of each number of users, who have `items_per_user` items each.
#[pyfunction]
pub(crate) fn keep_probabilities(
    request_json: &str,
    items_per_user: u32,
    users: Vec<u64>,
) -> PyResult<Vec<f64>> {
    let (calibration, lowered) = calibration_of(request_json)?;
    let keep = |users| forecast::keep_probability(&calibration, lowered, users, items_per_user);
    guarded(|| Ok(users.into_iter().map(keep).collect()))
}

/// The fewest users for each probability of release; `None` if no number of users reaches it.
#[pyfunction]
pub(crate) fn users_needed(
    request_json: &str,
    items_per_user: u32,
    probabilities: Vec<f64>,
) -> PyResult<Vec<Option<u64>>> {
    let (calibration, lowered) = calibration_of(request_json)?;
    let needed = |probability| forecast::users_needed(&calibration, lowered, items_per_user, probability);
    guarded(|| Ok(probabilities.into_iter().map(needed).collect()))
}

/// An upper bound of the loss of a top-k among `items` items, which holds with this probability.
#[pyfunction]
pub(crate) fn top_k_loss(request_json: &str, items: u64, probability: f64) -> PyResult<Option<f64>> {
    let request = parse_top_k(request_json)?;
    guarded(|| loss_bound(&request, items, probability))
}

/// The limits between which a look chooses, the epsilon of the look, and the budget of the selection as JSON.
#[pyfunction]
pub(crate) fn possible_limits(request_json: &str) -> PyResult<(Vec<u32>, f64, String)> {
    let request = parse_select(request_json)?;
    guarded(|| {
        let quantile = request.quantile.ok_or(Error::Internal("the limit is a number"))?;
        let (epsilon, rest) = quantile.parts(request.privacy)?;
        let rest = serde_json::to_string(&rest).map_err(|_| Error::Internal("a budget is no JSON"))?;
        Ok((Quantile::sizes(request.max_items_per_user), epsilon, rest))
    })
}

/// Calibrate the request of a selection.
fn calibration_of(request_json: &str) -> PyResult<(Calibration, Lowered)> {
    let request = parse_select(request_json)?;
    guarded(|| Ok((request.calibrate()?, request.lowered())))
}

/// The table of a release curve in a report: the number of the 2^128 words that release an item of 0, 1, ... quanta.
/// Beyond the end of the table all words do.
#[pyfunction]
pub(crate) fn curve_words(spec_json: &str) -> PyResult<Vec<u128>> {
    guarded(|| {
        let spec: CurveSpec = serde_json::from_str(spec_json).map_err(|e| Error::Report(e.to_string()))?;
        Ok(Curve::of(spec.curve, spec.quantum)?.words().to_vec())
    })
}
