//! The job: the request and key that all tasks of one release share. It makes the stages.

use std::sync::Arc;

use dpsel_core::counting::{CountNoise, RestNoise, RestSums};
use dpsel_core::rounds::{BlockFiller, BlockRound, Lowered, Turn, Turns};
use dpsel_core::task::JobSpec;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};
use dpsel_rows::contributions::RowOrder;

use crate::exchange::blocks::{BlockUsers, WeighBlocks};
use crate::exchange::items::{NoisyCounts, Sum, Total};
use crate::exchange::rows::{
    Chances, Count, CountReleased, CountRest, Encode, FilterCandidates, Gather, Lengths, Name, OnUsers,
    Prune, TakeOut, Weigh,
};
use crate::exchange::stage::Both;
use crate::exchange::wire::{
    Buckets, Decisions, Dictionaries, Packed, ReleasedSet, UserCounts, unpack_states,
};
use dpsel_exact::numeric::UNIT;

const NO_ROUND: Error = Error::Internal("there is no such round");
const NO_REST: Error = Error::Internal("the calibration has no noise of the rest");
const UNCOUNTED: Error = Error::Internal("the calibration has no noise of counts");
const UNSCORED: Error = Error::Internal("the rounds do not score");

/// One release, ready to be computed in pieces. A clone shares the parameters.
#[derive(Debug, Clone)]
pub struct ExchangeJob {
    spec: Arc<JobSpec>,
    key: ReleaseKey,
    rows_together: usize,
}

/// Rows of users that a task takes together, which take up to about a hundred bytes each. That decides its memory and what it
/// sends, and no release.
pub(crate) const ROWS_TOGETHER: usize = 1 << 23;

impl ExchangeJob {
    /// The job, on the driver or on another machine.
    #[must_use]
    pub fn new(spec: JobSpec, key: ReleaseKey) -> Self {
        Self { spec: spec.into(), key, rows_together: ROWS_TOGETHER }
    }

    /// The same job, whose tasks take so many rows together. Its release is the same.
    pub(crate) fn with_rows_together(self, rows_together: usize) -> Self {
        Self { rows_together, ..self }
    }

    /// The parameters.
    #[must_use]
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// The release key.
    #[must_use]
    pub fn key(&self) -> &ReleaseKey {
        &self.key
    }

    /// Whether the rounds score: [`ExchangeJob::block_users`] and [`ExchangeJob::weigh_blocks`] are their stages then,
    /// instead of [`ExchangeJob::prune_and_weigh`] and [`ExchangeJob::weigh`].
    #[must_use]
    pub fn is_steered(&self) -> bool {
        self.spec.calibration.scoring().is_some()
    }

    /// Whether items are the nodes of a tree.
    #[must_use]
    pub fn is_tree(&self) -> bool {
        self.spec.columns.levels.is_some()
    }

    /// The stage that reads the table without some items, and counts the users of the others if asked for.
    ///
    /// # Errors
    /// A number of buckets out of range.
    pub fn encode(&self, buckets: u32, with_user_counts: bool, left_out: ReleasedSet) -> Result<Encode> {
        let (columns, buckets) = (self.spec.columns.clone(), Buckets::new(buckets)?);
        let kept = (self.rows(), left_out, self.spec.lines_of_ngrams());
        Ok(Encode::new(columns, self.key.clone(), buckets, with_user_counts, kept))
    }

    /// The stage that takes items out of packed contributions.
    #[must_use]
    pub fn take_out(&self, items: ReleasedSet) -> TakeOut {
        TakeOut { dictionaries: Dictionaries::new(&self.key), items }
    }

    /// The stage that counts users by their numbers of items, in classes that end with these sizes, for a look.
    #[must_use]
    pub fn lengths(&self, sizes: Vec<u32>) -> Gather<Lengths> {
        self.gather(Lengths { sizes }, RowOrder::Any)
    }

