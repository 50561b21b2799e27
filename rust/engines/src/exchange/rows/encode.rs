//! Rows of the table become packed contributions, by bucket of users, and user counts, by bucket of items.

use std::ops::Range;

use arrow_array::RecordBatch;
use dpsel_exact::Result;
use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::{Contributions, ItemCode, RowOrder, read_batches};
use dpsel_rows::ingest::{Columns, NGrams};

use super::batcher::{Batcher, one_thread};
use crate::exchange::stage::Stage;
use crate::exchange::wire::{
    BucketedValues, Buckets, Dictionaries, Packer, ReleasedSet, VALUE_BYTES, pack_user_counts,
};

/// The stage that reads the table.
#[derive(Debug)]
pub struct Encode {
    columns: Columns,
    key: ReleaseKey,
    buckets: Buckets,
    with_user_counts: bool,
    rows: RowOrder,
    left_out: ReleasedSet,
    parts: Option<NGrams>,
    waiting: Batcher,
}

impl Encode {
    /// With `with_user_counts` the task also counts the users of its items. `rows` says which rows of a user and an item
    /// are packed. Items are left out as if they had never been there. Where items are n-grams with those inside them above,
    /// `parts` says which.
    pub(crate) fn new(
        columns: Columns,
        key: ReleaseKey,
        buckets: Buckets,
        with_user_counts: bool,
        (rows, left_out, parts): (RowOrder, ReleasedSet, Option<NGrams>),
    ) -> Self {
        let waiting = Batcher::default();
        Self { columns, key, buckets, with_user_counts, rows, left_out, parts, waiting }
    }

    fn encode(&self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        let read = read_batches(batches, &self.columns, &self.rows, &self.key, &one_thread())?;
        let Some(mut contributions) = read else {
            return Ok(Vec::new());
        };
        if !self.left_out.is_empty() {
            contributions.remove(|item| self.left_out.contains(item), |_| false);
        }
        if let Some(ngrams) = self.parts {
            contributions.find_parts(ngrams, &self.key, &one_thread())?;
        }
        let mut packed = BucketedValues::default();
        let packing = Packing::new(&contributions, &self.key, self.buckets);
        packing.pack(0..packing.users(), |bucket, value| {
            packed.push(bucket, value);
            Ok(())
        })?;
        let mut made = packed.into_batches()?;
        if self.with_user_counts {
            contributions.put_in_order(&RowOrder::Any);
            made.extend(user_counts(&contributions, self.buckets).into_batches()?);
        }
        Ok(made)
    }
}

/// The users of a table in order of their buckets, to be packed.
pub(crate) struct Packing<'a> {
    contributions: &'a Contributions,
    dictionaries: Dictionaries,
    order: Vec<(i32, usize)>,
}

impl<'a> Packing<'a> {
    pub(crate) fn new(contributions: &'a Contributions, key: &ReleaseKey, buckets: Buckets) -> Self {
        let users = contributions.users.iter().enumerate();
        let mut order: Vec<(i32, usize)> = users.map(|(at, digest)| (buckets.of(*digest), at)).collect();
        order.sort_unstable();
        Self { contributions, dictionaries: Dictionaries::new(key), order }
    }

    /// Number of users.
    pub(crate) fn users(&self) -> usize {
        self.order.len()
    }

    /// Pack a range of the users. `each` takes every bucket and packed value.
    ///
    /// # Errors
    /// Those of `each`.
    pub(crate) fn pack(
        &self,
        users: Range<usize>,
        mut each: impl FnMut(i32, Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let (users_of, vocabulary) = (&self.contributions.users, &self.contributions.vocabulary);
        let (digests, lineage) = (vocabulary.digests(), vocabulary.keys().lineage());
        let digest = |item| digests.get(ItemCode(item));
        let mut packer = Packer::new((digest, lineage), vocabulary.code_bound(), &self.dictionaries);
        for group in self.order[users].chunk_by(|a, b| a.0 == b.0) {
            for &(bucket, user) in group {
                let items = self.contributions.items_of(user);
                if !items.is_empty() {
                    packer.add_user(users_of[user], items);
                }
                if packer.bytes() >= VALUE_BYTES {
                    packer.take().map_or(Ok(()), |packed| each(bucket, packed))?;
                }
            }
            packer.take().map_or(Ok(()), |packed| each(group[0].0, packed))?;
        }
        Ok(())
    }
}

/// Count the users of every item. A row that two tasks read counts twice, which only makes the upper bounds larger.
fn user_counts(contributions: &Contributions, buckets: Buckets) -> BucketedValues {
    let vocabulary = &contributions.vocabulary;
    let digests = vocabulary.digests_from(0..vocabulary.code_bound());
    let counts = digests.into_iter().zip(contributions.users_of_items());
    pack_user_counts(counts.filter(|(_, users)| *users > 0), buckets)
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
