//! Rows that go straight to the disk, from one thread.

use dpsel_exact::Result;
use dpsel_rows::contributions::{Runs, UnindexedRows};
use dpsel_rows::scratch::Writer;

use super::census::Census;
use crate::disk::threads::{ByBucket, Stages};
use crate::exchange::{Buckets, Dictionaries, Lister};

/// Puts users with their items into scratch, in order of buckets, and counts the users of items.
pub(super) struct DirectRows<'a> {
    pub(super) stages: Stages<'a>,
    pub(super) buckets: Buckets,
    pub(super) dictionaries: Dictionaries,
    pub(super) writer: Writer<'a>,
    pub(super) census: Option<Census<'a>>,
    pub(super) lister: Lister,
    pub(super) packed: Vec<u8>,
    /// The number of each run, and where its items begin.
    pub(super) in_order: ByBucket<(u32, u32)>,
}

impl UnindexedRows for DirectRows<'_> {
    fn take(&mut self, runs: &Runs) -> Result<()> {
        self.stages.control.check()?;
        let places = runs.users.iter().zip(0..).scan(0, |end, ((user, len), run)| {
            let start = std::mem::replace(end, *end + len);
            Some((self.buckets.of(*user), (run, start)))
        });
        self.in_order.fill(self.buckets, places);
        for (bucket, of_bucket) in self.in_order.each().filter(|(_, runs)| !runs.is_empty()) {
            for (run, start) in of_bucket {
                let (user, len) = runs.users[*run as usize];
                self.lister.add_user(user, &runs.items[*start as usize..][..len as usize]);
            }
            self.lister.take(&self.dictionaries, &mut self.packed)?;
            self.writer.push(bucket, &self.packed)?;
        }
        self.census.as_mut().map_or(Ok(()), |census| census.count_rows(&runs.items))
    }

    fn end(mut self: Box<Self>) -> Result<()> {
        self.writer.flush()?;
        self.census.map_or(Ok(()), Census::end)
    }
}
