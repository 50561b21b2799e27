//! Rows that go straight to the disk, from one thread.

use super::census::Census;
use super::stages::Stages;
use crate::Result;
use crate::contributions::{Runs, Straight};
use crate::exchange::{Dictionaries, Lister, Partitions};
use crate::scratch::Writer;

/// Puts users with their items into scratch, in order of partitions, and counts the users of items.
pub(super) struct StraightRows<'a> {
    pub(super) stages: Stages<'a>,
    pub(super) partitions: Partitions,
    pub(super) dictionaries: Dictionaries,
    pub(super) writer: Writer<'a, i32>,
    pub(super) census: Option<Census<'a>>,
    pub(super) lister: Lister,
    pub(super) packed: Vec<u8>,
    /// The runs in order of partitions.
    pub(super) order: Vec<(i32, u32)>,
    /// Where the items of each run begin.
    pub(super) starts: Vec<u32>,
}

impl Straight for StraightRows<'_> {
    fn take(&mut self, runs: &Runs) -> Result<()> {
        self.stages.control.check()?;
        self.order.clear();
        self.order.extend(runs.users.iter().zip(0..).map(|((user, _), at)| (self.partitions.of(*user), at)));
        self.order.sort_unstable();
        self.starts.clear();
        self.starts.extend(runs.users.iter().scan(0, |end, (_, len)| {
            let start = *end;
            *end += len;
            Some(start)
        }));
        for of_partition in self.order.chunk_by(|a, b| a.0 == b.0) {
            for (_, run) in of_partition {
                let (user, len) = runs.users[*run as usize];
                let items = &runs.items[self.starts[*run as usize] as usize..];
                self.lister.add_user(user, &items[..len as usize]);
            }
            self.lister.take(&self.dictionaries, &mut self.packed)?;
            self.writer.push(of_partition[0].0, &self.packed)?;
        }
        self.census.as_mut().map_or(Ok(()), |census| census.count_rows(&runs.items))
    }

    fn end(mut self: Box<Self>) -> Result<()> {
        self.writer.flush()?;
        self.census.map_or(Ok(()), Census::end)
    }
}
