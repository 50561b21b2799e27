//! The join that makes a filter exact: released items, and the items of the table that pass, come together at the item.
//!
//! Both travel as weights, 1 from the driver and 0 from the table. So an item without weight was not released.

use arrow_array::RecordBatch;

use super::Stage;
use super::at_items::Verdict;
use super::decide::Decisions;
use super::dictionary::Dictionaries;
use super::known::Known;
use super::packing::take_items;
use super::routing::{Routes, unrouted};
use super::weigh::pack;
use crate::Result;
use crate::random::Digest;

/// Items put together before they are sent.
const HELD: usize = 1 << 22;

/// Finds the distinct items of packed contributions that pass a filter.
#[derive(Debug)]
pub struct Sift {
    routes: Routes,
    dictionaries: Dictionaries,
    filter: Known,
    passed: Vec<Digest>,
}

impl Sift {
    pub(super) fn new(routes: Routes, dictionaries: Dictionaries, filter: Known) -> Self {
        Self { routes, dictionaries, filter, passed: Vec::new() }
    }

    fn put_together(&mut self) {
        self.passed.sort_unstable();
        self.passed.dedup();
    }

    fn send(&mut self) -> Result<Vec<RecordBatch>> {
        self.put_together();
        let items = self.passed.drain(..).map(|item| (item, 0));
        pack(items.collect(), self.routes).into_batches()
    }
}

impl Stage for Sift {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (_, mut packed) in unrouted(&batch)? {
            let items = take_items(&mut packed, &self.dictionaries)?;
            self.passed.extend(items.into_iter().filter(|item| self.filter.contains(*item)));
            if self.passed.len() >= HELD {
                self.put_together();
            }
        }
        if self.passed.len() < HELD / 2 { Ok(Vec::new()) } else { self.send() }
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.send()
    }
}

/// Route packed decisions by item.
///
/// # Errors
/// A number of routes out of range; damaged decisions.
pub fn scatter(routes: u32, items: &[u8]) -> Result<Vec<RecordBatch>> {
    let items = Decisions::each(items)?.map(|(item, _)| (item, 1));
    pack(items.collect(), Routes::new(routes)?).into_batches()
}

/// Keeps the items without weight. See the module.
#[derive(Debug)]
pub struct Mistaken;

impl Verdict for Mistaken {
    fn decide(&mut self, items: &[(Digest, u64)], packed: &mut Vec<u8>) -> Result<()> {
        let mistaken = items.iter().filter(|(_, weight)| *weight == 0);
        mistaken.for_each(|(item, _)| packed.extend(item.0.to_le_bytes()));
        Ok(())
    }
}
