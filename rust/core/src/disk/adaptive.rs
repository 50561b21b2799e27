//! Weights of which a part returns to its givers: sums over users, twice, with those of shared items in memory. What is
//! known of other items follows from their user, and is computed anew in each pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;

use super::output::Collected;
use super::rounds::Rounds;
use super::shared::SharedCodes;
use crate::accounting::L0Bound;
use crate::bounding::{BoundedContributions, ItemSet};
use crate::contributions::{Contributions, ItemCode};
use crate::exchange::{Decisions, Gather, OnUsers, Packed, Route, UserCounts, one_thread};
use crate::numeric::widths::codes;
use crate::random::{Digest, ReleaseKey, Words};
use crate::rounds::{Decider, ItemState, Outcome, Round};
use crate::scratch::Stored;
use crate::weighting::{Mad, Sums, Weighting};
use crate::{Error, Result};

/// A round before the one whose weights return: its weights set the importances of the items.
struct Screened<'a> {
    round: &'a Round,
    decider: (Decider, Words),
    /// The weight of each shared item.
    weights: Vec<AtomicU64>,
    /// What became of each shared item.
    states: Vec<ItemState>,
}

/// Everything that is known of shared items, for all passes.
struct Adaptive<'a> {
    bound: L0Bound,
    key: &'a ReleaseKey,
    codes: Arc<SharedCodes>,
    screened: Option<Screened<'a>>,
    mad: Mad,
    decider: (Decider, Words),
    sums: Sums,
}

/// Some users, bounded, with the items of this part by code.
struct Part {
    users: BoundedContributions,
    digests: Vec<Digest>,
    /// The code among all shared items.
    shared: Vec<Option<u32>>,
}

impl Part {
    fn own(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.digests.len()).filter(|item| self.shared[*item].is_none())
    }

    fn shared(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let shared = self.shared.iter().enumerate();
        shared.filter_map(|(item, code)| Some((item, (*code)? as usize)))
    }
}

impl Screened<'_> {
    /// The weights that some users give in this round.
    fn weigh(&self, part: &Part) -> Vec<u64> {
        let mut weights = vec![0_u64; part.digests.len()];
        for items in (0..part.users.users()).map(|user| part.users.kept_items(user)) {
            let weight = self.round.weighting.weight_in_quanta(codes(items.len()), self.round.rule.quantum());
            for item in items {
                weights[*item as usize] += weight;
            }
        }
        weights
    }

    /// What becomes of an item of this weight.
    fn state(&self, item: Digest, weight: u64) -> Result<ItemState> {
        let (decider, words) = &self.decider;
        match decider.decide(ItemState::default(), weight, words.word(item)) {
            Outcome::Kept(state) => Ok(state),
            Outcome::Abandoned => Ok(ItemState::ABANDONED),
            Outcome::Released(_) => Err(Error::Internal("a screening round releases nothing")),
        }
    }

    /// The states of all items of a part, after which those that are out leave its users.
    fn apply(&self, part: &mut Part) -> Result<Vec<ItemState>> {
        let weights = self.weigh(part);
        let state = |item: usize| match part.shared[item] {
            Some(code) => Ok(self.states[code as usize]),
            None => self.state(part.digests[item], weights[item]),
        };
        let states = (0..part.digests.len()).map(state).collect::<Result<Vec<_>>>()?;
        let mut removed = ItemSet::new();
        let out = states.iter().enumerate().filter(|(_, state)| **state == ItemState::ABANDONED);
        out.for_each(|(item, _)| removed.insert(ItemCode::from_index(item)));
        part.users.remove(&removed, &one_thread())?;
        Ok(states)
    }
}

impl Adaptive<'_> {
    fn part(&self, contributions: Contributions) -> Result<Part> {
        let users = BoundedContributions::new(contributions, self.bound, self.key, &one_thread())?;
        let digests = users.vocabulary().digests_from(0..users.vocabulary().code_bound());
        let shared = digests.iter().map(|item| self.codes.get(*item)).collect();
        Ok(Part { users, digests, shared })
    }

    /// The users in the round whose weights return, the states of their items, and what they give.
    fn given(&self, contributions: Contributions) -> Result<(Part, Vec<ItemState>, Vec<u16>, Sums)> {
        let mut part = self.part(contributions)?;
        let states = match &self.screened {
            Some(screened) => screened.apply(&mut part)?,
            None => vec![ItemState::default(); part.digests.len()],
        };
        let importances: Vec<u16> = states.iter().map(|state| state.importance).collect();
        let sums = Sums::new(part.digests.len());
        self.mad.give_all(&part.users, &importances, &sums);
        Ok((part, states, importances, sums))
    }

    /// Decide an item of this weight.
    fn decide(&self, item: Digest, state: ItemState, weight: u64, released: &mut Vec<u8>) {
        let (decider, words) = &self.decider;
        match decider.decide(state, weight, words.word(item)) {
            Outcome::Released(noisy) => Decisions::push(item, noisy, released),
            Outcome::Kept(_) | Outcome::Abandoned => {}
        }
    }

    /// The states of shared items after the screening.
    fn state_of(&self, code: usize) -> ItemState {
        self.screened.as_ref().map_or_else(ItemState::default, |screened| screened.states[code])
    }
}

