//! The order of rounds, which every engine asks for its next one: what is weighed, and who decides it.

use dpsel_exact::Result;
use dpsel_exact::numeric::UNIT;
use dpsel_exact::random::{Digest, Purpose, ReleaseKey, Words};

use super::calibration::{Calibration, Round};
use super::decision::{Decider, ItemOutcome, ItemState, checked_weight};
use super::least_users::Lowered;

/// The rounds of a release. In each an engine weighs what users hold, decides every item, and takes out of the users'
/// sets what was decided for good.
#[derive(Debug, Clone, Copy)]
pub struct Turns<'a> {
    calibration: &'a Calibration,
    with_weights: bool,
    lowered: Lowered,
    key: &'a ReleaseKey,
}

/// A round in its turn.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    turns: Turns<'a>,
    /// Its number, counted from 0.
    pub number: u32,
    /// What is weighed, and the rule that decides.
    pub round: &'a Round,
    /// Whether no round follows.
    pub is_last: bool,
}

/// A round that is ready to decide items.
#[derive(Debug)]
pub struct Deciding {
    pub(super) decider: Decider,
    /// Its noise.
    pub(super) words: Words,
    /// Taken off every weight before the decision, and added to a noisy weight that is published: see [`Lowered`].
    pub(super) lowered: u64,
}

impl<'a> Turns<'a> {
    /// `with_weights` asks for noisy weights to publish.
    ///
    /// # Errors
    /// As [`Lowered::check`].
    pub fn new(
        calibration: &'a Calibration,
        (with_weights, lowered): (bool, Lowered),
        key: &'a ReleaseKey,
    ) -> Result<Self> {
        lowered.check(calibration)?;
        Ok(Self { calibration, with_weights, lowered, key })
    }

    /// All rounds in their order.
    pub fn each(self) -> impl Iterator<Item = Turn<'a>> {
        (0..).map_while(move |number| self.turn(number))
    }

    /// The round of a number, counted from 0; none after the last one.
    #[must_use]
    pub fn turn(self, number: u32) -> Option<Turn<'a>> {
        let rounds = &self.calibration.rounds;
        let round = rounds.get(number as usize)?;
        Some(Turn { turns: self, number, round, is_last: number as usize + 1 == rounds.len() })
    }
}

impl Turn<'_> {
    /// The round, ready to decide.
    ///
    /// # Errors
    /// As [`Decider::new`].
    pub fn deciding(self) -> Result<Deciding> {
        let Turns { calibration, with_weights, lowered, key } = self.turns;
        Ok(Deciding {
            decider: Decider::new(calibration, self.number, with_weights)?,
            words: Words::new(key, Purpose::Noise, self.number),
            lowered: lowered.in_round(self.round),
        })
    }
}

impl Deciding {
    /// Decide items of a plain round from their whole weights. Hands out the place of each that is released, and its noisy
    /// weight as it is published.
    ///
    /// # Errors
    /// As [`checked_weight`].
    pub fn each_released(&self, items: &[(Digest, u64)], mut released: impl FnMut(usize, i64)) -> Result<()> {
        let digests: Vec<Digest> = items.iter().map(|(item, _)| *item).collect();
        let mut words = vec![0; digests.len()];
        self.words.fill(&digests, &mut words);
        for (place, ((_, weight), word)) in items.iter().zip(words).enumerate() {
            let weight = checked_weight(*weight)?.saturating_sub(self.lowered);
            if let ItemOutcome::Released(noisy) = self.decider.decide(ItemState::default(), weight, word) {
                released(place, self.published(noisy));
            }
        }
        Ok(())
    }

    /// Hand out the place of each item that the round would release if so many users gave it one unit each.
    ///
    /// No user gives more, and a larger weight is released wherever a smaller one is. So other items need not be weighed.
    pub fn each_possible(
        &self,
        items: &[Digest],
        users: impl Iterator<Item = u32>,
        possible: impl FnMut(usize),
    ) {
        let mut words = vec![0; items.len()];
        self.words.fill(items, &mut words);
        let releases = |(users, word)| {
            self.decider.releases((u64::from(users) * UNIT).saturating_sub(self.lowered), word)
        };
        let found = (0..).zip(users.zip(words)).filter(|(_, given)| releases(*given));
        found.map(|(place, _)| place).for_each(possible);
    }

    /// A noisy weight as it is published.
    fn published(&self, noisy: i64) -> i64 {
        let added = if self.decider.shows_weights() { self.lowered } else { 0 };
        noisy.saturating_add_unsigned(added)
    }
}
