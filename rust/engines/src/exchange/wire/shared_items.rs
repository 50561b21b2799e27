//! Items that several users hold, between tasks on blocks of users and the driver.
//!
//! Tasks send *parts*, which come to the driver one after the other: what their users gave to shared items, and in the
//! last round the decisions about items that one user alone holds. A part has a byte that says what it has, the number
//! of its bytes (`u64`), and these. Sums of the first round go by digests, as packed weights. Behind them stands which of
//! these items stand above which, by their places. Later sums go by codes: the difference to the code before and the sum,
//! as integers of variable length.
//!
//! The driver sends the state of every shared item by code: its importance, and what it allows below it where items stand
//! above others. After the first round the digests come with them, which tell a task the codes.

use dpsel_core::rounds::SharedTable;
use dpsel_exact::Result;
use dpsel_exact::numeric::widths::index;
use dpsel_exact::random::Digest;

use dpsel_exact::random::bytes::{CORRUPT, push_digests, push_integer, take_digests, take_integer};

/// What a part has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartContents {
    /// Sums of weights by the digests of their items.
    ByDigest,
    /// Places of these items, each with the place of an item directly above it.
    Lines,
    /// Sums of weights by the codes of their items.
    ByCode,
    /// Packed decisions.
    Decisions,
}

impl PartContents {
    const ALL: [Self; 4] = [Self::ByDigest, Self::Lines, Self::ByCode, Self::Decisions];

    /// A part with these bytes.
    pub(crate) fn part(self, bytes: &[u8]) -> Vec<u8> {
        let mut part = vec![self as u8];
        part.extend((bytes.len() as u64).to_le_bytes());
        part.extend(bytes);
        part
    }
}

/// The parts of several tasks, one after the other.
///
/// # Errors
/// [`Error::Internal`](dpsel_exact::Error::Internal) if they are damaged, as in the functions below.
pub(crate) fn each_part(
    mut packed: &[u8],
    mut each: impl FnMut(PartContents, &[u8]) -> Result<()>,
) -> Result<()> {
    while let Some((contents, rest)) = packed.split_first() {
        let contents = PartContents::ALL.get(usize::from(*contents)).ok_or(CORRUPT)?;
        let (len, rest) = rest.split_first_chunk().ok_or(CORRUPT)?;
        let (part, rest) = rest.split_at_checked(index(u64::from_le_bytes(*len))).ok_or(CORRUPT)?;
        each(*contents, part)?;
        packed = rest;
    }
    Ok(())
}

/// Pack the sums of codes from 0 on, without the items that got nothing.
pub(crate) fn pack_sums(sums: impl Iterator<Item = u64>) -> Vec<u8> {
    pack_pairs((0..).zip(sums).filter(|(_, sum)| *sum > 0))
}

/// Pack pairs of a code and a number, in rising order of their codes.
pub(crate) fn pack_pairs(pairs: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
    let (mut packed, mut before) = (Vec::new(), 0);
    for (code, number) in pairs {
        push_integer(code - before, &mut packed);
        push_integer(number, &mut packed);
        before = code;
    }
    packed
}

/// Hand out the pairs that [`pack_pairs`] packed.
pub(crate) fn each_pair(mut packed: &[u8], mut each: impl FnMut(usize, u64) -> Result<()>) -> Result<()> {
    let mut code = 0_u64;
    while !packed.is_empty() {
        code = take_integer(&mut packed)?.checked_add(code).ok_or(CORRUPT)?;
        each(index(code), take_integer(&mut packed)?)?;
    }
    Ok(())
}

/// Pack the states of all shared items, with the items unless tasks know their codes.
pub(crate) fn pack_states(items: Option<&[Digest]>, shared: &SharedTable) -> Vec<u8> {
    let mut packed = Vec::new();
    push_digests(items, &mut packed);
    packed.extend(shared.pack_states());
    packed
}

/// Read what [`pack_states`] wrote.
pub(crate) fn unpack_states(mut packed: &[u8]) -> Result<(Option<Vec<Digest>>, SharedTable)> {
    let items = take_digests(&mut packed)?;
    let shared = SharedTable::with_states(packed)?;
    let fit = items.as_ref().is_none_or(|items| items.len() == shared.importances().count());
    if fit { Ok((items, shared)) } else { Err(CORRUPT) }
}

#[cfg(test)]
mod tests {
    use dpsel_core::rounds::SharedLines;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sums_and_parts_survive(
            sums in prop::collection::vec(prop_oneof![Just(0_u64), any::<u64>()], 0..50), cut in 1..20_usize,
        ) {
            let packed = PartContents::ByCode.part(&pack_sums(sums.iter().copied()));
            let both = [PartContents::Decisions.part(&[7; 24]), packed].concat();
            let (mut found, mut parts) = (vec![0; sums.len()], Vec::new());
            let mut read = |packed: &[u8]| each_part(packed, |contents, part| {
                parts.push(contents);
                if contents == PartContents::ByCode {
                    each_pair(part, |code, sum| { found[code] = sum; Ok(()) })?;
                }
                Ok(())
            });
            read(&both).unwrap();
            prop_assert!(read(&both[..both.len() - 1 - cut % (both.len() - 34)]).is_err());
            prop_assert_eq!(found, sums);
            prop_assert_eq!(&parts[..2], &[PartContents::Decisions, PartContents::ByCode]);
        }

        #[test]
        fn states_survive(
            slots in 0..50_usize, lines in prop::collection::vec((0..50_u32, 0..50_u32), 0..9), with_items: bool,
        ) {
            let items: Vec<Digest> = (0..slots as u128).map(Digest).collect();
            let below = |(slot, above): &(u32, u32)| (*slot.max(above) as usize) < slots;
            let lines: Vec<_> = lines.into_iter().filter(below).collect();
            for lines in [None, Some(SharedLines::new(slots, lines))] {
                let shared = SharedTable::new(slots, (1, 0)).with_lines(lines);
                let packed = pack_states(with_items.then_some(&items), &shared);
                for len in 0..packed.len() {
                    prop_assert!(unpack_states(&packed[..len]).is_err());
                }
                let (found, back) = unpack_states(&packed).unwrap();
                prop_assert_eq!(found, with_items.then(|| items.clone()));
                prop_assert_eq!(back.pack_states(), shared.pack_states());
            }
        }

        #[test]
        fn pairs_survive_with_several_of_a_code(pairs in prop::collection::vec((0..9_u64, any::<u64>()), 0..30)) {
            let (mut pairs, mut found) = (pairs, Vec::new());
            pairs.sort_unstable();
            each_pair(&pack_pairs(pairs.iter().copied()), |code, number| {
                found.push((code as u64, number));
                Ok(())
            }).unwrap();
            prop_assert_eq!(found, pairs);
        }

        #[test]
        fn damaged_values_are_refused(packed: Vec<u8>) {
            let _ = each_part(&packed, |_, part| each_pair(part, |_, _| Ok(())));
            let _ = unpack_states(&packed);
        }
    }
}
