//! The interface of every top-k mechanism, and the numbers of a calibrated one.

use dpsel_exact::accounting::{Cost, Guarantee, L0Bound, Privacy};
use dpsel_exact::numeric::{Interval, at_least, div_down, mul_down, sqrt_down};
use dpsel_exact::random::ReleaseKey;
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::rounds::Calibration;
use crate::top_k::draws::loss_levels::RATES;
use crate::top_k::ranking::{Counts, Place, RankedCounts};

/// A mechanism of top-k: it turns a budget into a calibration, and draws from counts.
pub trait TopKMechanism {
    /// The numbers that meet `parameters`, without data. Rates are rounded down.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the mechanism has no guarantee of that kind, [`Error::Calibration`] if the budget is
    /// too small for exact arithmetic.
    fn calibrate(&self, parameters: &Parameters) -> Result<TopKCalibration>;

    /// The guarantee in words.
    fn guarantee(&self, neighbours: Neighbours) -> Guarantee;

    /// Draw `k` items; an unknown domain may give fewer.
    ///
    /// # Contract
    /// The items have the law of the mechanism, exactly. There are at least `k` items unless the domain is unknown.
    fn select(
        &self,
        counts: Counts<'_>,
        k: usize,
        calibration: &TopKCalibration,
        key: &ReleaseKey,
    ) -> Vec<Pick>;

    /// The logarithm of the number of outcomes among `items` items: e^-(rate loss) times it bounds the probability that
    /// an answer of `k` items loses more. `None` if the mechanism has no such bound without data.
    fn log_answers(&self, items: u64, k: u64) -> Option<Interval>;

    /// Whether the mechanism finds the items itself. If not, it is refused without a public list.
    fn finds_domain(&self) -> bool {
        false
    }

    /// Whether the order of the items is part of the answer.
    fn is_ordered(&self) -> bool;

    /// Whether the mechanism needs the count of every item, also of those that nobody holds: it draws noise for each.
    fn needs_every_count(&self) -> bool;

    /// Whether noisy counts of the items come at no further cost. If not, they are refused at that price.
    fn has_free_counts(&self, _parameters: &Parameters) -> bool {
        false
    }
}

/// Tables that must be hard to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neighbours {
    /// Add or remove one user: all counts change by at most 1 in one direction.
    #[default]
    AddRemove,
    /// Replace one user: counts change by at most 1 in either direction.
    Swap,
    /// Lists of counts: each changes by at most the sensitivity, in either direction.
    Any,
}

impl Neighbours {
    /// The relation as requests and costs name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AddRemove => Cost::ADD_REMOVE,
            Self::Swap => "swap",
            Self::Any => "any",
        }
    }

    /// The relation in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::AddRemove => "add or remove one user with all its rows",
            Self::Swap => "replace one user with all its rows by another one",
            Self::Any => "one user changes each count by at most `sensitivity`, in either direction",
        }
    }
}

/// The parameters that determine a calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// The guarantee.
    pub privacy: Privacy,
    /// Number of items.
    pub k: u32,
    /// Neighbouring tables.
    pub neighbours: Neighbours,
    /// The most by which one user changes a count.
    pub sensitivity: u32,
    /// The most items of one user, if users are bounded.
    pub bound: Option<L0Bound>,
}

impl Parameters {
    /// The limit of users, for a mechanism that selects partitions first.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for users without a limit, and for what its proof does not cover.
    pub(super) fn for_rounds(&self, mechanism: &str) -> Result<L0Bound> {
        let Some(bound) = self.bound else {
            return Err(Error::Incompatible {
                what: format!("{mechanism} selects partitions first, for which users must be bounded"),
                fix: "set max_items_per_user",
            });
        };
        if self.neighbours != Neighbours::AddRemove {
            return Err(Error::Incompatible {
                what: format!("{mechanism} has no proof for neighbours other than \"add_remove\""),
                fix: "use neighbours=\"add_remove\", or LimitDomain",
            });
        }
        if self.sensitivity != 1 {
            return Err(Error::Incompatible {
                what: format!("{mechanism} counts users, each of whom changes a count by 1"),
                fix: "leave sensitivity out",
            });
        }
        Ok(bound)
    }

    /// By how much the difference of two counts changes at most; proofs are in
    /// `docs/algorithms/neighbouring_counts.md`.
    pub(super) fn span(&self) -> u64 {
        match self.neighbours {
            Neighbours::AddRemove => self.sensitivity.into(),
            Neighbours::Swap | Neighbours::Any => 2 * u64::from(self.sensitivity),
        }
    }

    /// The rate at which `epsilon` is lost when the difference of two counts changes as much as it can.
    pub(super) fn per_span(&self, epsilon: f64) -> f64 {
        divided(epsilon, self.span())
    }

    /// The rate of a joint mechanism. Its loss is a difference of counts and enters twice, in the weight of an answer
    /// and in the sum of all; with one item the largest count cancels, and a count enters once.
    pub(super) fn joint_rate(&self, epsilon: f64) -> f64 {
        self.per_span(if self.k == 1 { epsilon } else { epsilon / 2.0 })
    }

    /// The largest number of counts that one user changes, if users are bounded.
    pub(crate) fn changed_counts(&self) -> Option<u64> {
        let bound = u64::from(self.bound?.get());
        Some(match self.neighbours {
            Neighbours::AddRemove | Neighbours::Any => bound,
            Neighbours::Swap => 2 * bound,
        })
    }

