//! Keys that share their homes in tables.

use dpsel_exact::random::Digest;
use proptest::prelude::*;

use super::super::shard::Records;

/// The digest of a key by the bits that tell its place, and others.
pub(in crate::contributions) fn placed(place: u32, other: u8) -> Digest {
    Digest(u128::from(other) << 64 | u128::from(place))
}

/// Keys of which many share a home, or a home and a tag, in tables of any size.
pub(in crate::contributions) fn placed_digests() -> impl Strategy<Value = Digest> {
    let place = prop_oneof![
        3 => any::<u32>(),
        1 => (0..16_u32).prop_map(|bits| bits << 24),
        1 => 0..4_u32,
        1 => (0..4_u32).prop_map(|bits| u32::MAX - bits),
    ];
    (place, any::<u8>()).prop_map(|(place, other)| placed(place, other))
}

/// Records the row of each key.
#[derive(Debug, Default)]
pub(in crate::contributions) struct Firsts(pub(in crate::contributions) Vec<usize>);

impl Records<usize> for Firsts {
    fn append(&mut self, first: &usize, rows: impl ExactSizeIterator<Item = usize> + Clone) {
        self.0.extend(rows.map(|row| first + row));
    }
    fn bytes(&self) -> usize {
        self.0.len() * 8
    }
}
