//! Rows of the table become packed contributions, by partition of users, and user counts, by partition of items.

use arrow_array::RecordBatch;

use super::batcher::{Batcher, read};
use crate::Result;
use crate::contributions::Contributions;
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    Dictionaries, Packer, PartitionedValues, Partitions, VALUE_BYTES, pack_user_counts,
};
use crate::ingest::Columns;
use crate::random::ReleaseKey;

/// The stage that reads the table.
#[derive(Debug)]
pub struct Encode {
    columns: Columns,
    key: ReleaseKey,
    partitions: Partitions,
    with_user_counts: bool,
    waiting: Batcher,
}

impl Encode {
    /// With `with_user_counts` the task also counts the users of its items.
    pub(crate) fn new(
        columns: Columns,
        key: ReleaseKey,
        partitions: Partitions,
        with_user_counts: bool,
    ) -> Self {
        Self { columns, key, partitions, with_user_counts, waiting: Batcher::default() }
    }

    fn encode(&self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        let Some(contributions) = read(batches, &self.columns, &self.key)? else {
            return Ok(Vec::new());
        };
        let dictionaries = Dictionaries::new(&self.key);
        let mut made = pack(&contributions, &dictionaries, self.partitions).into_batches()?;
        if self.with_user_counts {
            made.extend(user_counts(&contributions, self.partitions).into_batches()?);
        }
        Ok(made)
    }
}

/// Pack all users, grouped by partition.
fn pack(
    contributions: &Contributions,
    dictionaries: &Dictionaries,
    partitions: Partitions,
) -> PartitionedValues {
    let users = contributions.users.iter().enumerate();
    let mut order: Vec<(i32, usize)> = users.map(|(at, digest)| (partitions.of(*digest), at)).collect();
    order.sort_unstable();
    let mut packer = Packer::new(contributions, dictionaries);
    let mut made = PartitionedValues::default();
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        for &(partition, user) in group {
            let items = &contributions.items.as_slice()[contributions.starts[user]..];
            let items = &items[..contributions.lens[user] as usize];
            if !items.is_empty() {
                packer.add_user(contributions.users[user], items);
            }
            if packer.bytes() >= VALUE_BYTES {
                packer.take().into_iter().for_each(|packed| made.push(partition, packed));
            }
        }
        packer.take().into_iter().for_each(|packed| made.push(group[0].0, packed));
    }
    made
}

/// Count the users of every item. A row that two tasks read counts twice, which only makes the upper bounds larger.
fn user_counts(contributions: &Contributions, partitions: Partitions) -> PartitionedValues {
    let vocabulary = &contributions.vocabulary;
    let digests = vocabulary.digests_from(0..vocabulary.code_bound());
    let counts = digests.into_iter().zip(contributions.users_of_items());
    pack_user_counts(counts.filter(|(_, users)| *users > 0), partitions)
}

impl Stage for Encode {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        self.waiting.push(batch).map_or(Ok(Vec::new()), |batches| self.encode(batches))
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let batches = self.waiting.take();
        self.encode(batches)
    }
}
