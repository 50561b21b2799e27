//! What all tasks of one release share: columns, limit, rounds and key.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use super::at_items::AtItems;
use super::census::{Candidates, Crowds, MostUsers};
use super::count::Count;
use super::decide::Decide;
use super::dictionary::Dictionaries;
use super::encode::Encode;
use super::known::Known;
use super::name::Name;
use super::routing::Routes;
use super::settle::Settle;
use super::sift::{Mistaken, Sift};
use super::steer::Steer;
use super::tilt::Tilt;
use super::total::Total;
use super::weigh::Weigh;
use crate::accounting::L0Bound;
use crate::contributions::{Contributions, ContributionsBuilder, KeyLayout};
use crate::ingest::{self, Columns, ItemSchema, Preference, Source};
use crate::random::{Purpose, ReleaseKey, Words};
use crate::rounds::{Calibration, Decider, Round};
use crate::runtime::Control;
use crate::weighting::UNIT;
use crate::{Error, Result};

const NO_ROUND: Error = Error::Internal("there is no such round");

/// What the tasks have to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Which columns hold what.
    pub columns: Columns,
    /// The most items of one user, if users are bounded.
    pub bound: Option<L0Bound>,
    /// The rounds; none where users are counted only.
    pub calibration: Calibration,
    /// Whether decisions hold noisy weights.
    pub with_weights: bool,
}

/// One release, ready to be done in pieces. Cloning it does not copy much.
#[derive(Debug, Clone)]
pub struct Plan {
    work: Arc<Work>,
    key: ReleaseKey,
}

impl Plan {
    /// The plan, here or on another machine.
    #[must_use]
    pub fn new(work: Work, key: ReleaseKey) -> Self {
        Self { work: work.into(), key }
    }

    /// What the tasks have to do.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// The release key.
    #[must_use]
    pub fn key(&self) -> &ReleaseKey {
        &self.key
    }

    /// Whether the rounds gather evidence: [`Plan::tilt`] and [`Plan::steer`] instead of [`Plan::weigh`] and
    /// [`Plan::decide`].
    #[must_use]
    pub fn is_steered(&self) -> bool {
        self.work.calibration.scoring().is_some()
    }

    /// The stage that reads the table; with a census it counts the users of items as well.
    ///
    /// # Errors
    /// A number of routes out of range.
    pub fn encode(&self, routes: u32, with_census: bool) -> Result<Encode> {
        Ok(Encode::new(self.clone(), Routes::new(routes)?, with_census))
    }

    /// The most users with whom hardly any item is released in any round, whatever they give to it. Above 0 it pays to
    /// know which items have more. Any number is as right: it says only how much is sent.
    #[must_use]
    pub fn few(&self) -> u32 {
        const HARDLY: f64 = 1e-3;
        const MOST: u32 = 1 << 20;
        let rounds = &self.work.calibration.rounds;
        let are_few = |users: u32| {
            let weight = i128::from(users) * i128::from(UNIT);
            rounds.iter().all(|round| round.rule.keep_probability(weight) <= HARDLY)
        };
        let (mut least, mut above) = (0, MOST);
        while above - least > 1 {
            let middle = least.midpoint(above);
            if are_few(middle) { least = middle } else { above = middle }
        }
        least
    }

    /// The stage that adds up what the census found, and keeps what is above a few users.
    #[must_use]
    pub fn crowds(&self, few: u32) -> Crowds {
        Crowds::new(few)
    }

    /// The stage that keeps of each user what the rounds need; with numbers of users, only the items that some round can
    /// release.
    ///
    /// # Errors
    /// A rule that cannot be made ready.
    pub fn settle(&self, users: Option<MostUsers>) -> Result<Settle> {
        let candidates = users.map(|users| Ok(Candidates::new(users, self.deciders()?))).transpose()?;
        Ok(Settle::new(self.clone(), candidates))
    }

    fn decider(&self, round: u32, with_weights: bool) -> Result<Decider> {
        Decider::new(&self.work.calibration, round, with_weights)
    }

    /// The rule and the noise of every round.
    pub(super) fn deciders(&self) -> Result<Vec<(Decider, Words)>> {
        let rounds = (0_u32..).take(self.work.calibration.rounds.len());
        rounds.map(|number| Ok((self.decider(number, false)?, self.noise_words(number)))).collect()
    }

