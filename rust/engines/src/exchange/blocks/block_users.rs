//! Packed contributions become blocks of users, which give to their items for the first time.
//!
//! Blocks begin with the digests of their shared items, whose slots are places there. The slots of all tasks come with
//! the states after the round.

use arrow_array::RecordBatch;
use dpsel_core::bounding::PlacedItems;
use dpsel_core::rounds::{BlockFiller, BlockRound, SharedTable};
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::task::{BlockTask, pack_block};
use crate::exchange::rows::BucketUsers;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    BucketRuns, BucketedValues, ByDigest, PartContents, UserCounts, bucketed_values, pack_pairs, push_weight,
};

/// A block ends with the first user that makes it so many rows, or with the bucket if it has this part of them.
const BLOCK_ROWS: usize = if cfg!(test) { 1 << 8 } else { 1 << 18 };
const NEARLY: usize = 4;

/// An item that was not looked up yet.
const UNKNOWN: u32 = u32::MAX;
/// An item that one user at most holds.
const ALONE: u32 = UNKNOWN - 1;

const LOST: Error = Error::Internal("a shared item got no weight");

/// The stage that puts users into blocks.
///
/// # Contract
/// All rows of a bucket come one after the other in one task. So each user is bounded with all of its items.
#[derive(Debug)]
pub struct BlockUsers {
    filling: BlockFiller,
    block: OpenBlock,
    bucket: BucketUsers,
    runs: BucketRuns,
    /// For the place of each item in the bucket its slot in the block.
    places: Vec<u32>,
}

impl BlockUsers {
    /// `users` has the numbers of users of all items with more than one.
    pub(crate) fn new(filling: BlockFiller, key: &ReleaseKey, users: UserCounts, round: BlockRound) -> Self {
        let block = OpenBlock {
            counts: users,
            task: BlockTask::new(round),
            slots: ByDigest::default(),
            shared: Vec::new(),
            lines: Vec::new(),
            sums: ByDigest::default(),
        };
        let (bucket, runs) = (BucketUsers::new(key), BucketRuns::default());
        Self { filling, block, bucket, runs, places: Vec::new() }
    }

    /// Put all users of the bucket that has ended into blocks.
    fn end_bucket(&mut self, number: i32, made: &mut BucketedValues) -> Result<()> {
        let Self { filling, block, bucket, places: known, .. } = self;
        known.clear();
        known.resize(bucket.items.len(), UNKNOWN);
        bucket.each_user(|items, user, places, keyed| {
            filling.add((items, user, places), |place| block.slot(place, items, known), keyed)?;
            if filling.is_full(BLOCK_ROWS, 1) {
                block.end(filling, number, made)?;
                known.fill(UNKNOWN);
            }
            Ok(())
        })?;
        bucket.clear();
        if filling.rows() >= BLOCK_ROWS / NEARLY { block.end(filling, number, made) } else { Ok(()) }
    }
}

/// What the block that is being filled shares, and what came of those before.
#[derive(Debug)]
struct OpenBlock {
    counts: UserCounts,
    task: BlockTask,
    /// The slots of the shared items of the block.
    slots: ByDigest<u32>,
    shared: Vec<Digest>,
    /// Shared items, each with one directly above it.
    lines: Vec<(Digest, Digest)>,
    /// What the users of all blocks gave to shared items.
    sums: ByDigest<u64>,
}

impl OpenBlock {
    /// The slot of the item at a place if it is shared, which `known` remembers.
    ///
    /// An item has a slot only if those above it do. Its users hold those above it, but another item may have its hash.
    fn slot(&mut self, place: u32, items: PlacedItems<'_>, known: &mut [u32]) -> Option<u32> {
        let (item, at) = (items.digests[place as usize], place as usize);
        if known[at] == UNKNOWN {
            let above: Vec<u32> = items.lineage.iter().flat_map(|lineage| lineage.above(place)).collect();
            let is_shared = self.counts.at_most(item) > 1
                && above.iter().all(|above| self.slot(*above, items, known).is_some());
            known[at] = if is_shared { self.slot_of(item, above, items) } else { ALONE };
        }
        Some(known[at]).filter(|slot| *slot != ALONE)
    }

    /// The slot of a shared item, given the places of those directly above it.
    fn slot_of(&mut self, item: Digest, above: Vec<u32>, items: PlacedItems<'_>) -> u32 {
        let slot = *self.slots.entry(item).or_insert(codes(self.shared.len()));
        if slot as usize == self.shared.len() {
            self.shared.push(item);
            self.lines.extend(above.into_iter().map(|above| (item, items.digests[above as usize])));
        }
        slot
    }

