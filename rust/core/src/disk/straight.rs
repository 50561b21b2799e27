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
}

impl Straight for StraightRows<'_> {
    fn take(&mut self, runs: &Runs) -> Result<()> {
        self.stages.control.check()?;
        let mut end = 0;
        let ends = runs.users.iter().map(|(user, len)| {
            let start = end;
            end += *len as usize;
            (self.partitions.of(*user), *user, start..end)
        });
        let mut users: Vec<_> = ends.collect();
        users.sort_unstable_by_key(|(partition, _, rows)| (*partition, rows.start));
        for users in users.chunk_by(|a, b| a.0 == b.0) {
            for (_, user, rows) in users {
                self.lister.add_user(*user, &runs.items[rows.clone()]);
            }
            self.lister.take(&self.dictionaries, &mut self.packed)?;
            self.writer.push(users[0].0, &self.packed)?;
        }
        self.census.as_mut().map_or(Ok(()), |census| census.count_rows(&runs.items))
    }

    fn end(mut self: Box<Self>) -> Result<()> {
        self.writer.flush()?;
        self.census.map_or(Ok(()), Census::end)
    }
}
