//! Users or items whose integers are their own codes.

use std::sync::Mutex;

use super::interner::{Interner, POISONED, READING};
use super::shard::Shard;
use super::sharding::Sharding;
use crate::Result;
use crate::ingest::{OwnCodes, Side};
use crate::random::{Digest, Digester, KeyKind};
use crate::runtime::{Control, parallel};

/// Rows for each integer that may be its own code. What is kept for an integer is little beside that, whether or not it
/// occurs.
const ROWS: u64 = 16;
/// The most integers.
const MOST: u64 = if cfg!(test) { 1 << 10 } else { 1 << 22 };
/// With fewer integers it is not worth it. So many have inputs of a million rows.
const LEAST: u32 = if cfg!(test) { 1 << 6 } else { 1 << 16 };
/// Integers digested at a time.
const BATCH: usize = 1024;

/// The integers of one side that are their own codes.
#[derive(Debug)]
pub(super) struct Own {
    side: Side,
    digester: Digester,
    below: u32,
    state: Mutex<State>,
}

/// The first rows decide whether integers are their own codes.
#[derive(Debug)]
enum State {
    Undecided,
    /// Few integers are small, so all are interned.
    Interned,
    /// What was noted, by threads that have ended.
    Own(OwnCodes),
}

impl Own {
    /// For an input of `rows` rows that may have a user and an item; `None` if these are too few.
    pub(super) fn new(side: Side, rows: u64, digester: Digester) -> Option<Self> {
        let most = u32::try_from((rows / ROWS).min(MOST)).ok().filter(|most| *most >= LEAST)?;
        Some(Self { side, digester, below: 1 << most.ilog2(), state: Mutex::new(State::Undecided) })
    }

    /// The largest integer that may be its own code.
    pub(super) fn largest(&self) -> u32 {
        self.below - 1
    }

    /// What a thread begins with, whose first integers these are; `None` if all are interned. Where items are their own
    /// codes, memory is counted for each that may occur, so that the count does not tell which ones do. For users only
    /// addresses are reserved.
    ///
    /// # Errors
    /// Another thread failed; the limit of memory.
    pub(super) fn begin<R>(
        &self,
        integers: &[u64],
        interner: &Interner<R>,
        control: &Control,
    ) -> Result<Option<OwnCodes>> {
        let mut state = self.state.lock().map_err(|_| POISONED)?;
        if matches!(*state, State::Undecided) {
            let small = integers.iter().filter(|integer| **integer < self.below.into()).count();
            *state = if small * 2 >= integers.len() {
                let each = if self.side == Side::Item { size_of::<Digest>() as u64 } else { 0 };
                control.charge_memory(u64::from(self.below) * each, READING)?;
                interner.reserve(self.below)?;
                State::Own(OwnCodes::new(self.below))
            } else {
                State::Interned
            };
        }
        Ok(matches!(*state, State::Own(_)).then(|| OwnCodes::new(self.below)))
    }

    /// Take what was noted by a thread.
    ///
    /// # Errors
    /// Another thread failed.
    pub(super) fn end(&self, seen: &OwnCodes) -> Result<()> {
        if let State::Own(all) = &mut *self.state.lock().map_err(|_| POISONED)? {
            all.merge(seen);
        }
        Ok(())
    }

    /// What was noted, and what makes digests; `None` if all integers were interned.
    fn known(self) -> Result<Option<(OwnCodes, OwnDigests)>> {
        let Self { digester, below, state, .. } = self;
        Ok(match state.into_inner().map_err(|_| POISONED)? {
            State::Own(own) => Some((own, OwnDigests { digester: Box::new(digester), below })),
            State::Undecided | State::Interned => None,
        })
    }

    /// The users among them; `None` if all were interned.
    ///
    /// # Errors
    /// Another thread failed.
    pub(super) fn users(self) -> Result<Option<OwnUsers>> {
        Ok(self.known()?.map(|(without_item, digests)| OwnUsers { digests, without_item }))
    }

