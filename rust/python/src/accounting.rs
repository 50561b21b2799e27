//! Parameters, calibration and checking, without data.

use std::collections::BTreeMap;

use dpsel_core::accounting::conversion::Conversion;
use dpsel_core::accounting::{L0Bound, Privacy, composed, conversion};
use dpsel_core::contributions::ItemOrder;
use dpsel_core::ingest::Columns;
use dpsel_core::mechanisms::{
    GreedyCalibration, GreedyFrequency, MechanismSpec, PolicyGaussian, ReleaseStep, Sips, Steered,
};
use dpsel_core::rounds::Calibration;
use dpsel_core::task::{Report, Request, TopKReport};
use dpsel_core::{Error, Result};
use pyo3::prelude::*;

use crate::error::{guarded, internal, parse_request};

/// The rounds that a request is calibrated to, as JSON.
#[pyfunction]
pub(crate) fn calibrate(request_json: &str) -> PyResult<String> {
    let calibration = calibration_of(request_json)?;
    serde_json::to_string(&calibration).map_err(|_| internal("a calibration does not serialise"))
}

/// Calibrate the mechanism of a request.
pub(crate) fn calibration_of(request_json: &str) -> PyResult<Calibration> {
    let request = parse_request(request_json)?;
    guarded(|| request.calibrate())
}

/// What approximate zCDP guarantees as (epsilon, delta): the delta for an epsilon, or the epsilon for a delta.
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
    let Conversion { epsilon, delta, alpha } = converted;
    Ok(BTreeMap::from([("epsilon", epsilon), ("delta", delta), ("alpha", alpha)]))
}

/// Whether the text is a report, its numbers unchecked.
#[pyfunction]
pub(crate) fn read_report(report_json: &str) -> PyResult<()> {
    guarded(|| {
        if TopKReport::is_meant(report_json) {
            return TopKReport::from_json(report_json).map(drop);
        }
        Report::from_json(report_json).map(drop)
    })
}

/// Where a report differs from what its own request calls for: one sentence each, none if all is well.
#[pyfunction]
pub(crate) fn check_report(report_json: &str) -> PyResult<Vec<String>> {
    guarded(|| {
        if TopKReport::is_meant(report_json) {
            return TopKReport::check_text(report_json);
        }
        Report::check_text(report_json)
    })
}

/// Check the ranges of privacy parameters: epsilon, or epsilon and delta, or rho and delta.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments of Python functions are owned")]
pub(crate) fn validate_privacy(kind: &str, values: Vec<f64>) -> PyResult<()> {
    let privacy = privacy_of(kind, &values)?;
    guarded(|| privacy.validate().map(drop))
}

fn privacy_of(kind: &str, values: &[f64]) -> PyResult<Privacy> {
    match (kind, values) {
        ("pure_dp", &[epsilon]) => Ok(Privacy::PureDp { epsilon }),
        ("approx_dp", &[epsilon, delta]) => Ok(Privacy::ApproxDp { epsilon, delta }),
        ("zcdp", &[rho, delta]) => Ok(Privacy::Zcdp { rho, delta }),
        _ => Err(internal("an unknown kind of privacy")),
    }
}

/// What two guarantees are together, as its kind and its numbers.
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
    guarded(|| {
        if TopKReport::is_meant(report_json) {
            return TopKReport::from_json(report_json).map(|_| None);
        }
        let report = Report::from_json(report_json)?;
        let part = report.calibration.gaussian_part(report.request.max_items_per_user);
        Ok(part.map(|part| (part.mu, part.delta)))
    })
}

/// Check the range of `max_items_per_user`.
#[pyfunction]
pub(crate) fn validate_bound(items: i64) -> PyResult<()> {
    guarded(|| bound(items).map(drop))
}

fn bound(items: i64) -> Result<L0Bound> {
    let fix = "it is a number of distinct items";
    let negative = |_| Error::parameter("max_items_per_user", "between 1 and 10,000,000", items, fix);
    L0Bound::new(u64::try_from(items).map_err(negative)?)
}

/// Check the parameters of `Sips`.
#[pyfunction]
pub(crate) fn validate_sips(rounds: i64, ratio: f64) -> PyResult<()> {
    guarded(|| {
        let rounds = number_of_rounds(rounds, "three are enough nearly always")?;
        request_of(MechanismSpec::Sips(Sips { rounds, ratio, ..Sips::default() }))?.validate().map(drop)
    })
}

/// Check the parameters of `Steered`.
#[pyfunction]
pub(crate) fn validate_steered(rounds: i64) -> PyResult<()> {
    guarded(|| {
        let rounds = number_of_rounds(rounds, "thirty do well")?;
        request_of(MechanismSpec::Steered(Steered { rounds }))?.validate().map(drop)
    })
}

fn number_of_rounds(rounds: i64, fix: &'static str) -> Result<u32> {
    u32::try_from(rounds).map_err(|_| Error::parameter("rounds", "at least 1", rounds, fix))
}

/// Check the parameters of `PolicyLaplace` and `PolicyGaussian`, whose ranges are the same.
#[pyfunction]
pub(crate) fn validate_policy(alpha: f64, passes: i64) -> PyResult<()> {
    guarded(|| {
        let fix = "one pass does well";
        let outside = |_| Error::parameter("passes", "between 1 and 100", passes, fix);
        let passes = u32::try_from(passes).map_err(outside)?;
        let policy = PolicyGaussian { alpha, passes, release: ReleaseStep::Noise };
        request_of(MechanismSpec::PolicyGaussian(policy))?.validate().map(drop)
    })
}

/// Check the parameters of `GreedyFrequency`.
#[pyfunction]
pub(crate) fn validate_greedy_frequency(calibration: &str, alpha: Option<f64>) -> PyResult<()> {
    guarded(|| {
        let calibration = match calibration {
            "curve" => GreedyCalibration::Curve,
            "published" => GreedyCalibration::Published,
            other => {
                let fix = "\"curve\" is private, \"published\" is for reproducing the paper only";
                return Err(Error::parameter(
                    "calibration",
                    "\"curve\" or \"published\"",
                    format!("{other:?}"),
                    fix,
                ));
            }
        };
        let greedy = GreedyFrequency { order: ItemOrder::Counts, calibration, alpha };
        request_of(MechanismSpec::GreedyFrequency(greedy))?.validate().map(drop)
    })
}

/// A request in which everything but the mechanism is certainly valid.
fn request_of(mechanism: MechanismSpec) -> Result<Request> {
    Ok(Request {
        columns: Columns { user: "user".into(), items: vec!["item".into()], ngrams: None },
        privacy: Privacy::Zcdp { rho: 1.0, delta: 0.5 },
        max_items_per_user: bound(1)?,
        mechanism,
        with_weights: false,
        prior: None,
    })
}
