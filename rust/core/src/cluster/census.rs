//! How many users an item has at most, so that items that no round can release need not move.
//!
//! A user gives an item at most one unit. So an item of n users is released in a round only if it would be with n units,
//! which any task can see: the noise is a function of the item. Most items have few users, and hardly any of these pass.
//!
//! Items are told apart by 32 bits of their digests, and a row that two tasks have read may count twice. Both can only
//! make numbers larger, so the released items stay the same.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use arrow_array::RecordBatch;

use super::Stage;
use super::decide::DigestHasher;
use super::packing::{count_places, push_marked, push_pair, take_marked, take_pair};
use super::routing::{InOrder, Routed, Routes, packed_batch, unrouted};
use crate::random::{Digest, Words};
use crate::threshold::Decider;
use crate::weighting::UNIT;
use crate::{Error, Result};

/// Numbers added up before they are sent.
const HELD: usize = 1 << 23;

/// 32 bits of a digest that no route is made from.
fn mark(item: Digest) -> u32 {
    (item.0 >> 96) as u32
}

/// Counts the users of marks in packed contributions.
#[derive(Debug)]
pub struct Census {
    routes: Routes,
    users: Vec<(u32, u32)>,
}

impl Census {
    pub(super) fn new(routes: Routes) -> Self {
        Self { routes, users: Vec::new() }
    }

    fn send(&mut self) -> Result<Vec<RecordBatch>> {
        add_up(&mut self.users);
        let mut made = Routed::default();
        let route = |(mark, _): &(u32, u32)| self.routes.of_mark(*mark);
        for group in self.users.chunk_by(|a, b| route(a) == route(b)) {
            let (mut packed, mut before) = (Vec::new(), 0);
            for &(mark, users) in group {
                push_marked(mark - before, users, &mut packed);
                before = mark;
            }
            made.push(route(&group[0]), packed);
        }
        self.users.clear();
        made.into_batches()
    }
}

impl Stage for Census {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (_, packed) in unrouted(&batch)? {
            count_places(packed, |item, users| self.users.push((mark(item), users)))?;
            if self.users.len() >= HELD {
                add_up(&mut self.users);
            }
        }
        if self.users.len() < HELD / 2 { Ok(Vec::new()) } else { self.send() }
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.send()
    }
}

/// Sort by mark, and put equal marks together.
fn add_up(users: &mut Vec<(u32, u32)>) {
    users.sort_unstable_by_key(|(mark, _)| *mark);
    users.dedup_by(|next, sum| {
        let same = next.0 == sum.0;
        if same {
            sum.1 = sum.1.saturating_add(next.1);
        }
        same
    });
}

/// Adds up the numbers of users, and keeps those above a few.
#[derive(Debug)]
pub struct Crowds {
    few: u32,
    users: Vec<(u32, u32)>,
    routes: InOrder,
    packed: Vec<u8>,
}

impl Crowds {
    pub(super) fn new(few: u32) -> Self {
        Self { few, users: Vec::new(), routes: InOrder::default(), packed: Vec::new() }
    }

    fn end_route(&mut self) {
        add_up(&mut self.users);
        for (mark, users) in self.users.drain(..).filter(|(_, users)| *users > self.few) {
            push_pair(mark, users, &mut self.packed);
        }
    }
}

impl Stage for Crowds {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        for (route, mut packed) in unrouted(&batch)? {
            if self.routes.is_next(route)? {
                self.end_route();
            }
            let mut mark = 0_u32;
            while !packed.is_empty() {
                let (step, users) = take_marked(&mut packed)?;
                mark = mark.checked_add(step).ok_or(Error::Internal("a mark beyond 32 bits"))?;
                self.users.push((mark, users));
            }
        }
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        self.end_route();
        Ok(vec![packed_batch(&self.packed)?])
    }
}

/// Upper bounds of the number of users of any item.
#[derive(Debug, Clone)]
pub struct MostUsers {
    few: u32,
    above: HashMap<u32, u32, BuildHasherDefault<DigestHasher>>,
}

impl MostUsers {
    /// Read what [`Crowds`] made.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is damaged.
    pub fn unpack(few: u32, mut packed: &[u8]) -> Result<Self> {
        let mut above = HashMap::default();
        while !packed.is_empty() {
            let (mark, users) = take_pair(&mut packed)?;
            above.insert(mark, users);
        }
        Ok(Self { few, above })
    }

    fn of(&self, item: Digest) -> u32 {
        self.above.get(&mark(item)).copied().unwrap_or(self.few)
    }

    /// Leave out the items that the rule would not release even if all their users gave them a unit.
    pub(super) fn retain_possible(&self, items: &mut Vec<(Digest, u64)>, rule: &Decider, words: &Words) {
        let digests: Vec<Digest> = items.iter().map(|(item, _)| *item).collect();
        let mut drawn = vec![0; digests.len()];
        words.fill(&digests, &mut drawn);
        let mut drawn = drawn.into_iter();
        items.retain(|(item, _)| {
            drawn.next().is_some_and(|word| rule.releases(u64::from(self.of(*item)) * UNIT, word))
        });
    }
}
