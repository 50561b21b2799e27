//! The request of a partition selection, as one value that entry points may not rebuild.

use std::sync::Arc;

use dpsel_exact::accounting::{L0Bound, Privacy};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::ItemOrder;
use dpsel_rows::ingest::{Columns, Prior, PublicList};
use dpsel_rows::runtime::Remembered;
use serde::{Deserialize, Serialize};

use super::weights::{check_slack, reserve_for_weights};
use crate::counting::{CountedUsers, NumbersAsked, Rest};
use crate::look::Quantile;
use crate::mechanisms::{MechanismSpec, NoisyWeights, blamed};
use crate::release::{PUBLIC_COLUMN, WEIGHT_COLUMN};
use crate::rounds::{Calibration, Lowered};

/// The parameters that determine a calibration.
type SelectParameters = (Privacy, L0Bound, MechanismSpec, bool, u32, Option<NumbersAsked>, Option<Quantile>);
static RECENT: Remembered<SelectParameters, Calibration> = Remembered::new(64);

/// A public list of items in a report: how long it is, and a hash of its items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListStamp {
    /// Number of items.
    pub items: u64,
    /// A hash of the items, which whoever has the list can compute again.
    pub sha256: String,
}

/// One call of `select_partitions`, apart from the data and the key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectRequest {
    /// The names of the columns of users and items.
    pub columns: Columns,
    /// The guarantee.
    pub privacy: Privacy,
    /// The most distinct items that one user may contribute, or the largest limit that `quantile` can find.
    pub max_items_per_user: L0Bound,
    /// The limit is a noisy quantile of the users' numbers of items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<Quantile>,
    /// The mechanism and its parameters.
    pub mechanism: MechanismSpec,
    /// Whether the noisy weight of each released item is returned.
    pub with_weights: bool,
    /// The numbers of users or rows that are published with the items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<CountedUsers>,
    /// The numbers of what the released list covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// Every released item has at least this many users.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub min_users: u32,
    /// The list of items that are removed before bounding and never released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<ListStamp>,
    /// The list of items that are removed before bounding and come out in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_items: Option<ListStamp>,
    /// The items of `exclude`. The report has a stamp of them.
    #[serde(skip)]
    pub excluded: Option<Arc<PublicList>>,
    /// The items of `public_items`. The report has a stamp of them.
    #[serde(skip)]
    pub public: Option<Arc<PublicList>>,
    /// A public table of preferences, for mechanisms that use one. No part of a report: no guarantee depends on it.
    #[serde(skip)]
    pub prior: Option<Arc<Prior>>,
}

impl SelectRequest {
    /// Check every parameter.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] or [`Error::Incompatible`] for parameters out of range.
    pub fn validate(self) -> Result<Self> {
        self.privacy.validate()?;
        L0Bound::new(self.max_items_per_user.get().into())?;
        self.mechanism.as_mechanism().validate()?;
        self.item_bound()?;
        self.columns.validate()?;
        if self.min_users == 0 {
            let fix = "leave it out if any number of users will do";
            return Err(Error::parameter("min_users", "at least 1", self.min_users, fix));
        }
        self.numbers().map_or(Ok(()), |numbers| numbers.validate())?;
        self.check_looks()?;
        self.check_columns()?;
        self.check_levels()?;
        if self.with_weights && self.noisy_weights() == NoisyWeights::Absent {
            return Err(Error::Incompatible {
                what: "with_weights=True asks for noisy weights, but a release curve decides without noise"
                    .into(),
                fix: "leave with_weights out, or use a mechanism with noise (release=\"noise\")",
            });
        }
        Ok(self)
    }

    /// The numbers that are published beside the items, if there are any.
    #[must_use]
    pub fn numbers(&self) -> Option<NumbersAsked> {
        NumbersAsked::of(self.counts, self.rest)
    }

    /// Refuse what has no meaning for the nodes of a tree.
    fn check_levels(&self) -> Result<()> {
        if self.columns.levels.is_none() {
            return Ok(());
        }
        let counts_rows = self.counts.as_ref().is_some_and(|counts| counts.max_rows_per_item.is_some());
        let rest_of_rows = self.rest.as_ref().is_some_and(|rest| rest.max_rows_per_user.is_some());
        let refused = |what: &str, fix| Err(Error::Incompatible { what: what.into(), fix });
        if counts_rows {
            return refused(
                "levels= counts each row at every level, so counts of rows would use up a user's norm on one path",
                "count users instead, as with counts=0.2, or count rows of the leaves in a call without levels=",
            );
        }
        if rest_of_rows {
            return refused(
                "levels= counts each row at every level, so max_rows_per_user would not be a number of rows",
                "leave max_rows_per_user out: rest=0.02 tells what the list covers of the users",
            );
        }
        if self.with_weights {
            return refused(
                "with_weights=True asks for noisy weights, but a node that comes out with one below it has none",
                "leave with_weights out; counts= gives numbers of users of every node",
            );
        }
        Ok(())
    }

