//! A request together with the numbers that meet it.

use serde::{Deserialize, Serialize};

use super::select::SelectRequest;
use super::top_k::TopKRequest;
use crate::Result;
use crate::accounting::{Cost, Guarantee};
use crate::rounds::Calibration;
use crate::top_k::TopKCalibration;

/// A request and the numbers that meet it. No data goes into either.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibrated<R, C> {
    /// The parameters of the caller.
    pub request: R,
    /// Noise scales, rates and thresholds.
    pub calibration: C,
}

/// A selection with its rounds.
pub type CalibratedSelect = Calibrated<SelectRequest, Calibration>;
/// A top-k with its rates.
pub type CalibratedTopK = Calibrated<TopKRequest, TopKCalibration>;

/// The parameters that a release enforces: a calibrated request of a task that makes releases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Enforced {
    /// A partition selection.
    Select(CalibratedSelect),
    /// A top-k.
    TopK(CalibratedTopK),
}

impl Enforced {
    /// The theorem of the mechanism.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        match self {
            Self::Select(select) => select.request.mechanism.as_mechanism().guarantee(),
            Self::TopK(top_k) => {
                let request = &top_k.request;
                request.mechanism.as_mechanism().guarantee(request.neighbours)
            }
        }
    }

    /// The cost of the call.
    ///
    /// # Errors
    /// As [`Cost::with_counts`].
    pub fn cost(&self) -> Result<Cost> {
        match self {
            Self::Select(select) => Ok(Cost::of_items(select.request.privacy, Cost::ADD_REMOVE)),
            Self::TopK(top_k) => top_k.request.cost(),
        }
    }

    /// Calibrate the request again: one sentence for each number that differs, and for a mechanism without a proof.
    ///
    /// # Errors
    /// As [`SelectRequest::calibrate`] and [`TopKRequest::calibrate`], and for parameters out of range.
    pub fn differences(&self) -> Result<Vec<String>> {
        match self {
            Self::Select(Calibrated { request, calibration }) => {
                let request = request.clone().validate()?;
                let mut differences = calibration.differences(&request.calibrate_once()?);
                differences.extend(request.mechanism.as_mechanism().properties().flaw.map(str::to_owned));
                Ok(differences)
            }
            Self::TopK(Calibrated { request, calibration }) => {
                Ok(calibration.differences(&request.clone().validate()?.calibrate()?))
            }
        }
    }
}
