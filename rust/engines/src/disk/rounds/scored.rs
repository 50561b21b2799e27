//! Scored rounds on the disk: each reads its users once, in blocks. Of shared items the sums and importances are in memory,
//! and the rest is read once a round.

use std::cmp::Reverse;
use std::sync::{Arc, PoisonError, RwLock};

use dpsel_core::bounding::PlacedItems;
use dpsel_core::rounds::{
    BLOCK_ITEMS, BlockFiller, Driver, ItemBlock, MOST_SHARED, SharedLines, SharedTable, UserBlock,
};
use dpsel_exact::numeric::widths::codes;
use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};
use dpsel_rows::scratch::Stored;

use super::blocks::DiskBlocks;
use super::frequent_items::{FrequentTable, Known, NEW, RARE};
use super::job::Rounds;
use crate::exchange::{BucketUsers, Decisions, Packed};

/// Shared items of which threads have sums of their own.
const THREAD_SLOTS: usize = 1 << 18;

/// Rows of shared items that take as much memory as one of an item that one user alone keeps. The more rows a block has, the
/// more stand in each range of slots, and the fewer ranges are read.
const SHARED_IN_ROW: usize = 8;

/// The slots of shared items. The more users, the smaller, so that what is known of frequent items fits into caches.
struct SharedSlots {
    items: FrequentTable,
    number: usize,
    /// Slots, each with the slot of an item directly above.
    lines: Vec<(u32, u32)>,
}

impl SharedSlots {
    /// Give slots to hashes, each with its users. No item is met yet.
    ///
    /// # Errors
    /// [`Error::Capacity`] for too many hashes.
    fn new(mut counts: Vec<(u32, u32)>) -> Result<Self> {
        let mut items = FrequentTable::new(&mut counts)?;
        counts.sort_unstable_by_key(|(hash, users)| (Reverse(*users), *hash));
        counts.iter().zip(0..).for_each(|((hash, _), slot)| items.set_number(*hash, slot));
        Ok(Self { items, number: counts.len(), lines: Vec::new() })
    }

    /// The slot of an item, or [`RARE`]. Items whose hash another one has get the slots beyond.
    ///
    /// # Errors
    /// [`Error::Capacity`] for too many items.
    fn meet(&mut self, item: Digest) -> Result<u32> {
        let known = self.items.find(item);
        let slot = match known {
            Known::Met(slot) => return Ok(slot),
            Known::New { is_rare: true } => return Ok(RARE),
            Known::First(slot) => slot,
            Known::New { is_rare: false } if self.number < MOST_SHARED => {
                self.number += 1;
                codes(self.number - 1)
            }
            Known::New { is_rare: false } => {
                return Err(Error::Capacity { what: "items of several users", limit: MOST_SHARED as u64 });
            }
        };
        self.items.note(item, &known, slot);
        Ok(slot)
    }

    /// The slot of each item; [`RARE`] for items that one user at most holds.
    ///
    /// An item has a slot only if those above it do, which come before it. Its users hold them, but another item may have
    /// its hash.
    fn of_items(shared: &RwLock<Self>, items: PlacedItems<'_>, found: &mut Vec<u32>) -> Result<()> {
        found.clear();
        shared.read().unwrap_or_else(PoisonError::into_inner).items.numbers_of(items.digests, found);
        let mut shared = shared.write().unwrap_or_else(PoisonError::into_inner);
        for (at, place) in (0..found.len()).zip(0..) {
            let is_new = found[at] == NEW;
            if is_new {
                found[at] = shared.meet(items.digests[at])?;
            }
            for above in items.lineage.iter().flat_map(|lineage| lineage.above(place)) {
                if found[above as usize] == RARE {
                    found[at] = RARE;
                } else if is_new && found[at] != RARE {
                    shared.lines.push((found[at], found[above as usize]));
                }
            }
        }
        Ok(())
    }
}

/// Puts users into blocks: bounded, with the items that they keep.
struct BlockWriter<'a> {
    shared: &'a RwLock<SharedSlots>,
    written: &'a DiskBlocks<'a, UserBlock>,
    /// Rows of a block of items that one user alone keeps, about.
    rows: usize,
}

/// The buffers of one thread that puts users into blocks.
struct WriterBuffers {
    bucket: BucketUsers,
    slots: Vec<u32>,
    filling: BlockFiller,
    packed: Vec<u8>,
}

impl BlockWriter<'_> {
    /// Put all users of the bucket into blocks. The last block is written when it is full, or by [`BlockWriter::write`].
    fn fill(&self, buffers: &mut WriterBuffers) -> Result<()> {
        let WriterBuffers { bucket, slots, filling, packed } = buffers;
        SharedSlots::of_items(self.shared, bucket.placed(), slots)?;
        bucket.each_user(|items, user, places, keyed| {
            let slot = |place: u32| Some(slots[place as usize]).filter(|slot| *slot != RARE);
            filling.add((items, user, places), slot, keyed)?;
            if filling.is_full(self.rows, SHARED_IN_ROW) { self.write(filling, packed) } else { Ok(()) }
        })
    }

    /// Write a block.
    fn write(&self, filling: &mut BlockFiller, packed: &mut Vec<u8>) -> Result<()> {
        if filling.rows() > 0 { self.written.add(&filling.end(), packed) } else { Ok(()) }
    }
}