    /// Set the digests of the items that occurred. Returns what makes them anew; `None` if all were interned.
    ///
    /// # Errors
    /// Another thread failed.
    pub(super) fn items<R: Send>(
        self,
        shards: &mut [Shard<R>],
        sharding: Sharding,
        threads: usize,
    ) -> Result<Option<OwnDigests>> {
        let Some((own, known)) = self.known()? else { return Ok(None) };
        let threads = threads.min(known.below as usize / BATCH).max(1);
        parallel::map(threads, (0..).zip(shards).collect(), |(first, shard): (u32, &mut Shard<R>)| {
            let codes: Vec<u32> = own.noted(first, sharding.shards()).collect();
            let mut digests = Vec::with_capacity(BATCH);
            for codes in codes.chunks(BATCH) {
                digests.clear();
                known.append(codes, &mut digests);
                for (code, digest) in codes.iter().zip(&digests) {
                    shard.set_reserved(sharding.local_of_code(*code), *digest);
                }
            }
        });
        Ok(Some(known))
    }
}

/// Makes the digests of integers that are their own codes. Where the processor encrypts, that takes less time than reading
/// them from memory.
#[derive(Debug)]
pub(super) struct OwnDigests {
    digester: Box<Digester>,
    below: u32,
}

impl OwnDigests {
    /// All codes below this are integers.
    pub(super) fn below(&self) -> u32 {
        self.below
    }

    /// Append the digests of some of them.
    pub(super) fn append(&self, integers: &[u32], digests: &mut Vec<u128>) {
        self.digester.words(KeyKind::Integer, integers.iter().map(|integer| (*integer).into()), digests);
    }
}

/// Users whose integers are their own codes.
#[derive(Debug)]
pub(super) struct OwnUsers {
    pub(super) digests: OwnDigests,
    /// Those with a row that has no item, and perhaps no other row. The others are known by their rows.
    pub(super) without_item: OwnCodes,
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use arrow_schema::DataType;
    use proptest::prelude::*;

    use super::super::testing::Integers;
    use super::super::{Contributions, ContributionsBuilder, RowOrder, Worker};
    use crate::ingest::testing::digests;
    use crate::ingest::{Code, ItemCode, ItemSchema, UserCode};
    use crate::random::{Digest, Purpose, ReleaseKey};
    use crate::runtime::Control;

    /// As on any machine: the bounds of these tests are for few shards.
    fn two_threads() -> Control {
        Control::new(2.try_into().ok(), None)
    }

    /// Code integers as a coder does.
    fn code<C: Code>(
        worker: &mut Worker<'_>,
        integers: &[u64],
        key: &ReleaseKey,
        purpose: Purpose,
    ) -> Vec<C> {
        let mut coded = vec![C::default(); integers.len()];
        let mut rows: Vec<u32> = (0..).take(integers.len()).collect();
        if let Some(own) = worker.own_codes::<C>(integers).unwrap() {
            let left = own.code(integers, &mut coded, &mut rows);
            rows.truncate(left);
        }
        let others: Vec<u64> = rows.iter().map(|row| integers[*row as usize]).collect();
        let mut interned = Vec::new();
        worker.intern(&digests(&others, key, purpose), &Integers, &mut interned).unwrap();
        for (row, code) in rows.into_iter().zip(interned) {
            coded[row as usize] = code;
        }
        coded
    }

    /// Users with their numbers of items, where a number may be zero, for an input that seems to have so many rows.
    fn read(runs: &[(u64, Vec<u64>)], rows: u64, key: &ReleaseKey) -> Contributions {
        let builder = ContributionsBuilder::for_rows(rows, key, &two_threads());
        for runs in runs.chunks(7) {
            let mut worker = builder.worker();
            let users: Vec<u64> = runs.iter().map(|(user, _)| *user).collect();
            let items: Vec<u64> = runs.iter().flat_map(|(_, items)| items.iter().copied()).collect();
            let lens: Vec<u32> = runs.iter().map(|(_, items)| u32::try_from(items.len()).unwrap()).collect();
            let users: Vec<UserCode> = code(&mut worker, &users, key, Purpose::UserDigest);
            let items: Vec<ItemCode> = code(&mut worker, &items, key, Purpose::ItemDigest);
            worker.push(&users, Some(&lens), &items).unwrap();
        }
        let schema = ItemSchema::new([("item", &DataType::UInt64)]).unwrap();
        builder.finish(schema, &RowOrder::Any).unwrap()
    }

    fn sets(made: &Contributions) -> BTreeMap<Digest, BTreeSet<Digest>> {
        let known = made.vocabulary.digests();
        let items = |(start, len): (&usize, &u32)| {
            let items = &made.items.as_slice()[*start..][..*len as usize];
            items.iter().map(|item| known.get(ItemCode(*item))).collect()
        };
        let users = made.users.iter().copied().zip(made.starts.iter().zip(&made.lens).map(items));
        users.collect()
    }