    /// Refuse an item column of a name that a column of the release has.
    fn check_columns(&self) -> Result<()> {
        let added = [
            (
                self.public_items.is_some(),
                ("public_items=", "rename the item column, or leave public_items= out"),
                PUBLIC_COLUMN,
            ),
            (
                self.with_weights,
                ("with_weights=True", "rename the item column, or leave with_weights out"),
                WEIGHT_COLUMN,
            ),
            (
                self.counts.is_some(),
                ("counts=", "rename the item column, or leave counts= out"),
                self.counts.as_ref().map_or("", CountedUsers::column),
            ),
        ];
        let taken = added
            .into_iter()
            .find(|(is_added, _, column)| *is_added && self.columns.items.iter().any(|name| name == column));
        let Some((_, (option, fix), column)) = taken else { return Ok(()) };
        Err(Error::Incompatible {
            what: format!("{option} adds a column '{column}', but item= names a column of that name too"),
            fix,
        })
    }

    /// The most items that a user keeps: `max_items_per_user` times the reach of the mechanism.
    ///
    /// # Contract
    /// Calibration, bounding and all that is said about one user take this number.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] if it is above [`L0Bound::MAX`].
    pub fn item_bound(&self) -> Result<L0Bound> {
        let reach = self.mechanism.as_mechanism().properties().reach;
        L0Bound::new(u64::from(self.max_items_per_user.get()) * u64::from(reach)).map_err(|_| {
            Error::parameter(
                "reach",
                "at most 10,000,000 / max_items_per_user",
                reach,
                "users keep reach x max_items_per_user items; lower one of them",
            )
        })
    }

    /// The order in which each user's items are taken.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if a public table is wanted and there is none, or the other way round.
    pub fn item_order(&self) -> Result<Option<ItemOrder<&Prior>>> {
        match (self.mechanism.as_mechanism().properties().item_order, &self.prior) {
            (None, None) => Ok(None),
            (Some(ItemOrder::Counts), None) => Ok(Some(ItemOrder::Counts)),
            (Some(ItemOrder::Prior(())), Some(prior)) => Ok(Some(ItemOrder::Prior(prior))),
            (Some(ItemOrder::Prior(())), None) => Err(Error::Incompatible {
                what: "the mechanism fills items in the order of a public table, and there is none".into(),
                fix: "give prior= to the mechanism",
            }),
            (_, Some(_)) => Err(Error::Incompatible {
                what: "prior= is given, but the mechanism does not use it".into(),
                fix: "leave prior= out",
            }),
        }
    }

    /// The rounds that meet the request.
    ///
    /// A published noisy weight shows its noise, whose law is exact up to 2^-128 for each of its values
    /// (`docs/algorithms/noise.md`). When weights are published that is taken off delta. The rounds of a score pay for it
    /// in any case.
    ///
    /// If a look chooses the mechanism, these are the rounds for long lists. Those for short ones have to exist as well.
    /// If it finds the limit, they are those of the largest, and those of all others have to exist.
    ///
    /// # Errors
    /// As [`crate::mechanisms::Mechanism::calibrate`]; [`Error::Calibration`] if the noise has too many values for its
    /// weights to be published within delta.
    pub fn calibrate(&self) -> Result<Calibration> {
        if self.looks_first() {
            return self.calibrate_all();
        }
        let calibration = self.rounds()?;
        self.lowered().check(&calibration)?;
        Ok(calibration)
    }

    /// How weights are lowered, so that every released item has enough users.
    #[must_use]
    pub fn lowered(&self) -> Lowered {
        Lowered::to(self.min_users)
    }

    fn rounds(&self) -> Result<Calibration> {
        let kept = self.item_bound()?;
        match self.noisy_weights() {
            NoisyWeights::OfRound if self.with_weights => {}
            NoisyWeights::OfRound | NoisyWeights::Score | NoisyWeights::Absent => {
                return self.beside_numbers(self.privacy, kept);
            }
        }
        let (left, reserve) = reserve_for_weights(self.privacy);
        let calibration = self.beside_numbers(left, kept)?;
        check_slack(&calibration, kept, self.privacy, reserve)?;
        Ok(calibration)
    }

    /// The rounds for a budget that numbers may take a part of.
    fn beside_numbers(&self, privacy: Privacy, kept: L0Bound) -> Result<Calibration> {
        let mechanism = self.mechanism.as_mechanism();
        match &self.numbers() {
            None => mechanism.calibrate(privacy, kept),
            Some(asked) => mechanism
                .calibrate_beside(privacy, kept, asked)
                .map_err(|error| blamed(error, asked, || mechanism.calibrate(privacy, kept))),
        }
    }

    /// What `with_weights` publishes of each item.
    fn noisy_weights(&self) -> NoisyWeights {
        self.mechanism.as_mechanism().properties().noisy_weights
    }

