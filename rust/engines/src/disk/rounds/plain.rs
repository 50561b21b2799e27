//! Plain rounds, which decide items one by one. The weights of all candidates are in memory.
//!
//! A candidate is an item that some round can release, as the user counts say. Users are read once, and pruned as on
//! Spark: what stays of a user is its number of items, and its candidates with their ranks. Candidates go by codes. So a
//! round reads a few bytes of each row, adds up weights in arrays and decides its items, as in memory. If the arrays of all
//! threads are too large, they hold a range of the candidates, and the round reads the users once for each range.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use dpsel_core::bounding::ItemSet;
use dpsel_core::rounds::{Deciding, Round};
use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use dpsel_rows::contributions::ItemCode;
use dpsel_rows::runtime::memory::Growing;
use dpsel_rows::scratch::{Spool, Stored};

use super::candidates::{Coding, Met, most_candidates};
use super::job::{PLAIN, Rounds};
use crate::disk::threads::parts;
use crate::exchange::{
    BucketUsers, CandidateSums, Decisions, Packed, PackedPruned, PrunedUsers, Pruner, Weights,
};

/// Rows of a block, about.
const BLOCK_ROWS: usize = 1 << 15;
/// Items that are decided together.
const DECIDED: usize = 1 << 14;

/// Pruned users in scratch, and the candidates by code.
struct OnCandidates {
    users: Stored,
    candidates: Growing<u128>,
}

impl Rounds<'_> {
    /// The decisions of all rounds, given the user counts of frequent items, and so much room for items.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn plain(
        &self,
        contributions: Arc<Stored>,
        frequent: Vec<(u32, u32)>,
        room: usize,
    ) -> Result<Packed> {
        let pruned = self.pruned(&contributions, frequent, room)?;
        drop(contributions);
        self.stages.control.end_phase();
        self.on_candidates(&pruned)
    }

    /// Prune all users.
    fn pruned(&self, contributions: &Stored, frequent: Vec<(u32, u32)>, room: usize) -> Result<OnCandidates> {
        let (above, most) = (self.job.frequent_above(), most_candidates(room, frequent.len()));
        let (met, users) = Met::new(frequent, above)?;
        let coding = Coding {
            chances: self.job.chances()?,
            users: &users,
            above,
            met: RwLock::new(met),
            most,
            buckets: parts(contributions).len(),
            begun: AtomicUsize::new(0),
            needed: AtomicUsize::new(0),
        };
        let (pruner, blocks) =
            (Pruner::new(self.job.spec().kept()?, self.job.key()), Spool::new(self.scratch)?);
        self.stages.each_bucket(
            contributions,
            || (BucketUsers::new(self.job.key()), PruningBuffers::default(), self.stages.writer(&blocks)),
            |(bucket, buffers, writer), number, values| {
                if coding.needed.load(Ordering::Relaxed) > 0 {
                    return Ok(());
                }
                coding.begun.fetch_add(1, Ordering::Relaxed);
                bucket.read(contributions, values, self.stages.control)?;
                buffers.prune(bucket, (&pruner, &coding), |packed| writer.push(number, packed))
            },
            |(.., mut writer)| writer.flush(),
        )?;
        let needed = coding.needed.into_inner();
        if needed > 0 {
            return Err(self.stages.memory.exceeded(needed, PLAIN));
        }
        let met = coding.met.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(OnCandidates { users: blocks.stored(), candidates: met.candidates })
    }

    /// The decisions of all rounds on pruned users.
    fn on_candidates(&self, pruned: &OnCandidates) -> Result<Packed> {
        let (mut removed, mut released) = (ItemSet::default(), Packed::default());
        for turn in self.job.turns()?.each() {
            let sums = self.weights(turn.round, pruned, &removed)?;
            let decided = decide(&turn.deciding()?, pruned, &sums, &mut removed)?;
            released = released.with(&self.held(decided)?);
            self.stages.control.end_phase();
        }
        Ok(released)
    }

    /// The weight of each candidate in a round. Users are read once for each range of candidates.
    fn weights(&self, round: &Round, pruned: &OnCandidates, removed: &ItemSet) -> Result<Vec<u64>> {
        let (candidates, summed) = (pruned.candidates.len(), self.stages.memory.summed);
        let (bound, all) = (self.job.spec().kept()?, Mutex::new(vec![0_u64; candidates]));
        for first in (0..candidates).step_by(summed) {
            let range = first..candidates.min(first + summed);
            self.stages.each_value(
                &pruned.users,
                || (Weights::new(round), CandidateSums::new(candidates, range.clone())),
                |(weights, sums), _, packed| {
                    PackedPruned::of(packed)?.weigh(bound.get(), weights, removed, sums)
                },
                |(_, sums)| {
                    sums.add_to(&mut all.lock().unwrap_or_else(PoisonError::into_inner));
                    Ok(())
                },
            )?;
        }
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The decisions of a round. The items that it releases are removed.
fn decide(deciding: &Deciding, pruned: &OnCandidates, sums: &[u64], removed: &mut ItemSet) -> Result<Packed> {
    let (candidates, mut decided) = (pruned.candidates.as_slice(), Vec::new());
    for first in (0..sums.len()).step_by(DECIDED) {
        let places = first..sums.len().min(first + DECIDED);
        let given = places.filter(|place| sums[*place] > 0);
        let (places, weights): (Vec<usize>, Vec<(Digest, u64)>) =
            given.map(|place| (place, (Digest(candidates[place]), sums[place]))).unzip();
        deciding.each_released(&weights, |at, noisy| {
            removed.insert(ItemCode::from_index(places[at]));
            Decisions::push(weights[at].0, noisy, &mut decided);
        })?;
    }
    Ok(decided.into())
}

/// The buffers of one thread that prunes users, kept from bucket to bucket.
#[derive(Default)]
struct PruningBuffers {
    codes: Vec<u32>,
    pruned: PrunedUsers,
    packed: Vec<u8>,
}

impl PruningBuffers {
    /// Prune all users of the bucket.
    fn prune(
        &mut self,
        bucket: &mut BucketUsers,
        (pruner, coding): (&Pruner, &Coding<'_>),
        mut write: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let Self { codes, pruned, packed } = self;
        coding.codes_of(&bucket.items, codes);
        let mut hand_out = |pruned: &mut PrunedUsers| {
            packed.clear();
            pruned.take(packed);
            write(packed)
        };
        bucket.each_user(|items, user, places, keyed| {
            pruner.add(user, (items, places), codes, (pruned, keyed));
            if pruned.rows() >= BLOCK_ROWS { hand_out(pruned) } else { Ok(()) }
        })?;
        if pruned.rows() > 0 { hand_out(pruned) } else { Ok(()) }
    }
}
