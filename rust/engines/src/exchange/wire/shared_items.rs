//! Items that several users hold, between tasks on blocks of users and the driver.
//!
//! Tasks send *parts*, which come to the driver one after the other: what their users gave to shared items, and in the
//! last round the decisions about items that one user alone holds. A part has a byte that says what it has, the number
//! of its bytes (`u64`), and these. Sums of the first round go by digests, as packed weights. Later sums go by codes:
//! the difference to the code before and the sum, as integers of variable length.
//!
//! The driver sends the state of every shared item by code: its importance. After the first round the digests come
//! with them, which tell a task the codes.

use dpsel_core::weighting::FULL_IMPORTANCE;
use dpsel_exact::Result;
use dpsel_exact::numeric::widths::{codes, index};
use dpsel_exact::random::Digest;

use super::bytes::{CORRUPT, push_digest, push_integer, take_digest, take_integer, take_u32};

/// What a part has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartContents {
    /// Sums of weights by the digests of their items.
    ByDigest,
    /// Sums of weights by the codes of their items.
    ByCode,
    /// Packed decisions.
    Decisions,
}

impl PartContents {
    const ALL: [Self; 3] = [Self::ByDigest, Self::ByCode, Self::Decisions];

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
    let (mut packed, mut next) = (Vec::new(), 0);
    for (code, sum) in (0_u64..).zip(sums).filter(|(_, sum)| *sum > 0) {
        push_integer(code - next, &mut packed);
        push_integer(sum, &mut packed);
        next = code + 1;
    }
    packed
}

/// Hand out the codes and sums that [`pack_sums`] packed.
pub(crate) fn each_sum(mut packed: &[u8], mut each: impl FnMut(usize, u64) -> Result<()>) -> Result<()> {
    let mut next = 0_u64;
    while !packed.is_empty() {
        let code = take_integer(&mut packed)?.checked_add(next).ok_or(CORRUPT)?;
        each(index(code), take_integer(&mut packed)?)?;
        next = code.checked_add(1).ok_or(CORRUPT)?;
    }
    Ok(())
}

/// The states of all shared items, by code.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct SharedStates {
    /// The items; none where tasks know the codes.
    pub(crate) digests: Option<Vec<Digest>>,
    pub(crate) importances: Vec<u16>,
}

impl SharedStates {
    /// The states as bytes: a byte that says whether there are digests, the number of items (`u32`), the digests and
    /// the importances.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let mut packed = vec![u8::from(self.digests.is_some())];
        packed.extend(codes(self.importances.len()).to_le_bytes());
        self.digests.iter().flatten().for_each(|item| push_digest(*item, &mut packed));
        packed.extend(self.importances.iter().flat_map(|importance| importance.to_le_bytes()));
        packed
    }

    /// Read what [`SharedStates::pack`] wrote.
    pub(crate) fn unpack(packed: &[u8]) -> Result<Self> {
        let (with_digests, mut rest) = packed.split_first().ok_or(CORRUPT)?;
        let items = take_u32(&mut rest)?;
        let digests = match with_digests {
            0 => None,
            1 => Some((0..items).map(|_| take_digest(&mut rest)).collect::<Result<_>>()?),
            _ => return Err(CORRUPT),
        };
        let (importances, rest) = rest.as_chunks();
        let importances: Vec<u16> = importances.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
        let are_sound = importances.iter().all(|importance| *importance <= FULL_IMPORTANCE);
        if rest.is_empty() && importances.len() == items as usize && are_sound {
            Ok(Self { digests, importances })
        } else {
            Err(CORRUPT)
        }
    }
}

#[cfg(test)]
mod tests {
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
                    each_sum(part, |code, sum| { found[code] = sum; Ok(()) })?;
                }
                Ok(())
            });
            read(&both).unwrap();
            prop_assert!(read(&both[..both.len() - 1 - cut % (both.len() - 34)]).is_err());
            prop_assert_eq!(found, sums);
            prop_assert_eq!(&parts[..2], &[PartContents::Decisions, PartContents::ByCode]);
        }

        #[test]
        fn states_survive(importances in prop::collection::vec(0..=FULL_IMPORTANCE, 0..50), with_digests: bool) {
            let digests = with_digests.then(|| (0..importances.len() as u128).map(Digest).collect());
            let states = SharedStates { digests, importances };
            let mut packed = states.pack();
            for len in 0..packed.len() {
                prop_assert!(SharedStates::unpack(&packed[..len]).is_err());
            }
            prop_assert_eq!(SharedStates::unpack(&packed).unwrap(), states.clone());
            if let Some(last) = packed.last_mut() && !states.importances.is_empty() {
                *last = 2;
                prop_assert!(SharedStates::unpack(&packed).is_err());
            }
        }

        #[test]
        fn damaged_values_are_refused(packed: Vec<u8>) {
            let _ = each_part(&packed, |_, part| each_sum(part, |_, _| Ok(())));
            let _ = SharedStates::unpack(&packed);
        }
    }
}