/// The passes over all users.
struct Screen<'a>(&'a Adaptive<'a>, &'a Screened<'a>);
struct Give<'a>(&'a Adaptive<'a>);
struct GiveBack<'a>(&'a Adaptive<'a>);

impl OnUsers for &Screen<'_> {
    fn run(&self, _last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let part = self.0.part(contributions)?;
        let weights = self.1.weigh(&part);
        for (item, code) in part.shared() {
            self.1.weights[code].fetch_add(weights[item], Ordering::Relaxed);
        }
        Ok(Vec::new())
    }
}

impl OnUsers for &Give<'_> {
    fn run(&self, _last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let (part, _, _, given) = self.0.given(contributions)?;
        part.shared().for_each(|(item, code)| self.0.sums.add_given(code, &given, item));
        Ok(Vec::new())
    }
}

impl OnUsers for &GiveBack<'_> {
    fn run(&self, last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let (part, states, importances, sums) = self.0.given(contributions)?;
        part.shared().for_each(|(item, code)| sums.copy_loose(item, &self.0.sums, code));
        self.0.mad.give_back_all(&part.users, &importances, &sums);
        part.shared().for_each(|(item, code)| self.0.sums.add_put(code, &sums, item));
        let mut released = Vec::new();
        for item in part.own() {
            let weight = sums.weight(item, self.0.mad);
            self.0.decide(part.digests[item], states[item], weight, &mut released);
        }
        Ok(vec![Route::batch(&[(last, released)])?])
    }
}

impl Rounds<'_> {
    /// The decisions of a round whose weights return, with the screening round before it if there is one, given the
    /// numbers of users of all items with more than one.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn adaptive(&self, contributions: &Stored<i32>, users: &UserCounts) -> Result<Packed> {
        let mut adaptive = self.sums(contributions, users)?;
        self.stages.control.end_phase();
        if let Some(mut screened) = adaptive.screened.take() {
            let screen = Screen(&adaptive, &screened);
            self.each_user(contributions, &screen, &Collected::default())?;
            let weights = std::mem::take(&mut screened.weights).into_iter().map(AtomicU64::into_inner);
            let items = adaptive.codes.digests().iter().zip(weights);
            screened.states =
                items.map(|(item, weight)| screened.state(*item, weight)).collect::<Result<_>>()?;
            adaptive.screened = Some(screened);
            self.stages.control.end_phase();
        }
        self.each_user(contributions, &Give(&adaptive), &Collected::default())?;
        let decided = Collected::default();
        self.each_user(contributions, &GiveBack(&adaptive), &decided)?;
        let mut released = decided.packed().bytes().to_vec();
        for (code, item) in adaptive.codes.digests().iter().enumerate() {
            let weight = adaptive.sums.weight(code, adaptive.mad);
            adaptive.decide(*item, adaptive.state_of(code), weight, &mut released);
        }
        self.stages.control.end_phase();
        self.held_bytes(released)
    }

    fn each_user<'t, T>(&self, contributions: &Stored<i32>, stage: &'t T, output: &Collected) -> Result<()>
    where
        &'t T: OnUsers,
        T: Sync,
    {
        let stages = self.stages;
        let gather = || Ok(Gather::new(stage, self.job.key(), stages.memory.sizes));
        stages.run(contributions, gather, || output)
    }

    /// The shared items before the first pass.
    fn sums(&self, contributions: &Stored<i32>, users: &UserCounts) -> Result<Adaptive<'_>> {
        let (spec, key) = (self.job.spec(), self.job.key());
        let (first, last, number) = match &spec.calibration.rounds[..] {
            [last] => (None, last, 0),
            [first, last] => (Some(first), last, 1),
            _ => return Err(Error::Internal("one or two rounds are adaptive")),
        };
        let Weighting::Mad(mad) = last.weighting else {
            return Err(Error::Internal("the last round has no weights that return"));
        };
        let codes = SharedCodes::find(contributions, users, key, self.stages)?;
        let shared = codes.digests().len();
        let screened = |round| {
            Ok(Screened {
                round,
                decider: self.job.decider(0, false)?,
                weights: (0..shared).map(|_| AtomicU64::new(0)).collect(),
                states: Vec::new(),
            })
        };
        Ok(Adaptive {
            bound: spec.bound.ok_or(Error::Internal("rounds without a bound"))?,
            key,
            codes,
            screened: first.map(screened).transpose()?,
            mad,
            decider: self.job.decider(number, spec.with_weights)?,
            sums: Sums::new(shared),
        })
    }
}
