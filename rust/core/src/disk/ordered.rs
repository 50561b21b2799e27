//! Users one after the other, in their pseudorandom order: sorted on the disk, then visited with the weights of shared
//! items in memory. The weights of other items are beside their user.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::rounds::Rounds;
use super::shared::SharedCodes;
use super::stages::parts;
use crate::accounting::L0Bound;
use crate::bounding::BoundedContributions;
use crate::contributions::{Contributions, RowOrder};
use crate::exchange::{Gather, MOST_SHARED, OnItems, OnUsers, Packed, Route, UserCounts, one_thread};
use crate::numeric::widths::{codes, index};
use crate::random::{Digest, ReleaseKey, Words};
use crate::scratch::{Spool, Stored};
use crate::weighting::{Walk, user_order};
use crate::{Error, Result};

const DAMAGED: Error = Error::Internal("ordered users in scratch are damaged");
/// This bit of the item of a row says that its user alone holds it. What follows is its place among such items.
const OWN: u32 = 1 << 31;
const _: () = assert!(MOST_SHARED <= OWN as usize);
/// Items that are decided together.
const DECIDED: usize = 1 << 14;

/// Puts users into the order of their words: each into the part of all words that has its own.
struct Order<'a> {
    bound: L0Bound,
    key: &'a ReleaseKey,
    words: Words,
    codes: Arc<SharedCodes>,
    parts: u32,
}

impl Order<'_> {
    /// The part of a word. Parts ascend with words.
    #[expect(clippy::cast_possible_truncation, reason = "below the number of parts")]
    fn part(&self, word: u128) -> i32 {
        (((word >> 96) * u128::from(self.parts)) >> 32) as i32
    }
}

impl OnUsers for &Order<'_> {
    fn run(&self, _last: i32, contributions: Contributions) -> Result<Vec<RecordBatch>> {
        let bounded = BoundedContributions::new(contributions, self.bound, self.key, &one_thread())?;
        let digests = bounded.vocabulary().digests_from(0..bounded.vocabulary().code_bound());
        let codes: Vec<Option<u32>> = digests.iter().map(|item| self.codes.get(*item)).collect();
        let mut words = vec![0; bounded.users()];
        self.words.fill(bounded.user_digests(), &mut words);
        let users = words.into_iter().enumerate().filter(|(user, _)| !bounded.kept_items(*user).is_empty());
        let mut order: Vec<(u128, usize)> = users.map(|(user, word)| (word, user)).collect();
        order.sort_unstable();
        let pack = |part: &[(u128, usize)]| {
            let mut users = Users::default();
            for &(word, user) in part {
                let items = bounded.kept_items(user).iter().map(|item| *item as usize);
                users.add(word, items.map(|item| codes[item].ok_or(digests[item])));
            }
            (self.part(part[0].0), users.pack())
        };
        let values: Vec<_> = order.chunk_by(|a, b| self.part(a.0) == self.part(b.0)).map(pack).collect();
        Ok(if values.is_empty() { Vec::new() } else { vec![Route::batch(&values)?] })
    }
}

/// Users with their words and items.
#[derive(Debug, Default, PartialEq, Eq)]
struct Users {
    /// The word of each user and its number of rows.
    words: Vec<(u128, u32)>,
    /// The items of all users, of each in its order.
    rows: Vec<u32>,
    /// The items that one user alone holds, and what it gave to each.
    own: Vec<(Digest, u64)>,
}

impl Users {
    /// Add a user, whose items are codes of shared ones, or digests of others.
    fn add(&mut self, word: u128, items: impl Iterator<Item = Result<u32, Digest>>) {
        let before = self.rows.len();
        for item in items {
            let item = item.unwrap_or_else(|digest| {
                // Otherwise: an item of this user alone, to which it has given nothing yet.
                self.own.push((digest, 0));
                OWN | codes(self.own.len() - 1)
            });
            self.rows.push(item);
        }
        self.words.push((word, codes(self.rows.len() - before)));
    }

    /// The users as bytes, little-endian: how many users, rows and own items, then these.
    fn pack(&self) -> Vec<u8> {
        let mut packed =
            Vec::with_capacity(12 + self.words.len() * 20 + self.rows.len() * 4 + self.own.len() * 24);
        for len in [self.words.len(), self.rows.len(), self.own.len()] {
            packed.extend(codes(len).to_le_bytes());
        }
        for (word, len) in &self.words {
            packed.extend(word.to_le_bytes());
            packed.extend(len.to_le_bytes());
        }
        self.rows.iter().for_each(|item| packed.extend(item.to_le_bytes()));
        for (item, given) in &self.own {
            packed.extend(item.0.to_le_bytes());
            packed.extend(given.to_le_bytes());
        }
        packed
    }

    /// Add packed users.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are damaged.
    fn unpack(&mut self, packed: &[u8]) -> Result<()> {
        let mut rest = packed;
        let mut number = || Ok(index(u32::from_le_bytes(take(&mut rest)?).into()));
        let (users, rows, own): (usize, usize, usize) = (number()?, number()?, number()?);
        let expected = users.saturating_mul(20).saturating_add(rows.saturating_mul(4));
        if rest.len() != expected.saturating_add(own.saturating_mul(24)) {
            return Err(DAMAGED);
        }
        let before = codes(self.own.len());
        for _ in 0..users {
            self.words.push((u128::from_le_bytes(take(&mut rest)?), u32::from_le_bytes(take(&mut rest)?)));
        }
        for _ in 0..rows {
            let item = u32::from_le_bytes(take(&mut rest)?);
            self.rows.push(if item & OWN == 0 { item } else { item + before });
        }
        for _ in 0..own {
            let item = Digest(u128::from_le_bytes(take(&mut rest)?));
            self.own.push((item, u64::from_le_bytes(take(&mut rest)?)));
        }
        Ok(())
    }

