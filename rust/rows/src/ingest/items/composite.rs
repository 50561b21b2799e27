//! Composite keys: several typed values as one byte string, decodable and injective.
//!
//! A component is its [`KeyKind`] in one byte, its length as LEB128, and its bytes. The bytes of an integer-like value
//! are the shortest little-endian two's complement of its canonical value, at least one byte. Other values are
//! their own bytes. The schema fixes the number and kinds of the components, so concatenation is prefix-free.

use dpsel_exact::random::KeyKind;

use crate::ingest::columns::{ByteColumn, Flat, PackedBytes, Values};

/// Append the composite keys of all rows of `columns` (which have the same length and no nulls).
pub(in crate::ingest) fn encode(columns: &[Flat], rows: usize, out: &mut PackedBytes) {
    for row in 0..rows {
        for column in columns {
            push_component(column, row, &mut out.data);
        }
        out.end();
    }
}

/// Append the component of a row of a column.
pub(in crate::ingest) fn push_component(column: &Flat, row: usize, out: &mut Vec<u8>) {
    match &column.values {
        Values::Integers(words) => push_integer(column.kind, words.canonical(words.values[row]), out),
        Values::Small(bytes) => push_bytes(column.kind, bytes.get(row), out),
        Values::Large(bytes) => push_bytes(column.kind, bytes.get(row), out),
        Values::Views(bytes) => push_bytes(column.kind, bytes.get(row), out),
        Values::Fixed(bytes) => push_bytes(column.kind, bytes.get(row), out),
    }
}

/// Append an integer-like component.
pub(super) fn push_integer(kind: KeyKind, value: i128, out: &mut Vec<u8>) {
    let bytes = value.to_le_bytes();
    // Drop leading bytes that only repeat the sign.
    let fill = if value < 0 { 0xff } else { 0 };
    let mut length = bytes.len();
    while length > 1 && bytes[length - 1] == fill && (bytes[length - 2] ^ fill) < 0x80 {
        length -= 1;
    }
    push_bytes(kind, &bytes[..length], out);
}

/// Append a byte component.
pub(super) fn push_bytes(kind: KeyKind, value: &[u8], out: &mut Vec<u8>) {
    out.push(kind as u8);
    let mut length = value.len();
    while length >= 0x80 {
        out.push(length.to_le_bytes()[0] | 0x80);
        length >>= 7;
    }
    out.push(length.to_le_bytes()[0]);
    out.extend_from_slice(value);
}

/// Split off the next component: its kind tag, its bytes, and the rest of the key.
pub(super) fn next_component(key: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&kind, mut rest) = key.split_first()?;
    let (mut length, mut shift) = (0_usize, 0_u32);
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        let part = usize::from(byte & 0x7f);
        length |= part.checked_shl(shift).filter(|l| l >> shift == part)?;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    let (value, rest) = rest.split_at_checked(length)?;
    Some((kind, value, rest))
}

/// Where the last component of a key begins, and how many components there are; `None` for bytes that are no key.
pub(super) fn last_component(key: &[u8]) -> Option<(usize, usize)> {
    let (mut rest, mut last, mut count) = (key, 0, 0);
    while !rest.is_empty() {
        last = key.len() - rest.len();
        (_, _, rest) = next_component(rest)?;
        count += 1;
    }
    (count > 0).then_some((last, count))
}

/// The integer of an integer-like component.
pub(super) fn integer(value: &[u8]) -> Option<i128> {
    let last = *value.last()?;
    let mut bytes = [if last >= 0x80 { 0xff } else { 0 }; 16];
    bytes.get_mut(..value.len())?.copy_from_slice(value);
    Some(i128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Part {
        Integer(i128),
        Text(Vec<u8>),
        Binary(Vec<u8>),
    }

    fn part() -> impl Strategy<Value = Part> {
        let limit = 1_i128 << 100;
        prop_oneof![
            (-limit..limit).prop_map(Part::Integer),
            (-300_i128..300).prop_map(Part::Integer),
            proptest::collection::vec(any::<u8>(), 0..300).prop_map(Part::Text),
            proptest::collection::vec(any::<u8>(), 0..4).prop_map(Part::Binary),
        ]
    }

    fn encoded(parts: &[Part]) -> Vec<u8> {
        let mut out = Vec::new();
        for part in parts {
            match part {
                Part::Integer(v) => push_integer(KeyKind::Integer, *v, &mut out),
                Part::Text(v) => push_bytes(KeyKind::Text, v, &mut out),
                Part::Binary(v) => push_bytes(KeyKind::Binary, v, &mut out),
            }
        }
        out
    }

    fn decoded(mut key: &[u8]) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        while !key.is_empty() {
            let (kind, value, rest) = next_component(key)?;
            parts.push(match kind {
                1 => Part::Integer(integer(value)?),
                2 => Part::Text(value.to_vec()),
                _ => Part::Binary(value.to_vec()),
            });
            key = rest;
        }
        Some(parts)
    }

    proptest! {
        #[test]
        fn round_trip(parts in proptest::collection::vec(part(), 1..5)) {
            prop_assert_eq!(decoded(&encoded(&parts)), Some(parts));
        }

        #[test]
        fn injective(a in proptest::collection::vec(part(), 1..4), b in proptest::collection::vec(part(), 1..4)) {
            prop_assert_eq!(encoded(&a) == encoded(&b), a == b);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(key in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decoded(&key);
        }
    }

    #[test]
    fn integers_are_shortest() {
        for (value, length) in [(0, 1), (127, 1), (128, 2), (-128, 1), (-129, 2), (i128::from(u64::MAX), 9)] {
            let mut out = Vec::new();
            push_integer(KeyKind::Integer, value, &mut out);
            assert_eq!(out.len(), length + 2);
        }
    }
}