    /// The number of users above which an item counts as frequent, at least 1. With this number or fewer, hardly any
    /// item is released in any round, whatever its users give it, unless a single user can have an item released.
    ///
    /// The released items do not depend on it, only the amount that is sent.
    #[must_use]
    pub fn frequent_above(&self) -> u32 {
        const HARDLY: f64 = 1e-3;
        const MOST: u32 = 1 << 20;
        let rounds = &self.spec.calibration.rounds;
        let is_rare = |users: u32| {
            let weight = i128::from(users) * i128::from(UNIT);
            rounds.iter().all(|round| round.rule.keep_probability(weight) <= HARDLY)
        };
        let (mut rare, mut above) = (1, MOST);
        while above - rare > 1 {
            let middle = rare.midpoint(above);
            if is_rare(middle) { rare = middle } else { above = middle }
        }
        rare
    }

    /// The stage that reduces each user to the data that the rounds need, the items that some round can release among
    /// them, and weighs the first round.
    ///
    /// # Errors
    /// No rounds; a rule that cannot be made ready.
    pub fn prune_and_weigh(&self, users: UserCounts) -> Result<Both<Prune, Weigh>> {
        let prune = Prune::new(self.spec.kept()?, &self.key, (self.chances()?, users), self.rows_together);
        Ok(Both::new(prune, self.weigh(0, ReleasedSet::default())?))
    }

    /// What the rounds can release.
    ///
    /// # Errors
    /// A rule that cannot be made ready.
    pub(crate) fn chances(&self) -> Result<Chances> {
        self.turns()?.each().map(Turn::deciding).collect::<Result<_>>().map(Chances)
    }

    /// The stage that weighs a round, counted from 0. It leaves out the items released before, and those that the round
    /// cannot release. The driver decides by [`decided`](super::decided).
    ///
    /// # Errors
    /// A round that does not exist; a rule that cannot be made ready.
    pub fn weigh(&self, number: u32, released: ReleasedSet) -> Result<Weigh> {
        let turn = self.turn(number)?;
        Ok(Weigh::new(self.spec.kept()?, turn.round, turn.deciding()?, released))
    }