    /// Epsilon of a mechanism with pure differential privacy; under zCDP the one that implies it (Bun and Steinke 2016,
    /// Proposition 1.4: epsilon gives rho = epsilon^2 / 2).
    pub(super) fn pure_epsilon(&self) -> f64 {
        match self.privacy {
            Privacy::PureDp { epsilon } | Privacy::ApproxDp { epsilon, .. } => epsilon,
            Privacy::Zcdp { rho, .. } => sqrt_down(mul_down(2.0, rho)),
        }
    }

    /// Epsilon of an exponential mechanism, whose log-likelihood ratios lie in an interval of length epsilon; under
    /// zCDP the one that implies it (Cesar and Rogers 2021, Lemma 3.2: rho = epsilon^2 / 8).
    pub(super) fn range_epsilon(&self) -> f64 {
        match self.privacy {
            Privacy::PureDp { epsilon } | Privacy::ApproxDp { epsilon, .. } => epsilon,
            Privacy::Zcdp { rho, .. } => sqrt_down(mul_down(8.0, rho)),
        }
    }
}

/// The numbers of a calibrated mechanism. No data went into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopKCalibration {
    /// By how much the exponent of a probability falls per user; 0 where nothing is drawn after the rounds.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub rate: f64,
    /// Number of draws that share the budget.
    #[serde(default, skip_serializing_if = "is_none")]
    pub rounds: u32,
    /// The number of the largest counts that are candidates, if the domain is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<u32>,
    /// By how many users an item is set above the last candidate, where the domain is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<i64>,
    /// The rounds of the partition selection that finds the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<Calibration>,
    /// The rate of the noise on published counts, if these have a budget of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_rate: Option<f64>,
    /// The same for discrete Gaussian noise: a noise of z has probability proportional to e^-(this z^2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts_square_rate: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_nothing(rate: &f64) -> bool {
    rate.to_bits() == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(rounds: &u32) -> bool {
    *rounds == 0
}

impl TopKCalibration {
    /// # Errors
    /// [`Error::Calibration`] if the rate is too small.
    pub(super) fn new(rate: f64, rounds: u32) -> Result<Self> {
        Ok(Self { rate: checked_rate(rate)?, rounds, ..Self::empty() })
    }

    /// Rounds whose noisy counts are sorted. Nothing is drawn then.
    pub(super) fn of_rounds(discovery: Calibration) -> Self {
        Self { discovery: Some(discovery), ..Self::empty() }
    }

    const fn empty() -> Self {
        Self {
            rate: 0.0,
            rounds: 0,
            candidates: None,
            threshold: None,
            discovery: None,
            counts_rate: None,
            counts_square_rate: None,
        }
    }

    /// Whether counts are taken after users are bounded. A discovery bounds users for its selection only.
    pub(crate) fn counts_are_bounded(&self) -> bool {
        self.discovery.is_none()
    }

    /// How these numbers differ from the `expected` ones, one sentence per parameter.
    #[must_use]
    pub fn differences(&self, expected: &Self) -> Vec<String> {
        let mut found = vec![];
        let mut compare = |name: &str, got: String, want: String| {
            if got != want {
                found.push(format!("{name} {got} instead of {want}"));
            }
        };
        compare("rate", format!("{:e}", self.rate), format!("{:e}", expected.rate));
        compare("rounds", self.rounds.to_string(), expected.rounds.to_string());
        compare("candidates", format!("{:?}", self.candidates), format!("{:?}", expected.candidates));
        compare("threshold", format!("{:?}", self.threshold), format!("{:?}", expected.threshold));
        compare("counts_rate", format!("{:?}", self.counts_rate), format!("{:?}", expected.counts_rate));
        compare(
            "counts_square_rate",
            format!("{:?}", self.counts_square_rate),
            format!("{:?}", expected.counts_square_rate),
        );
        match (&self.discovery, &expected.discovery) {
            (Some(got), Some(want)) => found.extend(got.differences(want)),
            (None, None) => {}
            _ => found.push("the rounds that find the domain are missing or too many".into()),
        }
        found
    }
}

/// A quotient rounded down; by powers of two it is exact, as rates are far from the smallest floats.
pub(super) fn divided(rate: f64, by: u64) -> f64 {
    if by.is_power_of_two() { rate / by as f64 } else { div_down(rate, at_least(by)) }
}

/// A rate that draws can use: rounded down to the largest, which is as good as none.
pub(crate) fn checked_rate(rate: f64) -> Result<f64> {
    if rate >= *RATES.start() {
        return Ok(rate.min(*RATES.end()));
    }
    Err(Error::Calibration {
        what: format!("a top-k in which one user changes exponents by {rate:e}"),
        fix: "raise epsilon, or lower k",
    })
}

/// One item of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pick {
    /// Where the item is.
    pub place: Place,
    /// Its noisy count, if the mechanism has that.
    pub noisy: Option<i64>,
}

/// The items at these ranks.
pub(super) fn picks(ranking: &RankedCounts<'_>, ranks: &[u64]) -> Vec<Pick> {
    ranking.places(ranks).into_iter().map(|place| Pick { place, noisy: None }).collect()
}

/// ln n, and 0 for n = 0.
pub(super) fn log(n: u64) -> Interval {
    Interval::integer(n.max(1).into()).ln()
}

/// The logarithm of the number of sequences of `k` of `items` items.
pub(super) fn log_sequences(items: u64, k: u64) -> Interval {
    (0..k).map(|place| log(items - place)).fold(Interval::ZERO, |a, b| a + b)
}

/// The logarithm of the number of picks of all places, each from `items` items.
pub(super) fn log_picks(items: u64, k: u64) -> Interval {
    log(items) + log(k)
}
