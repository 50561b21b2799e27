//! Parameters, calibration and checking, without data.

use std::collections::BTreeMap;

use dpsel_core::task::{Calibrated, Enforced, Report};
use dpsel_exact::Error;
use dpsel_exact::accounting::conversion::ConvertedPrivacy;
use dpsel_exact::accounting::{Privacy, composed, conversion};
use pyo3::prelude::*;

use crate::error::{guarded, internal};
use crate::request::parse;

/// The numbers that a request is calibrated to, as JSON: the rounds of a selection, or the rates of a top-k.
#[pyfunction]
pub(crate) fn calibrate(request_json: &str) -> PyResult<String> {
    let request = parse(request_json)?;
    let json = match guarded(|| request.calibrate())? {
        Enforced::Select(select) => serde_json::to_string(&select.calibration),
        Enforced::TopK(top_k) => serde_json::to_string(&top_k.calibration),
    };
    json.map_err(|_| internal("a calibration does not serialise"))
}

/// Convert approximate zCDP to (epsilon, delta): the delta for an epsilon, or the epsilon for a delta.
#[pyfunction]
#[pyo3(signature = (rho, delta, *, epsilon=None, target_delta=None, releases=1))]
pub(crate) fn convert_zcdp(
    rho: f64,
    delta: f64,
    epsilon: Option<f64>,
    target_delta: Option<f64>,
    releases: u32,
) -> PyResult<BTreeMap<&'static str, f64>> {
    let converted = guarded(|| match (epsilon, target_delta) {
        (Some(epsilon), None) => conversion::delta_of_zcdp(rho, delta, epsilon, releases),
        (None, Some(target)) => conversion::epsilon_of_zcdp(rho, delta, target, releases),
        _ => Err(Error::Incompatible {
            what: "epsilon and delta cannot both be computed, nor both be given".into(),
            fix: "give exactly one of epsilon and delta; the other one is computed",
        }),
    })?;
    let ConvertedPrivacy { epsilon, delta, alpha } = converted;
    Ok(BTreeMap::from([("epsilon", epsilon), ("delta", delta), ("alpha", alpha)]))
}

/// Refuse a text that is no report. Its numbers are not checked.
#[pyfunction]
pub(crate) fn read_report(report_json: &str) -> PyResult<()> {
    guarded(|| Report::from_json(report_json).map(drop))
}

/// The differences between a report and what its own request calls for: one sentence each, none if all is well.
#[pyfunction]
pub(crate) fn check_report(report_json: &str) -> PyResult<Vec<String>> {
    guarded(|| Report::check_text(report_json))
}

fn privacy_of(kind: &str, values: &[f64]) -> PyResult<Privacy> {
    match (kind, values) {
        ("pure_dp", &[epsilon]) => Ok(Privacy::PureDp { epsilon }),
        ("approx_dp", &[epsilon, delta]) => Ok(Privacy::ApproxDp { epsilon, delta }),
        ("zcdp", &[rho, delta]) => Ok(Privacy::Zcdp { rho, delta }),
        _ => Err(internal("an unknown kind of privacy")),
    }
}

/// The composition of two guarantees, as its kind and its numbers.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned")]
pub(crate) fn composed_privacy(
    first: (String, Vec<f64>),
    second: (String, Vec<f64>),
) -> PyResult<(&'static str, Vec<f64>)> {
    let (first, second) = (privacy_of(&first.0, &first.1)?, privacy_of(&second.0, &second.1)?);
    Ok(match guarded(|| composed(first, second))? {
        Privacy::PureDp { epsilon } => ("pure_dp", vec![epsilon]),
        Privacy::ApproxDp { epsilon, delta } => ("approx_dp", vec![epsilon, delta]),
        Privacy::Zcdp { rho, delta } => ("zcdp", vec![rho, delta]),
    })
}

/// The release of a report as a Gaussian mechanism: mu and the delta beside it, if it has that form.
#[pyfunction]
pub(crate) fn gaussian_part(report_json: &str) -> PyResult<Option<(f64, f64)>> {
    guarded(|| match Report::from_json(report_json)?.enforced {
        Enforced::Select(Calibrated { request, look: None, calibration, .. }) => {
            let part = calibration.gaussian_part(request.item_bound()?);
            Ok(part.map(|part| (part.mu, part.delta)))
        }
        // The noise of a look is no Gaussian noise.
        Enforced::Select(Calibrated { look: Some(_), .. }) | Enforced::TopK(_) => Ok(None),
    })
}
