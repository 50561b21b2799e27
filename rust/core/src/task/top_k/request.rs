//! The request of a top-k, as one value that entry points may not rebuild.

use std::sync::Arc;

use dpsel_exact::accounting::{Cost, L0Bound, Privacy, conversion};
use dpsel_exact::numeric::{at_least, div_down, mul_up};
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::{Columns, PublicList};
use dpsel_rows::runtime::Remembered;
use serde::{Deserialize, Serialize};

use crate::top_k::{Neighbours, Parameters, TopKCalibration, TopKSpec, checked_rate, checked_square_rate};

/// Calibrations of the last few parameters.
static RECENT: Remembered<(Parameters, TopKSpec), TopKCalibration> = Remembered::new(64);

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
    /// The names of the columns of users and items; `None` if the input is counts.
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
    /// The most by which one user changes a count; 1 where rows are counted.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub sensitivity: u32,
    /// The most items of one user, if users are bounded.
    #[serde(default)]
    pub max_items_per_user: Option<L0Bound>,
    /// Which items can be in the answer.
    pub domain: Domain,
    /// Which noisy counts are published.
    #[serde(default)]
    pub counts: PublishedCounts,
    /// The public list of items, for rows with [`Domain::Listed`]. Not in a report: no guarantee depends on it.
    #[serde(skip)]
    pub listed: Option<Arc<PublicList>>,
}

const fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

/// Which items can be in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Domain {
    /// A public list.
    Listed,
    /// The listed items and others that nobody holds, `items` of them in all.
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
    /// The counts that the mechanism computes anyway; they cost nothing.
    Free,
    /// Discrete Laplace noise on the counts of the answer, at this price.
    Laplace {
        /// Epsilon on top of the guarantee of the items.
        epsilon: f64,
    },
    /// Discrete Gaussian noise on the counts of the answer, or discrete Laplace noise where that is smaller, at this
    /// price.
    Noise {
        /// Zero-concentrated or approximate differential privacy, on top of the guarantee of the items.
        privacy: Privacy,
    },
}

impl TopKRequest {
    /// Check every parameter.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] or [`Error::Incompatible`] for parameters out of range.
    pub fn validate(self) -> Result<Self> {
        self.privacy.validate()?;
        match self.counts {
            PublishedCounts::None | PublishedCounts::Free => {}
            PublishedCounts::Laplace { epsilon } => drop(Privacy::PureDp { epsilon }.validate()?),
            PublishedCounts::Noise { privacy } => drop(privacy.validate()?),
        }
        if !(1..=MAX_K).contains(&self.k) {
            let fix = "it is the number of items that you want";
            return Err(Error::parameter("k", "between 1 and 10,000,000", self.k, fix));
        }
        if let Some(bound) = self.max_items_per_user {
            L0Bound::new(bound.get().into())?;
        }
        if self.sensitivity == 0 {
            let fix = "it is the most by which one user changes a count";
            return Err(Error::parameter("sensitivity", "at least 1", self.sensitivity, fix));
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
                fix: "give domain=, or use LimitDomain or Discover",
            }),
            (false, Domain::Sized { items }) if u64::from(self.k) > items => {
                Err(too_few(self.k, items, "the domain"))
            }
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
        self.check_counted_rows()?;
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

    /// Refuse parameters that apply to lists of counts only.
    fn check_counted_rows(&self) -> Result<()> {
        if self.neighbours == Neighbours::Any {
            return Err(Error::Incompatible {
                what: "neighbours=\"any\" is about lists of counts, but rows were given, which users hold"
                    .into(),
                fix: "use neighbours=\"swap\": a user for another one changes counts in either direction",
            });
        }
        if self.sensitivity != 1 {
            return Err(Error::Incompatible {
                what: "sensitivity= is about lists of counts, but rows were given, each user of which counts once"
                    .into(),
                fix: "leave sensitivity out",
            });
        }
        Ok(())
    }

