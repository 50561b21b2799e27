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
use super::at_items::add_up;
use super::decide::DigestHasher;
use super::packing::{push_marked, push_pair, take_marked, take_pair};
use super::routing::{InOrder, Routed, Routes, packed_batch, unrouted};
use crate::contributions::Contributions;
use crate::random::{Digest, Words};
use crate::rounds::Decider;
use crate::weighting::UNIT;
use crate::{Error, Result};

/// 32 bits of a digest that no route is made from.
fn mark(item: Digest) -> u32 {
    (item.0 >> 96) as u32
}

/// Numbers of users of all items of some contributions, by mark. Their routes are those of marks below zero: -1, -2, ...
pub(super) fn census(contributions: &Contributions, routes: Routes) -> Routed {
    let digests = contributions.vocabulary.digests_from(0..contributions.vocabulary.code_bound());
    let counted = digests.into_iter().zip(contributions.users_of_items());
    let mut users: Vec<(u32, u32)> =
        counted.filter(|(_, users)| *users > 0).map(|(item, users)| (mark(item), users)).collect();
    add_up(&mut users);
    let mut made = Routed::default();
    let route = |(mark, _): &(u32, u32)| routes.of_mark(*mark);
    for group in users.chunk_by(|a, b| route(a) == route(b)) {
        let (mut packed, mut before) = (Vec::new(), 0);
        for &(mark, users) in group {
            push_marked(mark - before, users, &mut packed);
            before = mark;
        }
        made.push(-1 - route(&group[0]), packed);
    }
    made
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
        // Otherwise: the census keeps only what has more users than these.
        self.above.get(&mark(item)).copied().unwrap_or(self.few)
    }
}

/// What tells which items some round can release.
#[derive(Debug)]
pub(super) struct Candidates {
    users: MostUsers,
    rounds: Vec<(Decider, Words)>,
}

impl Candidates {
    pub(super) fn new(users: MostUsers, rounds: Vec<(Decider, Words)>) -> Self {
        Self { users, rounds }
    }

    /// The most users that each item can have; `None` for items that no round would release even if all of these gave them
    /// a unit.
    pub(super) fn most_users(&self, items: &[Digest]) -> Vec<Option<u32>> {
        let mut found = vec![None; items.len()];
        let mut drawn = vec![0; items.len()];
        for (rule, words) in &self.rounds {
            words.fill(items, &mut drawn);
            for ((found, item), word) in found.iter_mut().zip(items).zip(&drawn) {
                let users = self.users.of(*item);
                if found.is_none() && can_release(rule, users, *word) {
                    *found = Some(users);
                }
            }
        }
        found
    }
}

/// Whether so many users could have an item released.
pub(super) fn can_release(rule: &Decider, users: u32, word: u128) -> bool {
    rule.releases(u64::from(users) * UNIT, word)
}