    /// Let the users give to their items, by ascending words.
    ///
    /// # Errors
    /// [`Error::Internal`] for an item that is not there.
    fn visit(&mut self, walk: &mut Walk) -> Result<()> {
        let (mut order, mut start) = (Vec::with_capacity(self.words.len()), 0);
        for &(word, len) in &self.words {
            order.push((word, start..start + index(len.into())));
            start += index(len.into());
        }
        order.sort_unstable_by_key(|(word, _)| *word);
        let (shared, mut items) = (walk.len(), Vec::new());
        for (_, rows) in order {
            let rows = self.rows.get(rows).ok_or(DAMAGED)?;
            items.clear();
            for &item in rows {
                if item & OWN == 0 {
                    items.push(item);
                } else {
                    let (digest, given) = *self.own.get((item ^ OWN) as usize).ok_or(DAMAGED)?;
                    items.push(codes(walk.len()));
                    walk.push(digest, given);
                }
            }
            if items.iter().any(|item| *item as usize >= walk.len()) {
                return Err(DAMAGED);
            }
            walk.visit(&items);
            for (item, place) in rows.iter().zip(&items).filter(|(item, _)| *item & OWN != 0) {
                self.own[(item ^ OWN) as usize].1 = walk.given(*place as usize);
            }
            walk.truncate(shared);
        }
        Ok(())
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N]> {
    let (bytes, tail) = rest.split_first_chunk().ok_or(DAMAGED)?;
    *rest = tail;
    Ok(*bytes)
}

impl Rounds<'_> {
    /// The decisions of one round whose users come one after the other, given the numbers of users of all items with
    /// more than one.
    ///
    /// # Errors
    /// As [`Rounds::decided`].
    pub(super) fn ordered(
        &self,
        contributions: Arc<Stored<i32>>,
        users: &UserCounts,
        order: &Arc<RowOrder>,
    ) -> Result<Packed> {
        let (stages, spec, key) = (self.stages, self.job.spec(), self.job.key());
        let bound = spec.bound.ok_or(Error::Internal("rounds without a bound"))?;
        let [round] = &spec.calibration.rounds[..] else {
            return Err(Error::Internal("users come in order in one round only"));
        };
        let walk = Walk::new(round.weighting, round.rule.quantum(), bound.get())?;
        let mut walk = walk.ok_or(Error::Internal("a weighting without an order"))?;
        let codes = SharedCodes::find(&contributions, users, key, stages)?;
        let ordered = Spool::<i32>::new(self.scratch)?;
        let (words, parts) = (user_order(key), stages.memory.partitions);
        let by_word = Order { bound, key, words, codes: Arc::clone(&codes), parts };
        let gather = || Ok(Gather::new(&by_word, key, stages.memory.sizes).in_order(Arc::clone(order)));
        stages.run(&contributions, gather, || stages.writer(&ordered))?;
        drop(contributions);
        stages.control.end_phase();
        codes.digests().iter().for_each(|item| walk.push(*item, 0));
        drop((by_word, codes));
        let decided = self.walked(ordered.stored(), &mut walk)?;
        stages.control.end_phase();
        Ok(decided)
    }

    /// Let all users come in their order, and decide all items.
    fn walked(&self, mut users: Stored<i32>, walk: &mut Walk) -> Result<Packed> {
        let (mut decide, mut decided) = (self.job.decide_items(0)?, Vec::new());
        for left in (0..walk.passes()).rev() {
            let next = Spool::new(self.scratch)?;
            let mut writer = self.stages.writer(&next);
            for part in self.stages.one_by_one(parts(&users))? {
                let mut visited = Users::default();
                users.each(part.values.clone(), |value| {
                    self.stages.control.check()?;
                    visited.unpack(value)
                })?;
                visited.visit(walk)?;
                if left > 0 {
                    writer.push(part.partition, &visited.pack())?;
                    continue;
                }
                for own in visited.own.chunks(DECIDED) {
                    let weights: Vec<(Digest, u64)> =
                        own.iter().map(|(item, given)| (*item, walk.in_grid_steps(*given))).collect();
                    decide.run(&weights, &mut decided)?;
                }
            }
            writer.flush()?;
            users = next.stored();
        }
        for first in (0..walk.len()).step_by(DECIDED) {
            let places = first..walk.len().min(first + DECIDED);
            let weights: Vec<(Digest, u64)> = places.map(|place| walk.weight(place)).collect();
            decide.run(&weights, &mut decided)?;
        }
        self.held_bytes(decided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_come_back_from_their_bytes_and_half_of_them_is_an_error() {
        let mut users = Users::default();
        users.add(3, [Ok(7), Err(Digest(5)), Ok(9)].into_iter());
        users.add(1, [Err(Digest(u128::MAX))].into_iter());
        users.own[1].1 = 12;
        let packed = users.pack();
        let mut back = Users::default();
        back.unpack(&packed).unwrap();
        assert_eq!(back, users);
        back.unpack(&packed).unwrap();
        assert_eq!(back.rows[4..], [7, OWN | 2, 9, OWN | 3]);
        for len in 0..packed.len() {
            assert!(Users::default().unpack(&packed[..len]).is_err());
        }
    }
}