impl<'a> Rounds<'a> {
    /// The decisions of the last round, given the hashes of all items with more than one user, and their users.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn scored(&self, contributions: Arc<Stored>, counts: Vec<(u32, u32)>) -> Result<Packed> {
        let (stages, rounds) = (self.stages, self.job.scored_rounds()?);
        let (mut users, mut slots) = self.in_blocks(&contributions, counts)?;
        drop(contributions);
        let (number, items) = (slots.number, self.items_before_rounds(slots.items.in_order())?);
        let lines = std::mem::take(&mut slots.lines);
        let lines = self.job.spec().calibration.descent.then(|| SharedLines::new(number, lines));
        // Before the next arrays, so that the peak is lower.
        drop(slots);
        let shared = SharedTable::new(number, (stages.memory.threads, THREAD_SLOTS)).with_lines(lines);
        stages.control.end_phase();
        let (alone, shared) = Driver::new(rounds, shared, items).run(&mut users, stages.control)?;
        let mut released = Vec::new();
        Decisions::push_released(&alone, &mut released);
        Decisions::push_released(&shared, &mut released);
        self.held(released.into())
    }

    /// The users in blocks, and the shared items by slot.
    fn in_blocks(
        &self,
        contributions: &Stored,
        counts: Vec<(u32, u32)>,
    ) -> Result<(DiskBlocks<'a, UserBlock>, SharedSlots)> {
        let (stages, shared) = (self.stages, RwLock::new(SharedSlots::new(counts)?));
        let written = DiskBlocks::new(stages, self.scratch)?;
        let rows = stages.memory.block_rows;
        let blocks = BlockWriter { shared: &shared, written: &written, rows };
        let filling = self.job.filling()?;
        let buffers = || WriterBuffers {
            bucket: BucketUsers::new(self.job.key()),
            slots: Vec::new(),
            filling: filling.clone(),
            packed: Vec::new(),
        };
        stages.each_bucket(
            contributions,
            buffers,
            |buffers, _, values| {
                buffers.bucket.read(contributions, values, stages.control)?;
                blocks.fill(buffers)
            },
            |mut buffers| blocks.write(&mut buffers.filling, &mut buffers.packed),
        )?;
        Ok((written, shared.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }

    /// These items before the first round, many together.
    fn items_before_rounds(
        &self,
        mut digests: impl Iterator<Item = Digest>,
    ) -> Result<DiskBlocks<'a, ItemBlock>> {
        let (items, mut packed, mut first) = (DiskBlocks::new(self.stages, self.scratch)?, Vec::new(), 0);
        loop {
            let digests: Vec<Digest> = digests.by_ref().take(BLOCK_ITEMS).collect();
            if digests.is_empty() {
                return Ok(items);
            }
            let number = digests.len();
            items.add(&ItemBlock::new(first, digests), &mut packed)?;
            first += number;
        }
    }
}

#[cfg(test)]
mod tests {
    use dpsel_rows::contributions::Lineage;

    use super::*;

    /// The items of a line have these hashes, the highest first. Two users have each of the hashes from 10 on.
    fn slots(hashes: &[u32]) -> (Vec<u32>, Vec<(u32, u32)>) {
        let digests: Vec<Digest> = hashes.iter().map(|hash| Digest(u128::from(*hash) << 96 | 1)).collect();
        let mut lineage = Lineage::default();
        for (level, place) in (1..).zip(0..codes(hashes.len())) {
            lineage.push(level, place.checked_sub(1));
        }
        let shared = RwLock::new(SharedSlots::new((10..20).map(|hash| (hash, 2)).collect()).unwrap());
        let mut found = Vec::new();
        let items = PlacedItems { digests: &digests, lineage: Some(&lineage) };
        SharedSlots::of_items(&shared, items, &mut found).unwrap();
        (found, shared.into_inner().unwrap().lines)
    }

    /// The rule of Lemma 2 of `docs/algorithms/descent.md`.
    #[test]
    fn an_item_below_one_that_is_not_shared_is_not_shared_whatever_its_hash() {
        assert_eq!(slots(&[10, 11, 12]), (vec![0, 1, 2], vec![(1, 0), (2, 1)]));
        assert_eq!(slots(&[5, 11]), (vec![RARE, RARE], vec![]));
        assert_eq!(slots(&[5, 11, 12]), (vec![RARE; 3], vec![]));
        assert_eq!(slots(&[10, 5, 12]), (vec![0, RARE, RARE], vec![]));
        assert_eq!(slots(&[10, 11, 5]), (vec![0, 1, RARE], vec![(1, 0)]));
    }
}
