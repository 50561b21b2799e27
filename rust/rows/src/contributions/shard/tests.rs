//! A shard against a map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::super::testing::{Firsts, placed_digests};
use super::*;

proptest! {
    #[test]
    fn local_codes_are_those_of_a_map(
        groups in prop::collection::vec(prop::collection::vec(placed_digests(), 0..600), 1..8),
        reserved in prop_oneof![Just(0), 1..50_usize],
    ) {
        let (mut shard, mut model, mut row) = (Shard::new(Firsts::default()), BTreeMap::new(), 0);
        shard.reserve(reserved).unwrap();
        for group in &groups {
            let (before, mut locals) = (shard.bytes::<usize>(), vec![0; group.len()]);
            shard.intern(group, (&row, |i| i), usize::MAX, &mut locals).unwrap();
            prop_assert!(shard.bytes::<usize>() >= before);
            for (i, (key, local)) in group.iter().zip(locals).enumerate() {
                let next = (reserved + model.len(), row + i);
                prop_assert_eq!(model.entry(*key).or_insert(next).0, local as usize);
            }
            row += group.len();
            prop_assert_eq!((shard.digests().len(), shard.len()), (model.len(), reserved + model.len()));
        }
        for (key, (local, row)) in &model {
            let place = local - reserved;
            prop_assert_eq!((shard.digests()[place], shard.records.0[place]), (key.0, *row));
        }
        prop_assert_eq!(shard.reserve(1).is_err(), !model.is_empty());
        shard.reserved = reserved;
        // A full shard still knows its keys.
        let all: Vec<Digest> = model.keys().copied().collect();
        let (mut locals, mut new) = (vec![0; all.len()], [0]);
        shard.intern(&all, (&row, |i| i), shard.len(), &mut locals).unwrap();
        prop_assert!(model.values().zip(&locals).all(|((local, _), found)| *local == *found as usize));
        let refused = shard.intern(&[Digest(u128::MAX >> 1)], (&row, |i| i), shard.len(), &mut new);
        let no_room = matches!(refused, Err(Error::Capacity { .. }));
        prop_assert!(no_room);
    }
}