    /// A round in its turn, counted from 0.
    ///
    /// # Errors
    /// A round that does not exist; as [`ExchangeJob::turns`].
    pub(super) fn turn(&self, number: u32) -> Result<Turn<'_>> {
        self.turns()?.turn(number).ok_or(NO_ROUND)
    }

    /// The order of the rounds.
    ///
    /// # Errors
    /// A least number of users where there can be none.
    pub(crate) fn turns(&self) -> Result<Turns<'_>> {
        let JobSpec { calibration, with_weights, min_users, .. } = &*self.spec;
        Turns::new(calibration, (*with_weights, Lowered::to(*min_users)), &self.key)
    }

    /// The stage that puts users into blocks and weighs the first scored round. `users` has the numbers of users of all
    /// items with more than one.
    ///
    /// # Errors
    /// Rounds that do not score.
    pub fn block_users(&self, users: UserCounts) -> Result<BlockUsers> {
        Ok(BlockUsers::new(self.filling()?, &self.key, users, self.block_round(0)?))
    }

    /// The stage that weighs a later scored round on blocks, given the states of shared items.
    ///
    /// # Errors
    /// Rounds that do not score; damaged states.
    pub fn weigh_blocks(&self, round: u32, states: &Packed) -> Result<WeighBlocks> {
        Ok(WeighBlocks::new(self.block_round(round)?, unpack_states(states.bytes())?))
    }

    /// What bounds users and puts them into blocks.
    ///
    /// # Errors
    /// Rounds that do not score.
    pub(crate) fn filling(&self) -> Result<BlockFiller> {
        let (_, publish) = self.spec.calibration.scoring().ok_or(UNSCORED)?;
        Ok(BlockFiller::new(self.spec.kept()?, &self.key, publish.allowances()))
    }

    /// A scored round on blocks, counted from 0.
    fn block_round(&self, round: u32) -> Result<BlockRound> {
        BlockRound::new(&self.spec.calibration, round, self.spec.with_weights, &self.key)
    }

    /// All scored rounds.
    ///
    /// # Errors
    /// Rounds that do not score.
    pub(crate) fn scored_rounds(&self) -> Result<Vec<BlockRound>> {
        BlockRound::all(&self.spec.calibration, self.spec.with_weights, &self.key)
    }

    /// The stage that counts the users of the wanted items, or of all items. With `bounded`, a user counts only for the
    /// items that it keeps under its bound.
    ///
    /// # Errors
    /// A number of buckets out of range.
    pub fn count(&self, buckets: u32, wanted: Option<ReleasedSet>, bounded: bool) -> Result<Gather<Count>> {
        let bound = self.spec.bound.filter(|_| bounded);
        let count = Count { key: self.key.clone(), buckets: Buckets::new(buckets)?, bound, wanted };
        Ok(self.gather(count, RowOrder::Any))
    }

    /// The stage that adds up counts, and keeps only the `most` largest if asked for.
    #[must_use]
    pub fn total(&self, most: Option<u32>) -> Sum<Total> {
        Sum::new(Total::new(most))
    }

    /// The stage that counts the users or rows of released items, which is to see all of each user.
    ///
    /// # Errors
    /// A number of buckets out of range; a calibration without noise of counts.
    pub fn count_released(&self, buckets: u32, released: ReleasedSet) -> Result<Gather<CountReleased>> {
        let limit = self.count_noise()?.limit();
        let count = CountReleased { buckets: Buckets::new(buckets)?, counted: released, limit };
        Ok(self.gather(count, self.rows()))
    }

    /// The stage that makes noisy numbers of these counts.
    ///
    /// # Errors
    /// A calibration without noise of counts.
    pub fn noisy_counts(&self) -> Result<Sum<NoisyCounts>> {
        Ok(Sum::new(NoisyCounts { noise: self.count_noise()?, key: self.key.clone() }))
    }

    /// The noisy number of each of these items: one that was found, or noise alone. An item that comes out in any case may
    /// have no user.
    ///
    /// # Errors
    /// [`Error::Internal`] if a number is missing.
    pub(crate) fn numbers_of(
        &self,
        items: &[Digest],
        found: &Decisions,
        noise: &CountNoise,
    ) -> Result<Vec<i64>> {
        let without = items.iter().filter(|item| !found.contains(**item));
        let mut drawn = noise.noisy_counts(without.map(|item| (*item, 0)), &self.key).into_iter();
        let numbers: Option<_> = items.iter().map(|item| found.get(*item).or_else(|| drawn.next())).collect();
        numbers.ok_or(Error::Internal("an item without a number"))
    }

    /// The stage that sums up what a list covers, which is to see all of each user.
    ///
    /// # Errors
    /// A calibration without noise of the rest.
    pub fn count_rest(&self, listed: ReleasedSet) -> Result<Gather<CountRest>> {
        Ok(self.gather(CountRest { listed, noise: self.rest_noise()? }, self.rows()))
    }

    /// The sums of what a list covers, from all packed values of [`ExchangeJob::count_rest`].
    ///
    /// # Errors
    /// A calibration without noise of the rest; damaged values.
    pub(crate) fn rest_of(&self, packed: &[u8]) -> Result<RestSums> {
        let mut sums = self.rest_noise()?.sums();
        sums.add_bytes(packed)?;
        Ok(sums)
    }

    fn rest_noise(&self) -> Result<RestNoise> {
        self.spec.calibration.rest.ok_or(NO_REST)
    }

    /// Which rows of a user and an item are kept: one, or as many as count.
    fn rows(&self) -> RowOrder {
        match self.spec.calibration.numbers().most_rows() {
            // Only users are counted, or nothing.
            1 => RowOrder::Any,
            most => RowOrder::Rows(most),
        }
    }

    fn count_noise(&self) -> Result<CountNoise> {
        self.spec.calibration.counts.ok_or(UNCOUNTED)
    }

    /// The stage that finds the items of the table that pass a filter.
    ///
    /// # Errors
    /// A number of buckets out of range.
    pub fn filter_candidates(&self, buckets: u32, filter: ReleasedSet) -> Result<FilterCandidates> {
        let (buckets, dictionaries) = (Buckets::new(buckets)?, Dictionaries::new(&self.key));
        Ok(FilterCandidates::new(buckets, dictionaries, filter))
    }

    /// The stage that looks up the names of released items in the table without some items.
    #[must_use]
    pub fn name(&self, released: ReleasedSet, left_out: ReleasedSet) -> Name {
        Name::new(&self.spec.columns, self.key.clone(), released, left_out)
    }

    /// A stage on users, whose items stand in an order.
    fn gather<T: OnUsers>(&self, stage: T, order: RowOrder) -> Gather<T> {
        Gather::new(stage, &self.key, order, self.rows_together)
    }
}
