//! Rows of the table become packed contributions, routed by user, and numbers of users, routed by mark.

use arrow_array::RecordBatch;

use super::Stage;
use super::census::census;
use super::dictionary::Dictionaries;
use super::packing::Packer;
use super::plan::{Plan, read};
use super::routing::{Routed, Routes};
use crate::Result;
use crate::contributions::Contributions;

/// Rows encoded together. The more there are, the more rows share a dictionary; their memory is about 200 MB.
const ROWS: usize = 1 << 23;
/// Bytes of input held until then.
const BYTES: usize = 1 << 28;
/// A packed value of more bytes ends with its user.
const PACKED_BYTES: usize = 1 << 22;

/// Batches that wait until there are enough of them.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl Waiting {
    /// All batches, if there are enough now.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Option<Vec<RecordBatch>> {
        self.rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size();
        self.batches.push(batch);
        (self.rows >= ROWS || self.bytes >= BYTES).then(|| self.take())
    }

    pub(super) fn take(&mut self) -> Vec<RecordBatch> {
        std::mem::take(self).batches
    }
}

/// See the module.
#[derive(Debug)]
pub struct Encode {
    plan: Plan,
    routes: Routes,
    /// Whether the users of items are counted as well.
    with_census: bool,
    waiting: Waiting,
}

impl Encode {
    pub(super) fn new(plan: Plan, routes: Routes, with_census: bool) -> Self {
        Self { plan, routes, with_census, waiting: Waiting::default() }
    }

    fn encode(&self, batches: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        let columns = &self.plan.work().columns;
        let Some(contributions) = read(batches, columns, self.plan.key())? else {
            return Ok(Vec::new());
        };
        let mut made =
            pack(&contributions, &Dictionaries::new(self.plan.key()), self.routes).into_batches()?;
        if self.with_census {
            made.extend(census(&contributions, self.routes).into_batches()?);
        }
        Ok(made)
    }
}

/// All users, those of a route together.
fn pack(contributions: &Contributions, dictionaries: &Dictionaries, routes: Routes) -> Routed {
    let users = contributions.users.iter().enumerate();
    let mut order: Vec<(i32, usize)> = users.map(|(at, digest)| (routes.of(*digest), at)).collect();
    order.sort_unstable();
    let mut packer = Packer::new(contributions, dictionaries);
    let mut made = Routed::default();
    for group in order.chunk_by(|a, b| a.0 == b.0) {
        for &(route, user) in group {
            let items = &contributions.items.as_slice()[contributions.starts[user]..];
            let items = &items[..contributions.lens[user] as usize];
            if !items.is_empty() {
                packer.add_user(contributions.users[user], items);
            }
            if packer.bytes() >= PACKED_BYTES {
                packer.take().into_iter().for_each(|packed| made.push(route, packed));
            }
        }
        packer.take().into_iter().for_each(|packed| made.push(group[0].0, packed));
    }
    made
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
