//! What the caller of a top-k asks for, as one value that entry points may not rebuild.

use serde::{Deserialize, Serialize};

use super::mechanisms::{Neighbours, Parameters, TopKCalibration, TopKSpec, checked_rate};
use crate::accounting::{L0Bound, Privacy};
use crate::request::Columns;
use crate::rounding::div_down;
use crate::{Error, Result};

/// Name of the column of ranks.
pub(super) const RANK_COLUMN: &str = "rank";
/// Name of the column of noisy counts.
pub(super) const COUNT_COLUMN: &str = "count";

/// The most items that can be asked for.
const MAX_K: u32 = 10_000_000;

/// One call, apart from the data and the key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopKRequest {
    /// Which columns hold what; none where counts came in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Columns>,
    /// Number of items.
    pub k: u32,
    /// The guarantee of the items.
    pub privacy: Privacy,
    /// The mechanism and its parameters.
    pub mechanism: TopKSpec,
    /// Neighbouring tables.
    #[serde(default)]
    pub neighbours: Neighbours,
    /// The most items of one user, if users are bounded.
    #[serde(default)]
    pub max_items_per_user: Option<L0Bound>,
    /// Which items can be in the answer.
    pub domain: Domain,
    /// Which noisy counts are published.
    #[serde(default)]
    pub counts: PublishedCounts,
}

/// Which items can be in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Domain {
    /// A public list.
    Listed,
    /// The listed items and others that nobody holds, so many in all.
    Sized {
        /// Number of items.
        items: u64,
    },
    /// The items of the data, which are secret.
    Unknown,
}

/// Which noisy counts are published.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum PublishedCounts {
    /// None.
    #[default]
    None,
    /// Those that the mechanism has anyway.
    Free,
    /// Discrete Laplace noise on the counts of the answer, at this price.
    Laplace {
        /// Epsilon on top of the guarantee of the items.
        epsilon: f64,
    },
}

impl TopKRequest {
    /// Read from JSON and check every parameter.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] or [`Error::Incompatible`] for parameters out of range, [`Error::Report`] for JSON that is
    /// not a request.
    pub fn from_json(json: &str) -> Result<Self> {
        let request: Self = serde_json::from_str(json).map_err(|e| Error::Report(e.to_string()))?;
        request.validate()
    }

    /// Whether the text is meant to be such a request.
    #[must_use]
    pub fn is_meant(json: &str) -> bool {
        serde_json::from_str::<serde_json::Value>(json).is_ok_and(|request| request.get("k").is_some())
    }

    /// Check every parameter.
    ///
    /// # Errors
    /// As [`TopKRequest::from_json`].
    pub fn validate(self) -> Result<Self> {
        self.privacy.validate()?;
        if let PublishedCounts::Laplace { epsilon } = self.counts {
            Privacy::PureDp { epsilon }.validate()?;
        }
        if !(1..=MAX_K).contains(&self.k) {
            let fix = "it is the number of items that you want";
            return Err(Error::parameter("k", "between 1 and 10,000,000", self.k, fix));
        }
        if let Some(bound) = self.max_items_per_user {
            L0Bound::new(bound.get().into())?;
        }
        self.check_domain()?;
        self.check_counts()?;
        self.check_columns()?;
        Ok(self)
    }

    fn check_domain(&self) -> Result<()> {
        match (self.mechanism.as_mechanism().finds_domain(), self.domain) {
            (true, Domain::Listed | Domain::Sized { .. }) => Err(Error::Incompatible {
                what: "this mechanism finds the items itself, but domain= names them".into(),
                fix: "leave domain out, or use Joint, which is more accurate where the items are public",
            }),
            (false, Domain::Unknown) => Err(Error::Incompatible {
                what: "this mechanism picks from a public list of items; the items of the data are secret"
                    .into(),
                fix: "give domain=[...], or use LimitDomain or Discover",
            }),
            (false, Domain::Sized { items }) if u64::from(self.k) > items => Err(too_few(self.k)),
            (true, Domain::Unknown) | (false, Domain::Listed | Domain::Sized { .. }) => Ok(()),
        }
    }

    fn check_counts(&self) -> Result<()> {
        let free = self.mechanism.as_mechanism().has_free_counts(&self.parameters());
        if self.counts == PublishedCounts::Free && !free {
            return Err(Error::Incompatible {
                what: "this mechanism has no noisy counts that it could publish at no cost".into(),
                fix: "set counts=PureDP(epsilon=...), which is spent on top",
            });
        }
        Ok(())
    }

    fn check_columns(&self) -> Result<()> {
        let Some(columns) = &self.columns else { return Ok(()) };
        columns.validate()?;
        if columns.ngrams.is_some() {
            return Err(Error::Incompatible {
                what: "ngrams= does not apply to a top-k".into(),
                fix: "make the n-grams the rows",
            });
        }
        if let Some(name) = columns.items.iter().find(|name| *name == RANK_COLUMN || *name == COUNT_COLUMN) {
            return Err(Error::Incompatible {
                what: format!(
                    "the answer adds columns 'rank' and 'count', but item= names a column '{name}'"
                ),
                fix: "rename the item column",
            });
        }
        Ok(())
    }

    /// What the calibration depends on.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        Parameters {
            privacy: self.privacy,
            k: self.k,
            neighbours: self.neighbours,
            bound: self.max_items_per_user,
        }
    }

    /// The numbers that meet the request.
    ///
    /// # Errors
    /// As [`super::TopKMechanism::calibrate`].
    pub fn calibrate(&self) -> Result<TopKCalibration> {
        let mut calibration = self.mechanism.as_mechanism().calibrate(&self.parameters())?;
        if let PublishedCounts::Laplace { epsilon } = self.counts {
            // One user changes at most k of the published counts, by 1 each; a swap changes at most 2 c, if users have c.
            // Proof: docs/algorithms/published_counts.md.
            let bound = self.max_items_per_user.filter(|_| calibration.counts_are_bounded());
            let items = bound.map_or(u64::MAX, |bound| match self.neighbours {
                Neighbours::AddRemove => bound.get().into(),
                Neighbours::Swap => 2 * u64::from(bound.get()),
            });
            let sensitivity = items.min(self.k.into());
            calibration.counts_rate = Some(checked_rate(div_down(epsilon, sensitivity as f64))?);
        }
        Ok(calibration)
    }
}

/// There are fewer than k items to choose from.
pub(super) fn too_few(k: u32) -> Error {
    Error::parameter("k", "at most the number of items in the domain", k, "ask for fewer items")
}
