//! Rows that go straight to the disk, from one thread.

use dpsel_exact::Result;
use dpsel_rows::contributions::{Runs, Straight};
use dpsel_rows::scratch::Writer;

use super::by_partition::ByPartition;
use super::census::Census;
use super::stages::Stages;
use crate::exchange::{Dictionaries, Lister, Partitions};

/// Puts users with their items into scratch, in order of partitions, and counts the users of items.
pub(super) struct StraightRows<'a> {
    pub(super) stages: Stages<'a>,
    pub(super) partitions: Partitions,
    pub(super) dictionaries: Dictionaries,
    pub(super) writer: Writer<'a>,
    pub(super) census: Option<Census<'a>>,
    pub(super) lister: Lister,
    pub(super) packed: Vec<u8>,
    /// The number of each run, and where its items begin.
    pub(super) in_order: ByPartition<(u32, u32)>,
}

impl Straight for StraightRows<'_> {
    fn take(&mut self, runs: &Runs) -> Result<()> {
        self.stages.control.check()?;
        let places = runs.users.iter().zip(0..).scan(0, |end, ((user, len), run)| {
            let start = std::mem::replace(end, *end + len);
            Some((self.partitions.of(*user), (run, start)))
        });
        self.in_order.fill(self.partitions, places);
        for (partition, of_partition) in self.in_order.each().filter(|(_, runs)| !runs.is_empty()) {
            for (run, start) in of_partition {
                let (user, len) = runs.users[*run as usize];
                self.lister.add_user(user, &runs.items[*start as usize..][..len as usize]);
            }
            self.lister.take(&self.dictionaries, &mut self.packed)?;
            self.writer.push(partition, &self.packed)?;
        }
        self.census.as_mut().map_or(Ok(()), |census| census.count_rows(&runs.items))
    }

    fn end(mut self: Box<Self>) -> Result<()> {
        self.writer.flush()?;
        self.census.map_or(Ok(()), Census::end)
    }
}
