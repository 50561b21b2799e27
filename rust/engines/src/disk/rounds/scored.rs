//! Scored rounds on the disk: each reads its users once, in blocks. Of shared items the sums and importances are in memory,
//! and the rest is read once a round.

use std::sync::{Arc, PoisonError, RwLock};

use dpsel_core::rounds::{BLOCK_ITEMS, BlockFiller, Driver, ItemBlock, MOST_SHARED, SharedTable, UserBlock};
use dpsel_exact::Result;
use dpsel_exact::random::Digest;
use dpsel_rows::runtime::memory::Growing;
use dpsel_rows::scratch::Stored;

use super::blocks::DiskBlocks;
use super::item_codes::{Hashes, Numbered};
use super::job::Rounds;
use crate::exchange::{BucketUsers, Decisions, Packed};

/// Shared items of which threads have sums of their own.
const THREAD_SLOTS: usize = 1 << 18;

/// Puts users into blocks: bounded, with the items that they keep.
struct BlockWriter<'a> {
    hashes: &'a Hashes,
    numbered: &'a RwLock<Numbered>,
    written: &'a DiskBlocks<'a, UserBlock>,
    /// Rows of a block, about.
    rows: usize,
}

/// The buffers of one thread that puts users into blocks.
struct WriterBuffers {
    bucket: BucketUsers,
    slots: Vec<Option<u32>>,
    filling: BlockFiller,
    packed: Vec<u8>,
}

impl BlockWriter<'_> {
    /// The slot of each item; none for items that one user at most holds.
    fn slots_of(&self, items: &[Digest], found: &mut Vec<Option<u32>>) -> Result<()> {
        self.hashes.codes_of(items, found);
        let mut new = Vec::new();
        let numbered = self.numbered.read().unwrap_or_else(PoisonError::into_inner);
        let known = numbered.known();
        for (at, (code, item)) in found.iter_mut().zip(items).enumerate() {
            let Some(of_hash) = *code else { continue };
            match known.code(of_hash, *item) {
                Some(known) => *code = Some(known),
                None => new.push((at, of_hash)),
            }
        }
        drop(numbered);
        let mut numbered = self.numbered.write().unwrap_or_else(PoisonError::into_inner);
        for (at, of_hash) in new {
            found[at] = Some(numbered.code(of_hash, items[at])?);
        }
        Ok(())
    }

    /// Put all users of the bucket into blocks. The last block is written when it is full, or by [`BlockWriter::write`].
    fn fill(&self, buffers: &mut WriterBuffers) -> Result<()> {
        let WriterBuffers { bucket, slots, filling, packed } = buffers;
        self.slots_of(&bucket.items, slots)?;
        bucket.each_user(|items, user, places, keyed| {
            let slot = |place: &u32| slots[*place as usize].ok_or(items[*place as usize]);
            filling.add((items, user, places), slot, keyed);
            if filling.is_full(self.rows) { self.write(filling, packed) } else { Ok(()) }
        })
    }

    /// Write a block.
    fn write(&self, filling: &mut BlockFiller, packed: &mut Vec<u8>) -> Result<()> {
        if filling.rows() > 0 { self.written.add(&filling.end(), packed) } else { Ok(()) }
    }
}

impl<'a> Rounds<'a> {
    /// The decisions of the last round, given the hashes of all items with more than one user.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn scored(&self, contributions: Arc<Stored>, hashes: Hashes) -> Result<Packed> {
        let (stages, rounds) = (self.stages, self.job.scored_rounds()?);
        let (mut users, digests) = self.in_blocks(&contributions, hashes)?;
        drop(contributions);
        let (items, number) = (self.items_before_rounds(digests.as_slice())?, digests.len());
        // Before the next arrays, so that the peak is lower.
        drop(digests);
        let shared = SharedTable::new(number, (stages.memory.threads, THREAD_SLOTS));
        stages.control.end_phase();
        let (alone, shared) = Driver::new(rounds, shared, items).run(&mut users, stages.control)?;
        let mut released = Vec::new();
        for item in &alone {
            Decisions::push(item.digest, item.weight, &mut released);
        }
        for item in &shared {
            Decisions::push(item.digest, item.weight, &mut released);
        }
        self.held(released.into())
    }

    /// The users in blocks, and the shared items by slot.
    fn in_blocks(
        &self,
        contributions: &Stored,
        hashes: Hashes,
    ) -> Result<(DiskBlocks<'a, UserBlock>, Growing<u128>)> {
        let stages = self.stages;
        let numbered = RwLock::new(Numbered::new(&hashes, MOST_SHARED));
        let written = DiskBlocks::new(stages, self.scratch)?;
        let rows = stages.memory.block_rows;
        let blocks = BlockWriter { hashes: &hashes, numbered: &numbered, written: &written, rows };
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
        drop(hashes);
        Ok((written, numbered.into_inner().unwrap_or_else(PoisonError::into_inner).items()))
    }

    /// These items before the first round, many together.
    fn items_before_rounds(&self, digests: &[u128]) -> Result<DiskBlocks<'a, ItemBlock>> {
        let (items, mut packed) = (DiskBlocks::new(self.stages, self.scratch)?, Vec::new());
        for (number, digests) in digests.chunks(BLOCK_ITEMS).enumerate() {
            let digests = digests.iter().copied().map(Digest).collect();
            items.add(&ItemBlock::new(number * BLOCK_ITEMS, digests), &mut packed)?;
        }
        Ok(items)
    }
}
