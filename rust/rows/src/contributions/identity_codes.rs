//! Users or items whose integers are their own codes.

use std::sync::Mutex;

use dpsel_exact::Result;
use dpsel_exact::random::{Digest, Digester, KeyKind};

use super::interner::{Interner, POISONED};
use crate::ingest::OwnCodes;

/// Rows for each integer that may be its own code. What is kept for an integer is little beside that, whether or not it
/// occurs.
const ROWS: u64 = 16;
/// The most integers.
const MOST: u64 = if cfg!(any(test, feature = "testing")) { 1 << 10 } else { 1 << 22 };
/// With fewer integers it is not worth it. So many have inputs of a million rows.
const LEAST: u32 = if cfg!(any(test, feature = "testing")) { 1 << 6 } else { 1 << 16 };
const WORD: usize = u64::BITS as usize;

/// The integers of one side that are their own codes.
#[derive(Debug)]
pub(super) struct Own {
    digests: OwnDigests,
    state: Mutex<CodesState>,
}

/// The first rows decide whether integers are their own codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodesState {
    Undecided,
    /// Few integers are small, so all are interned.
    Interned,
    Own,
}

impl Own {
    /// For an input of `rows` rows that may have a user and an item; `None` if these are too few. Digests are made anew
    /// whenever they are needed, which a processor without instructions for it would do too slowly.
    pub(super) fn new(rows: u64, digester: Digester) -> Option<Self> {
        let most = u32::try_from((rows / ROWS).min(MOST)).ok();
        let most = most.filter(|most| *most >= LEAST && Digester::is_fast())?;
        let digests = OwnDigests { digester: Box::new(digester), below: 1 << most.ilog2() };
        Some(Self { digests, state: Mutex::new(CodesState::Undecided) })
    }

    /// The largest integer that may be its own code.
    pub(super) fn largest(&self) -> u32 {
        self.digests.below - 1
    }

    /// What a thread begins with, whose first integers these are; `None` if all are interned.
    ///
    /// # Errors
    /// Another thread failed.
    pub(super) fn begin<R>(&self, integers: &[u64], interner: &Interner<R>) -> Result<Option<OwnCodes>> {
        let (mut state, below) = (self.state.lock().map_err(|_| POISONED)?, self.digests.below);
        if *state == CodesState::Undecided {
            let small = integers.iter().filter(|integer| **integer < below.into()).count();
            *state = if small * 2 >= integers.len() {
                interner.reserve(below)?;
                CodesState::Own
            } else {
                CodesState::Interned
            };
        }
        Ok((*state == CodesState::Own).then(|| OwnCodes::new(below)))
    }

    /// What makes the digests of the integers; `None` if all were interned.
    ///
    /// # Errors
    /// Another thread failed.
    pub(super) fn digests(self) -> Result<Option<OwnDigests>> {
        let state = self.state.into_inner().map_err(|_| POISONED)?;
        Ok((state == CodesState::Own).then_some(self.digests))
    }
}

/// Makes the digests of integers that are their own codes. That takes less time than reading them from memory.
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

    /// The digest of one of them.
    pub(super) fn get(&self, integer: u32) -> u128 {
        self.digester.word(KeyKind::Integer, integer.into())
    }

    /// The digests of the integers from `first` on.
    pub(super) fn fill(&self, first: u32, digests: &mut [Digest]) {
        let integers = (first..).take(digests.len()).map(i128::from);
        self.digester.fill(KeyKind::Integer, integers, digests);
    }

    /// Append the digests of some of them.
    pub(super) fn append(&self, integers: &[u32], digests: &mut Vec<u128>) {
        self.digester.words(KeyKind::Integer, integers.iter().map(|integer| (*integer).into()), digests);
    }
}

/// The users who have a row without an item, and perhaps no other row. Those with an item are known by their rows.
#[derive(Debug, Default)]
pub(super) struct WithoutItem {
    /// A bit for each code, up to the largest that is noted.
    noted: Vec<u64>,
}

impl WithoutItem {
    pub(super) fn note(&mut self, user: u32) {
        let word = user as usize / WORD;
        if self.noted.len() <= word {
            self.noted.resize(word + 1, 0);
        }
        self.noted[word] |= 1 << (user as usize % WORD);
    }

    pub(super) fn has(&self, user: u32) -> bool {
        let word = self.noted.get(user as usize / WORD);
        word.is_some_and(|word| word >> (user as usize % WORD) & 1 == 1)
    }

    /// Add what another thread noted.
    pub(super) fn merge(&mut self, other: &Self) {
        self.noted.resize(self.noted.len().max(other.noted.len()), 0);
        for (word, others) in self.noted.iter_mut().zip(&other.noted) {
            *word |= others;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use arrow_schema::DataType;
    use dpsel_exact::random::{Digest, Purpose, ReleaseKey};
    use proptest::prelude::*;

    use super::super::testing::{coded as code, sets};
    use super::super::vocabulary::Vocabulary;
    use super::super::{Contributions, ContributionsBuilder, RowOrder};
    use crate::ingest::testing::digests;
    use crate::ingest::{ItemCode, ItemSchema, UserCode};
    use crate::runtime::Control;

    /// As on any machine: the bounds of these tests are for few shards.
    fn two_threads() -> Control {
        Control::new(2.try_into().ok(), None)
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
                // No item has two codes, and each has its digest, whichever way that is asked for.
                let (all, digests) = (made.vocabulary.code_bound(), made.vocabulary.digests());
                let by_code = made.vocabulary.digests_from(0..all);
                let mut known: Vec<Digest> = by_code.iter().copied().filter(|digest| digest.0 != 0).collect();
                let distinct: BTreeSet<Digest> = known.iter().copied().collect();
                known.sort_unstable();
                prop_assert!(known.into_iter().eq(distinct.iter().copied()));
                let held: BTreeSet<Digest> = expected.values().flatten().copied().collect();
                prop_assert!(held.is_subset(&distinct));
                for (code, digest) in (0..).zip(&by_code).filter(|(_, digest)| digest.0 != 0) {
                    prop_assert_eq!(digests.get(ItemCode(code)), *digest);
                    prop_assert_eq!(made.vocabulary.key(ItemCode(code)).digest, *digest);
                }
                for first in (0..all).step_by(Vocabulary::STRIDE) {
                    let codes = first..all.min(first + 70);
                    prop_assert_eq!(&made.vocabulary.digests_from(codes.clone()), &by_code[codes]);
                }
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
            let mut items = made.items_of(0).to_vec();
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
