//! Which of its items a greedy user fills first.

use super::order::Visits;
use crate::contributions::ItemCode;

/// An order of all items that does not depend on the users' data.
#[derive(Debug)]
pub(crate) enum Preference {
    /// By digest: arbitrary, the same for every user.
    Digest,
    /// By descending public frequency, given by code; equal ones by digest.
    #[cfg_attr(not(test), expect(dead_code, reason = "no mechanism takes a public table yet"))]
    Frequency(Vec<u64>),
}

impl Preference {
    /// What is smaller is preferred; one number for each code.
    pub(super) fn ranks(&self, visits: &Visits<'_>) -> Vec<u64> {
        let codes = visits.contributions.vocabulary().code_bound();
        match self {
            Self::Digest => first_words(visits),
            Self::Frequency(known) => {
                (0..codes).map(|code| u64::MAX - known.get(code).copied().unwrap_or(0)).collect()
            }
        }
    }
}

/// The leading 64 bits of every item's digest.
pub(super) fn first_words(visits: &Visits<'_>) -> Vec<u64> {
    let vocabulary = visits.contributions.vocabulary();
    let mut digests = vec![crate::random::Digest::default(); vocabulary.code_bound()];
    vocabulary.gather_digests(0, &mut digests);
    digests.iter().map(|digest| (digest.0 >> 64) as u64).collect()
}

/// Put items of equal rank in their final order, that of their digests.
pub(super) fn by_digest(visits: &Visits<'_>, items: &mut [u32]) {
    let digests = visits.contributions.vocabulary().digests();
    items.sort_unstable_by_key(|item| digests.get(ItemCode(*item)));
}