    /// Integers of both sides of the bound, which is 64 for 1024 rows and 1024 for many.
    fn integer() -> impl Strategy<Value = u64> {
        prop_oneof![4 => 0_u64..70, 1 => 60_u64..1200, 1 => u64::MAX - 3..=u64::MAX]
    }

    proptest! {
        #[test]
        fn users_have_their_items_whatever_is_its_own_code(
            runs in prop::collection::vec((integer(), prop::collection::vec(integer(), 0..5)), 0..60),
        ) {
            let key = ReleaseKey::insecure_test([7; 32]);
            let mut expected = BTreeMap::<Digest, BTreeSet<Digest>>::new();
            for (user, items) in &runs {
                let user = digests(&[*user], &key, Purpose::UserDigest)[0];
                expected.entry(user).or_default().extend(digests(items, &key, Purpose::ItemDigest));
            }
            for rows in [0, 1024, u64::MAX] {
                let made = read(&runs, rows, &key);
                prop_assert_eq!(made.users.len(), expected.len());
                prop_assert_eq!(sets(&made), expected.clone());
                // Codes without an item have no digest, and no item has two.
                let all = made.vocabulary.digests_from(0..made.vocabulary.code_bound());
                let mut known: Vec<Digest> = all.into_iter().filter(|digest| digest.0 != 0).collect();
                let held: BTreeSet<Digest> = expected.values().flatten().copied().collect();
                known.sort_unstable();
                prop_assert!(known.into_iter().eq(held));
            }
        }
    }

    /// However many of the items are integers that are their own codes.
    #[test]
    fn gathered_digests_are_those_of_the_items() {
        let key = ReleaseKey::insecure_test([7; 32]);
        // With the larger bound, most are their own codes, and the others are interned.
        let all: Vec<u64> = (0..1500).map(|n| n * 1009 % 1400).collect();
        for rows in [0, 1024, u64::MAX] {
            let made = read(&[(5, all.clone())], rows, &key);
            let known = made.vocabulary.digests();
            let mut items = made.items.as_slice()[..made.lens[0] as usize].to_vec();
            let (mut expected, mut digests) = (items.clone(), vec![7]);
            known.gather(&mut items, &mut vec![9], &mut digests);
            assert!(items.iter().map(|item| known.get(ItemCode(*item)).0).eq(digests));
            items.sort_unstable();
            expected.sort_unstable();
            assert_eq!(items, expected);
        }
    }

    #[test]
    fn few_small_integers_are_interned() {
        let (key, control) = (ReleaseKey::insecure_test([7; 32]), two_threads());
        for (first, owns) in [([1, 2, 1 << 40], true), ([1, 1 << 40, 1 << 41], false)] {
            let builder = ContributionsBuilder::for_rows(1 << 20, &key, &control);
            let mut worker = builder.worker();
            // No integers decide nothing: the first batch may have nulls alone.
            assert!(worker.own_codes::<ItemCode>(&[]).unwrap().is_none());
            assert_eq!(worker.own_codes::<ItemCode>(&first).unwrap().is_some(), owns);
            // The first integers decide for all threads.
            assert_eq!(builder.worker().own_codes::<ItemCode>(&[5]).unwrap().is_some(), owns);
            assert!(builder.worker().own_codes::<UserCode>(&[5]).unwrap().is_some());
        }
    }

    /// Otherwise the least limit that a job needs would tell which user has the largest of these integers.
    #[test]
    fn memory_does_not_tell_which_integers_occur() {
        let key = ReleaseKey::insecure_test([7; 32]);
        for (rows, below) in [(1024, 64), (u64::MAX, 1024)] {
            let taken = |integer: u64| {
                let control = two_threads();
                let builder = ContributionsBuilder::for_rows(rows, &key, &control);
                let mut worker = builder.worker();
                let users: Vec<UserCode> = code(&mut worker, &[integer], &key, Purpose::UserDigest);
                let items: Vec<ItemCode> = code(&mut worker, &[integer], &key, Purpose::ItemDigest);
                worker.push(&users, None, &items).unwrap();
                drop(worker);
                let schema = ItemSchema::new([("item", &DataType::UInt64)]).unwrap();
                let made = builder.finish(schema, &RowOrder::Any).unwrap();
                assert_eq!((made.users.len(), made.lens), (1, vec![1]));
                (control.held_memory(), made.vocabulary.code_bound())
            };
            let first = taken(0);
            assert_eq!(first, taken(1));
            assert_eq!(first, taken(below - 1));
        }
    }
}