    /// The parameters on which the calibration depends.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        Parameters {
            privacy: self.privacy,
            k: self.k,
            neighbours: self.neighbours,
            sensitivity: self.sensitivity,
            bound: self.max_items_per_user,
        }
    }

    /// The cost of the call: its items, and its counts if these have a budget of their own.
    ///
    /// # Errors
    /// As [`Cost::with_counts`].
    pub fn cost(&self) -> Result<Cost> {
        let neighbours = self.neighbours.name();
        match self.counts {
            PublishedCounts::None | PublishedCounts::Free => Ok(Cost::of_items(self.privacy, neighbours)),
            PublishedCounts::Laplace { epsilon } => {
                Cost::with_counts(self.privacy, Privacy::PureDp { epsilon }, neighbours)
            }
            PublishedCounts::Noise { privacy } => Cost::with_counts(self.privacy, privacy, neighbours),
        }
    }

    /// The numbers that meet the request.
    ///
    /// # Errors
    /// As [`crate::top_k::TopKMechanism::calibrate`].
    pub fn calibrate(&self) -> Result<TopKCalibration> {
        let of_items = || self.mechanism.as_mechanism().calibrate(&self.parameters());
        // Rounds take long to calibrate.
        let mut calibration = RECENT.get((self.parameters(), self.mechanism.clone()), of_items)?;
        // The most published counts that one user changes. Proof: docs/algorithms/published_counts.md.
        let changed = self.parameters().changed_counts().filter(|_| calibration.counts_are_bounded());
        // Otherwise: nothing bounds a user, who may change every published count.
        let changed = changed.unwrap_or(u64::MAX).min(self.k.into());
        let noisy = calibration.discovery.as_ref().is_some_and(|found| found.counts.is_some());
        if noisy && !matches!(self.counts, PublishedCounts::None | PublishedCounts::Free) {
            return Err(Error::Incompatible {
                what: "counts= asks for noise on top, but this mechanism has noisy counts of all items that it picks from"
                    .into(),
                fix: "set counts=\"free\", which publishes these at no cost",
            });
        }
        (calibration.counts_rate, calibration.counts_square_rate) = self.noise_of_counts(changed)?;
        Ok(calibration)
    }

    /// The rate of Laplace or Gaussian noise on published counts, of which one user changes at most `changed`.
    fn noise_of_counts(&self, changed: u64) -> Result<(Option<f64>, Option<f64>)> {
        match self.counts {
            PublishedCounts::None | PublishedCounts::Free => Ok((None, None)),
            PublishedCounts::Laplace { epsilon }
            | PublishedCounts::Noise { privacy: Privacy::PureDp { epsilon } } => {
                Ok((Some(self.laplace_rate(epsilon, changed)?), None))
            }
            PublishedCounts::Noise { privacy: Privacy::Zcdp { rho, .. } } => {
                Ok((None, Some(self.square_rate(rho, changed)?)))
            }
            PublishedCounts::Noise { privacy: Privacy::ApproxDp { epsilon, delta } } => {
                let square = self.square_rate(conversion::largest_rho(epsilon, delta), changed);
                match (self.laplace_rate(epsilon, changed), square) {
                    // The variances are about 2 / rate^2 and 1 / (2 square).
                    (Ok(rate), Ok(square)) if rate * rate < 4.0 * square => Ok((None, Some(square))),
                    (Err(_), Ok(square)) => Ok((None, Some(square))),
                    (rate, _) => Ok((Some(rate?), None)),
                }
            }
        }
    }

    /// The rate of discrete Laplace noise on counts, of which one user changes at most `changed`.
    fn laplace_rate(&self, epsilon: f64, changed: u64) -> Result<f64> {
        let distance = changed.saturating_mul(self.sensitivity.into());
        checked_rate(div_down(epsilon, at_least(distance)))
    }

    /// The rate of the square of discrete Gaussian noise: rho over the squared Euclidean distance.
    fn square_rate(&self, rho: f64, changed: u64) -> Result<f64> {
        let step = f64::from(self.sensitivity);
        checked_square_rate(div_down(rho, mul_up(at_least(changed), mul_up(step, step))))
    }
}

/// The error for fewer than k items to choose from. `list` names their source, and its length is public.
pub(super) fn too_few(k: u32, items: u64, list: &str) -> Error {
    let noun = if items == 1 { "item" } else { "items" };
    Error::Incompatible {
        what: format!("k = {k}, but {list} has {items} distinct {noun} (missing ones do not count)"),
        fix: "ask for fewer items",
    }
}