    /// The places among the sums of shared items, each with the place of one directly above it: packed pairs.
    fn packed_lines(&self) -> Result<Vec<u8>> {
        let places: ByDigest<u64> = self.sums.keys().copied().zip(0..).collect();
        let place = |item: &Digest| places.get(item).copied().ok_or(LOST);
        let pairs = self.lines.iter().map(|(item, above)| Ok((place(item)?, place(above)?)));
        let mut pairs: Vec<(u64, u64)> = pairs.collect::<Result<_>>()?;
        pairs.sort_unstable();
        pairs.dedup();
        Ok(pack_pairs(pairs.into_iter()))
    }

    /// Let the users give, and write the block, whose users are of this bucket and earlier ones.
    fn end(&mut self, filling: &mut BlockFiller, bucket: i32, made: &mut BucketedValues) -> Result<()> {
        let (mut users, mut shared) =
            (filling.end(), SharedTable::new(self.shared.len(), (1, self.shared.len())));
        users.begin();
        let is_needed = self.task.run(&mut users, &shared)?;
        shared.add_up();
        for (item, given) in self.shared.iter().zip(shared.weights()) {
            let sum = self.sums.entry(*item).or_insert(0);
            // Otherwise: more than the driver takes.
            *sum = sum.saturating_add(given);
        }
        if is_needed {
            made.push(bucket, pack_block(&users, Some(&self.shared)));
        }
        self.slots.clear();
        self.shared.clear();
        Ok(())
    }
}

impl Stage for BlockUsers {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut made = BucketedValues::default();
        for (bucket, packed) in bucketed_values(&batch)? {
            if let Some(last) = self.runs.ended_by(bucket)? {
                self.end_bucket(last, &mut made)?;
            }
            self.bucket.push(packed)?;
        }
        made.into_batches()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let mut made = BucketedValues::default();
        if let Some(last) = self.runs.current() {
            self.end_bucket(last, &mut made)?;
            self.block.end(&mut self.filling, last, &mut made)?;
        }
        let mut sums = Vec::new();
        self.block.sums.iter().for_each(|(item, sum)| push_weight(*item, *sum, &mut sums));
        let mut made = made.into_batches()?;
        let parts = [(PartContents::ByDigest, sums), (PartContents::Lines, self.block.packed_lines()?)];
        made.extend(self.block.task.for_driver(&parts).into_batches()?);
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use dpsel_core::task::Request;
    use dpsel_rows::contributions::Lineage;

    use super::*;
    use crate::exchange::wire::push_frequent;

    const STEERED: &str = r#"{"task": "select", "columns": {"user": "u", "items": ["i"]}, "with_weights": false,
        "privacy": {"kind": "approx_dp", "epsilon": 1.0, "delta": 1e-2}, "max_items_per_user": 9,
        "mechanism": {"name": "steered", "rounds": 5}}"#;

    /// Which items of a line are shared, the highest first, and the lines of these. The items have these hashes, and two
    /// users have each of the hashes from 10 on.
    fn shared(hashes: &[u32]) -> (Vec<bool>, usize) {
        let digests: Vec<Digest> = hashes.iter().map(|hash| Digest(u128::from(*hash) << 96 | 1)).collect();
        let (mut lineage, mut packed) = (Lineage::default(), Vec::new());
        for (level, place) in (1..).zip(0..codes(hashes.len())) {
            lineage.push(level, place.checked_sub(1));
        }
        (10..20).for_each(|hash| push_frequent(hash, 2, &mut packed));
        let asked = Request::from_json(STEERED).and_then(Request::into_select).unwrap();
        let round =
            BlockRound::new(&asked.calibrate().unwrap(), 0, false, &ReleaseKey::insecure_test([1; 32]));
        let mut block = OpenBlock {
            counts: UserCounts::unpack(1, &packed).unwrap(),
            task: BlockTask::new(round.unwrap()),
            slots: ByDigest::default(),
            shared: Vec::new(),
            lines: Vec::new(),
            sums: ByDigest::default(),
        };
        let (items, mut known) =
            (PlacedItems { digests: &digests, lineage: Some(&lineage) }, vec![UNKNOWN; hashes.len()]);
        // From below, so that nothing is known of those above.
        let mut found: Vec<bool> = (0..codes(hashes.len()))
            .rev()
            .map(|place| block.slot(place, items, &mut known).is_some())
            .collect();
        found.reverse();
        (found, block.lines.len())
    }

    /// The rule of Lemma 2 of `docs/algorithms/descent.md`.
    #[test]
    fn an_item_below_one_that_is_not_shared_is_not_shared_whatever_its_hash() {
        assert_eq!(shared(&[10, 11, 12]), (vec![true; 3], 2));
        assert_eq!(shared(&[5, 11]), (vec![false; 2], 0));
        assert_eq!(shared(&[5, 11, 12]), (vec![false; 3], 0));
        assert_eq!(shared(&[10, 5, 12]), (vec![true, false, false], 0));
        assert_eq!(shared(&[10, 11, 5]), (vec![true, true, false], 1));
    }
}
