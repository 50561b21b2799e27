//! Codes of integers as a coder makes them, and what is told by them.

use std::collections::{BTreeMap, BTreeSet};

use dpsel_exact::random::{Digest, Purpose, ReleaseKey};

use super::Integers;
use crate::contributions::Contributions;
use crate::ingest::testing::digests;
use crate::ingest::{Code, ItemCode, Sink};

/// Code integers as a coder does.
pub(in crate::contributions) fn coded<C: Code>(
    sink: &mut impl Sink,
    integers: &[u64],
    key: &ReleaseKey,
    purpose: Purpose,
) -> Vec<C> {
    let mut coded = Vec::new();
    let mut rows: Vec<u32> = (0..).take(integers.len()).collect();
    if let Some(own) = sink.own_codes::<C>(integers).unwrap() {
        let left = own.code(integers, &mut coded, &mut rows);
        rows.truncate(left);
    }
    coded.resize(integers.len(), C::default());
    let others: Vec<u64> = rows.iter().map(|row| integers[*row as usize]).collect();
    let mut interned = Vec::new();
    sink.intern(&digests(&others, key, purpose), &Integers, &mut interned).unwrap();
    for (row, code) in rows.into_iter().zip(interned) {
        coded[row as usize] = code;
    }
    coded
}

/// The items of every user.
pub(in crate::contributions) fn sets(made: &Contributions) -> BTreeMap<Digest, BTreeSet<Digest>> {
    let known = made.vocabulary.digests();
    let items = |items: &[u32]| items.iter().map(|item| known.get(ItemCode(*item))).collect();
    made.users.iter().copied().zip(made.items_by_user().map(items)).collect()
}
