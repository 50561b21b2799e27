//! Packed contributions become blocks of users, which give to their items for the first time.
//!
//! Blocks begin with the digests of their shared items, whose codes are places there. The codes of all tasks come with
//! the states after the round.

use arrow_array::RecordBatch;

use super::bounding::Bounded;
use super::round::BlockRound;
use super::shared::SharedItems;
use super::users::Users;
use crate::Result;
use crate::exchange::rows::Partition;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    ByDigest, PartContents, PartitionRuns, PartitionedValues, UserCounts, partitioned_values, push_digest,
    push_weight,
};
use crate::numeric::widths::codes;
use crate::random::{Digest, ReleaseKey};

/// A block ends with the first user that makes it so many rows, or with the partition if it has this part of them.
const BLOCK_ROWS: usize = if cfg!(test) { 1 << 8 } else { 1 << 18 };
const NEARLY: usize = 4;

/// An item that was not looked up yet.
const UNKNOWN: u32 = u32::MAX;
/// An item that one user at most holds.
const ALONE: u32 = UNKNOWN - 1;

/// The stage that puts users into blocks.
///
/// # Contract
/// All rows of a partition come one after the other in one task. So each user is bounded with all of its items.
#[derive(Debug)]
pub struct BlockUsers {
    bounded: Bounded,
    block: Block,
    partition: Partition,
    runs: PartitionRuns,
    /// For the place of each item in the partition its code in the block.
    places: Vec<u32>,
}

impl BlockUsers {
    /// `users` has the numbers of users of all items with more than one.
    pub(crate) fn new(bounded: Bounded, key: &ReleaseKey, users: UserCounts, round: BlockRound) -> Self {
        let block = Block {
            counts: users,
            round,
            users: Users::default(),
            codes: ByDigest::default(),
            shared: Vec::new(),
            sums: ByDigest::default(),
        };
        let partition = Partition::new(key);
        let runs = PartitionRuns::default();
        Self { bounded, block, partition, runs, places: Vec::new() }
    }

    /// Put all users of the partition that has ended into blocks.
    fn end_partition(&mut self, number: i32, made: &mut PartitionedValues) -> Result<()> {
        let Self { bounded, block, partition, places: known, .. } = self;
        known.clear();
        known.resize(partition.items.len(), UNKNOWN);
        partition.each_user(|items, user, places, keyed| {
            let (users, mut finder) = block.parts();
            let item = |place: &u32| finder.find(items[*place as usize], &mut known[*place as usize]);
            bounded.add((items, user, places), item, (users, keyed));
            if block.users.rows() >= BLOCK_ROWS {
                block.end(number, made)?;
                known.fill(UNKNOWN);
            }
            Ok(())
        })?;
        partition.clear();
        if block.users.rows() >= BLOCK_ROWS / NEARLY { block.end(number, made) } else { Ok(()) }
    }
}

/// The block that is being filled, and the sums of those before.
#[derive(Debug)]
struct Block {
    counts: UserCounts,
    round: BlockRound,
    users: Users,
    /// The codes of the shared items of the block.
    codes: ByDigest<u32>,
    shared: Vec<Digest>,
    /// What the users of all blocks gave to shared items.
    sums: ByDigest<u64>,
}

/// Finds the codes of items.
struct Finder<'a> {
    counts: &'a UserCounts,
    codes: &'a mut ByDigest<u32>,
    shared: &'a mut Vec<Digest>,
}

impl Finder<'_> {
    /// The code of an item, which `known` remembers; or the item, if one user alone holds it.
    fn find(&mut self, item: Digest, known: &mut u32) -> Result<u32, Digest> {
        if *known == UNKNOWN {
            let shared = &mut *self.shared;
            let code = || {
                shared.push(item);
                codes(shared.len() - 1)
            };
            *known = if self.counts.at_most(item) > 1 {
                *self.codes.entry(item).or_insert_with(code)
            } else {
                ALONE
            };
        }
        if *known == ALONE { Err(item) } else { Ok(*known) }
    }
}

impl Block {
    fn parts(&mut self) -> (&mut Users, Finder<'_>) {
        let Self { counts, users, codes, shared, .. } = self;
        (users, Finder { counts, codes, shared })
    }

    /// Let the users give, and write the block, whose users are of this partition and earlier ones.
    fn end(&mut self, partition: i32, made: &mut PartitionedValues) -> Result<()> {
        let mut given = SharedItems::new(self.shared.len());
        let is_needed = self.round.run(&mut self.users, &mut given)?;
        for (item, given) in self.shared.iter().zip(given.given()) {
            let sum = self.sums.entry(*item).or_insert(0);
            // Otherwise: more than the driver takes.
            *sum = sum.saturating_add(given);
        }
        if is_needed {
            made.push(partition, packed_block(&self.users, Some(&self.shared)));
        }
        self.users.clear();
        self.codes.clear();
        self.shared.clear();
        Ok(())
    }
}

/// A packed block: the number of its digests plus one, or 0 if there are none; the digests; the users.
pub(super) fn packed_block(users: &Users, shared: Option<&[Digest]>) -> Vec<u8> {
    let mut block = shared.map_or(0, |shared| codes(shared.len() + 1)).to_le_bytes().to_vec();
    shared.into_iter().flatten().for_each(|item| push_digest(*item, &mut block));
    users.pack(&mut block);
    block
}

impl Stage for BlockUsers {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut made = PartitionedValues::default();
        for (partition, packed) in partitioned_values(&batch)? {
            let last = self.runs.current();
            if let (true, Some(last)) = (self.runs.is_next(partition)?, last) {
                self.end_partition(last, &mut made)?;
            }
            self.partition.push(packed)?;
        }
        made.into_batches()
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let mut made = PartitionedValues::default();
        if let Some(last) = self.runs.current() {
            self.end_partition(last, &mut made)?;
            self.block.end(last, &mut made)?;
        }
        let mut sums = Vec::new();
        self.block.sums.iter().for_each(|(item, sum)| push_weight(*item, *sum, &mut sums));
        let mut made = made.into_batches()?;
        made.extend(self.block.round.for_driver(PartContents::ByDigest, &sums).into_batches()?);
        Ok(made)
    }
}