    /// As [`SelectRequest::calibrate`], but results for the last few parameters are remembered: a call on little data
    /// takes about as long as its calibration. Nothing but public parameters goes in.
    ///
    /// # Errors
    /// As [`SelectRequest::calibrate`].
    pub fn calibrate_once(&self) -> Result<Calibration> {
        let parameters = (
            self.privacy,
            self.max_items_per_user,
            self.mechanism.clone(),
            self.with_weights,
            self.min_users,
            self.numbers(),
            self.quantile,
        );
        let calibration = RECENT.get(parameters, || self.calibrate())?;
        let descent = self.columns.have_lines() && calibration.scoring().is_some();
        Ok(Calibration { descent, ..calibration })
    }
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(users: &u32) -> bool {
    *users == 1
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::RELEASE_SLACK;

    use super::super::weights::weights_slack;
    use super::*;
    use crate::mechanisms::Steered;

    fn request(delta: f64, with_weights: bool) -> SelectRequest {
        request_of(r#"{"name": "weighted_gaussian"}"#, delta, with_weights)
    }

    fn request_of(mechanism: &str, delta: f64, with_weights: bool) -> SelectRequest {
        let request: SelectRequest = serde_json::from_str(&format!(
            r#"{{"columns": {{"user": "u", "items": ["i"]}}, "max_items_per_user": 100,
                 "with_weights": {with_weights}, "mechanism": {mechanism},
                 "privacy": {{"kind": "approx_dp", "epsilon": 1.0, "delta": {delta:e}}}}}"#
        ))
        .unwrap();
        request.validate().unwrap()
    }

    #[test]
    fn remembered_calibrations_are_those_of_the_same_parameters() {
        let requests = (1..40).map(|n| request(1e-9 * f64::from(n % 20 + 1), n % 3 == 0));
        for request in requests {
            let calibration = request.calibrate().unwrap();
            assert_eq!(request.calibrate_once().unwrap(), calibration);
            assert_eq!(request.calibrate_once().unwrap(), calibration);
        }
    }

    fn steered(limit: u32, reach: u32) -> Result<SelectRequest> {
        let mut request = request(1e-6, false);
        request.max_items_per_user = L0Bound::new(limit.into())?;
        request.mechanism = MechanismSpec::Steered(Steered { reach, ..Steered::default() });
        request.validate()
    }

    #[test]
    fn a_reach_is_calibrated_like_a_limit_of_all_kept_items() {
        for (limit, reach) in [(1, 3), (10, 3), (100, 10), (300, 64)] {
            let (wide, narrow) = (steered(limit, reach).unwrap(), steered(limit * reach, 1).unwrap());
            let calibration = wide.calibrate().unwrap();
            assert_eq!(calibration, narrow.calibrate().unwrap());
            assert_ne!(calibration, steered(limit, 1).unwrap().calibrate().unwrap());
            let largest = calibration.scoring().and_then(|(_, publish)| publish.sizes.last().copied());
            assert_eq!(largest.map(|size| size.items), Some(limit * reach), "the table covers all users");
        }
        assert!(matches!(steered(156_251, 64), Err(Error::InvalidParameter { .. })));
        assert!(steered(156_250, 64).is_ok() && steered(L0Bound::MAX, 1).is_ok());
    }

    #[test]
    fn publishing_weights_is_paid_from_delta() {
        let (with, without) = (request(1e-6, true), request(1e-6, false));
        let calibration = with.calibrate().unwrap();
        assert!(weights_slack(&calibration, with.item_bound().unwrap()) <= RELEASE_SLACK);
        let threshold = |calibration: Calibration| calibration.rounds[0].rule.noisy().unwrap().threshold;
        assert!(threshold(calibration) >= threshold(without.calibrate().unwrap()));
    }

    /// Their finite precision is paid for whether they are published or not.
    #[test]
    fn published_scores_cost_nothing_more() {
        let of = |with_weights| request_of(r#"{"name": "steered", "rounds": 5}"#, 1e-6, with_weights);
        assert_eq!(of(true).calibrate().unwrap(), of(false).calibrate().unwrap());
    }

    #[test]
    fn the_column_of_weights_is_nobody_elses() {
        let named = |name: &str, with_weights| {
            let mut request = request(1e-6, with_weights);
            request.columns.items.push(name.into());
            request.validate()
        };
        assert!(named(WEIGHT_COLUMN, false).is_ok() && named("Weight", true).is_ok());
        assert!(matches!(named(WEIGHT_COLUMN, true), Err(Error::Incompatible { .. })));
    }

    #[test]
    fn weights_that_delta_cannot_pay_are_refused() {
        assert!(request(1e-24, false).calibrate().is_ok());
        assert!(matches!(request(1e-24, true).calibrate(), Err(Error::Calibration { .. })));
    }
}
