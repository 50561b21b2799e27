//! A request together with the numbers that meet it.

use dpsel_exact::accounting::{Cost, Guarantee, L0Bound};
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::select::SelectRequest;
use super::top_k::TopKRequest;
use crate::counting::{Paid, PublishedRest, RestNoise, RestSums};
use crate::look::{FoundLimit, Quantile};
use crate::mechanisms::Looked;
use crate::rounds::Calibration;
use crate::top_k::TopKCalibration;

/// A request and the numbers that meet it. No data goes into them, but for the noisy numbers of a look and of the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibrated<R, C> {
    /// The parameters of the caller.
    pub request: R,
    /// What a look at the data showed, with noise, if the request asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<Look>,
    /// Noise scales, rates and thresholds.
    pub calibration: C,
    /// The noisy numbers of what the released list covers, if the request asks for them and there is a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<PublishedRest>,
}

impl<R, C> Calibrated<R, C> {
    /// Before any data is read.
    #[must_use]
    pub fn of(request: R, calibration: C) -> Self {
        Self { request, look: None, calibration, rest: None }
    }
}

/// What a look at the data showed, and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Look {
    /// Which lists users have, and so which mechanism runs.
    Lists(Looked),
    /// The limit of items.
    Limit(FoundLimit),
}

impl Look {
    /// The noisy numbers that it showed.
    fn numbers(&self) -> Vec<i64> {
        match self {
            Self::Lists(looked) => vec![looked.score],
            Self::Limit(found) => found.users.clone(),
        }
    }
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

impl CalibratedSelect {
    /// A selection with the rounds of its mechanism, or of the mechanism or limit that these noisy numbers choose.
    ///
    /// `None` if there are numbers and nothing looks, or the other way round, or if their number is another one.
    ///
    /// # Errors
    /// As [`SelectRequest::calibrate`].
    pub(super) fn after(request: SelectRequest, numbers: Option<Vec<i64>>) -> Result<Option<Self>> {
        let (look, calibration) = match (request.mechanism.choice(), &request.quantile, numbers) {
            (None, None, None) => (None, request.calibrate_once()?),
            (Some(choice), None, Some(numbers)) => {
                let [score] = numbers[..] else { return Ok(None) };
                let look = choice.looked(request.privacy, score)?;
                let calibration = request.chosen(choice, look.lists)?.calibrate_once()?;
                (Some(Look::Lists(look)), calibration)
            }
            (None, Some(quantile), Some(users)) => {
                let found = quantile.found(request.privacy, request.max_items_per_user, users)?;
                let Some(found) = found else { return Ok(None) };
                let calibration = request.limited(quantile, found.limit)?.calibrate_once()?;
                (Some(Look::Limit(found)), calibration)
            }
            (None, None, Some(_)) | (Some(_), _, _) | (None, Some(_), None) => return Ok(None),
        };
        Ok(Some(Self { request, look, calibration, rest: None }))
    }

    /// The same with the noisy numbers of what the released list covers, if the request asks for them.
    ///
    /// # Errors
    /// [`Error::Internal`] for numbers that nobody asked for, or none where there should be some.
    pub(super) fn with_rest(self, sums: Option<RestSums>, key: &ReleaseKey) -> Result<Self> {
        let rest = match (&self.calibration.rest, sums) {
            (None, None) => None,
            (Some(noise), Some(sums)) => Some(noise.published(&sums, key)),
            (None, Some(_)) | (Some(_), None) => {
                return Err(Error::Internal("numbers of the rest do not fit the request"));
            }
        };
        Ok(Self { rest, ..self })
    }

    /// The most items that a user keeps.
    ///
    /// # Errors
    /// As [`SelectRequest::item_bound`].
    pub(crate) fn item_bound(&self) -> Result<L0Bound> {
        match (self.request.mechanism.choice(), &self.request.quantile, &self.look) {
            (Some(choice), _, Some(Look::Lists(look))) => {
                self.request.chosen(choice, look.lists)?.item_bound()
            }
            (_, Some(quantile), Some(Look::Limit(found))) => {
                self.request.limited(quantile, found.limit)?.item_bound()
            }
            (_, _, Some(Look::Lists(_) | Look::Limit(_)) | None) => self.request.item_bound(),
        }
    }
}

impl Enforced {
    /// The theorem of the mechanism.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        match self {
            Self::Select(select) => {
                let of_items = select.request.mechanism.as_mechanism().guarantee();
                // A look is part of the guarantee of items, and what it chooses may have numbers in its rounds.
                let paid = select
                    .calibration
                    .numbers()
                    .paid()
                    .filter(|_| select.request.mechanism.choice().is_none());
                match paid {
                    Some(Paid::Together) => Guarantee { neighbours: of_items.neighbours, ..Paid::GUARANTEE },
                    Some(Paid::Apart) | None => of_items,
                }
            }
            Self::TopK(top_k) => {
                let request = &top_k.request;
                request.mechanism.as_mechanism().guarantee(request.neighbours)
            }
        }
    }

    /// How counts of users are part of the guarantee, in one sentence, if they are published.
    #[must_use]
    pub fn of_counts(&self) -> Option<&'static str> {
        match self {
            Self::Select(select) => select.calibration.counts.map(|counts| counts.paid.statement()),
            Self::TopK(top_k) => {
                top_k.calibration.discovery.as_ref()?.counts.map(|counts| counts.paid.statement())
            }
        }
    }

    /// How the numbers of what the list covers are part of the guarantee, in one sentence, if they are published.
    #[must_use]
    pub fn of_rest(&self) -> Option<&'static str> {
        match self {
            Self::Select(select) => select.calibration.rest.map(|_| RestNoise::STATEMENT),
            Self::TopK(_) => None,
        }
    }

    /// How a limit that was found in the data is part of the guarantee, in one sentence, if there is one.
    #[must_use]
    pub fn of_limit(&self) -> Option<&'static str> {
        match self {
            Self::Select(select) => select.request.quantile.map(|_| Quantile::STATEMENT),
            Self::TopK(_) => None,
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
            Self::Select(Calibrated { request, look, calibration, rest }) => {
                let request = request.clone().validate()?;
                let numbers = look.as_ref().map(Look::numbers);
                let Some(expected) = CalibratedSelect::after(request, numbers)? else {
                    return Ok(vec!["there is a look, or none, other than the request calls for".into()]);
                };
                let mut differences = calibration.differences(&expected.calibration);
                if *look != expected.look {
                    differences
                        .push("the look is not what its noisy numbers and the request call for".into());
                }
                let noise = expected.calibration.rest;
                if rest.is_some() != noise.is_some() {
                    differences.push(
                        "there are numbers of the rest, or none, other than the request calls for".into(),
                    );
                } else if *rest != rest.zip(noise).and_then(|(rest, noise)| noise.derived_again(&rest)) {
                    differences
                        .push("the coverage is not what its noisy numbers and the request call for".into());
                }
                let mechanism = expected.request.mechanism.as_mechanism();
                differences.extend(mechanism.properties().flaw.map(str::to_owned));
                Ok(differences)
            }
            Self::TopK(Calibrated { request, look, calibration, rest }) => {
                let mut differences = calibration.differences(&request.clone().validate()?.calibrate()?);
                differences.extend(look.as_ref().map(|_| "a top-k has no look".to_owned()));
                differences.extend(rest.as_ref().map(|_| "a top-k has no rest".to_owned()));
                Ok(differences)
            }
        }
    }
}