    /// The stage that weighs a round, counted from 0, without the items released before and those that it cannot release.
    ///
    /// # Errors
    /// A number of routes out of range; a round that there is not; a rule that cannot be made ready.
    pub fn weigh(&self, routes: u32, number: u32, released: Known) -> Result<Weigh> {
        let (routes, words) = (Routes::new(routes)?, self.noise_words(number));
        let decider = self.decider(number, false)?;
        Ok(Weigh::new(routes, self.bound()?, self.round(number)?, decider, words, released))
    }

    /// The stage that decides a round, counted from 0.
    ///
    /// # Errors
    /// A round that there is not; a rule that cannot be made ready.
    pub fn decide(&self, round: u32) -> Result<AtItems<Decide>> {
        let rule = self.decider(round, self.work.with_weights)?;
        Ok(AtItems::new(Decide::new(rule, self.noise_words(round))))
    }

    /// The stage that weighs a round of evidence, counted from 0.
    ///
    /// # Errors
    /// A number of routes out of range; rounds that gather no evidence.
    pub fn tilt(&self, routes: u32, round: u32) -> Result<Tilt> {
        Tilt::new(self.clone(), Routes::new(routes)?, round)
    }

    /// The stage that looks at the evidence of a round, counted from 0.
    ///
    /// # Errors
    /// A round that there is not, or that gathers no evidence.
    pub fn steer(&self, round: u32) -> Result<Steer> {
        if !self.is_steered() {
            return Err(NO_ROUND);
        }
        let rule = self.decider(round, self.work.with_weights)?;
        Ok(Steer::new(rule, self.noise_words(round)))
    }

    /// The stage that counts the users of some items (of all, if none are named): of the items that users keep under
    /// their limit, or of all that they have.
    ///
    /// # Errors
    /// A number of routes out of range.
    pub fn count(&self, routes: u32, wanted: Option<Known>, bounded: bool) -> Result<Count> {
        let bound = self.work.bound.filter(|_| bounded);
        Ok(Count::new(self.clone(), Routes::new(routes)?, bound, wanted))
    }

    /// The stage that adds up counts, and may keep only so many of the largest.
    #[must_use]
    pub fn total(&self, most: Option<u32>) -> AtItems<Total> {
        AtItems::new(Total::new(most))
    }

    /// The stage that finds the items of the table that pass a filter.
    ///
    /// # Errors
    /// A number of routes out of range.
    pub fn sift(&self, routes: u32, filter: Known) -> Result<Sift> {
        Ok(Sift::new(Routes::new(routes)?, Dictionaries::new(&self.key), filter))
    }

    /// The stage that finds those among them that are not listed: it takes what [`scatter`](super::scatter) made as well.
    #[must_use]
    pub fn mistaken(&self) -> AtItems<Mistaken> {
        AtItems::new(Mistaken)
    }

    /// The stage that looks up names.
    #[must_use]
    pub fn name(&self, released: Known) -> Name {
        Name::new(self.clone(), released)
    }

    fn noise_words(&self, round: u32) -> Words {
        Words::new(&self.key, Purpose::Noise, round)
    }

    pub(super) fn bound(&self) -> Result<L0Bound> {
        self.work.bound.ok_or(Error::Internal("rounds without a bound"))
    }

    fn round(&self, round: u32) -> Result<&Round> {
        self.work.calibration.rounds.get(round as usize).ok_or(NO_ROUND)
    }
}

/// Tasks run side by side already.
pub(super) fn control() -> Control {
    Control::new(Some(NonZeroUsize::MIN), None)
}

/// Read batches as the local engine does; `None` if there are none.
pub(super) fn read(
    batches: Vec<RecordBatch>,
    columns: &Columns,
    key: &ReleaseKey,
) -> Result<Option<Contributions>> {
    let Some(first) = batches.first() else {
        return Ok(None);
    };
    let schema = first.schema();
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    ingest::read(Source::Stream(Box::new(reader)), columns, Preference::Any, key, &control()).map(Some)
}

/// A builder of contributions whose items have digests only.
pub(super) fn nameless_builder() -> ContributionsBuilder {
    ContributionsBuilder::new(KeyLayout::Words, &control())
}

/// The schema that goes with it.
pub(super) fn no_names() -> Result<ItemSchema> {
    ItemSchema::new([("item", &DataType::Null)])
}
