//! Matching: every user fills one slot of one of its items, and as many slots as possible are filled, in a fixed order.
//!
//! Slot after slot, a slot is kept if an augmenting path leads from it to a user who is free. Which slots are kept is a
//! property of the table and of the order of slots, not of the paths. Adding a user keeps at most one slot more, and
//! none less. Proof: `docs/algorithms/matching.md`.

mod assignment;
mod holders;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use self::assignment::Assignment;
use self::holders::Holders;
use super::histogram::WeightHistogram;
use super::order::Visits;
use crate::Result;
use crate::contributions::{ItemCode, Totals, Vocabulary};
use crate::numeric::UNIT;
use crate::random::{Digest, code_of, order_ties, with_code};
use crate::runtime::{TALLIED, WEIGHING};

/// The slots of every item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matching {
    /// The slots that an item is offered in its turn, before the next item. At least 1.
    pub quota: u32,
    /// The most slots of an item. Those beyond the quota are offered one for each item in turn.
    pub most: u32,
}

impl Matching {
    /// The weights of one round: one unit for each kept slot.
    ///
    /// Items come in descending order of their places in the `ranking`, if there is one, and then by their digests.
    ///
    /// # Contract
    /// Adding a user raises the weight of at most one item, by one unit, and lowers none, if the ranking stays.
    pub(super) fn weigh(
        self,
        visits: Visits<'_>,
        ranking: Option<&[i64]>,
        histogram: &mut WeightHistogram,
    ) -> Result<()> {
        let charged = charge(visits)?;
        let holders = Holders::of(visits.contributions, visits.control)?;
        let order = order_of_items(&holders, visits, ranking);
        let levels = self.levels(&holders, order, visits)?;
        histogram.set(levels.into_iter().map(|level| u64::from(level) * UNIT));
        visits.control.release_memory(charged);
        Ok(())
    }

    /// The number of kept slots of each item code.
    fn levels(self, holders: &Holders, mut open: Vec<u32>, visits: Visits<'_>) -> Result<Vec<u32>> {
        let (contributions, control) = (visits.contributions, visits.control);
        let users = contributions.users();
        let free = (0..users).filter(|user| !contributions.kept_items(*user).is_empty()).count();
        let mut assignment = Assignment::new(holders, users, free, control);
        let tally = control.tally(WEIGHING, open.len());
        for items in open.chunks(TALLIED) {
            control.check()?;
            for &item in items {
                for _ in 0..self.quota.min(self.most) {
                    if !assignment.offer(item)? {
                        break;
                    }
                }
            }
            tally.add(items.len());
        }
        for _ in self.quota..self.most {
            control.check()?;
            let mut still = Vec::new();
            for item in open {
                if assignment.offer(item)? {
                    still.push(item);
                }
            }
            open = still;
            if open.is_empty() {
                break;
            }
        }
        Ok(assignment.into_levels())
    }
}

/// Bytes that are held until the weights are found.
pub(super) fn bytes(totals: Totals) -> usize {
    let Totals { users, codes, rows } = totals;
    let (per_item, per_user) = Assignment::BYTES;
    // The users of each item, where they start, and the order of the items with the words that it is sorted by.
    codes * (per_item + size_of::<usize>() + size_of::<u64>() + size_of::<u32>())
        + users * per_user
        + rows * size_of::<u32>()
}

/// Count this memory.
fn charge(visits: Visits<'_>) -> Result<u64> {
    let Visits { contributions, .. } = visits;
    let (users, rows) = (contributions.users(), contributions.rows());
    let bytes = bytes(Totals { users, codes: contributions.vocabulary().code_bound(), rows }) as u64;
    visits.control.charge_memory(bytes, "weighing the items")?;
    Ok(bytes)
}

/// The items that somebody holds, in the order in which their slots are offered.
fn order_of_items(holders: &Holders, visits: Visits<'_>, ranking: Option<&[i64]>) -> Vec<u32> {
    let vocabulary = visits.contributions.vocabulary();
    let mut words = held_words(holders, vocabulary);
    words.sort_unstable();
    let digests = vocabulary.digests();
    order_ties(&mut words, |item| digests.get(ItemCode(item)).0);
    let mut order: Vec<u32> = words.into_iter().map(code_of).collect();
    if let Some(ranking) = ranking {
        // The sort is stable: items of one place stay in the order of their digests.
        order.sort_by_key(|item| Reverse(ranking[*item as usize]));
    }
    order
}

/// The digests of the items that somebody holds, with their codes.
fn held_words(holders: &Holders, vocabulary: &Vocabulary) -> Vec<u64> {
    let mut words = Vec::new();
    let mut digests = [Digest::default(); Vocabulary::STRIDE];
    for (first, start) in
        (0..holders.codes()).step_by(Vocabulary::STRIDE).zip((0_u32..).step_by(Vocabulary::STRIDE))
    {
        let block = &mut digests[..Vocabulary::STRIDE.min(holders.codes() - first)];
        vocabulary.gather_digests(first, block);
        let held = block.iter().zip(start..).filter(|(_, item)| !holders.users_of(*item).is_empty());
        words.extend(held.map(|(digest, item)| with_code(digest.0, item)));
    }
    words
}
