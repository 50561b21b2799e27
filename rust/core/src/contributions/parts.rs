//! Users divided into parts, each small enough to be grouped in the cache.

/// Bits of a user's code that select its part.
const PART_BITS: u32 = 8;
/// Number of parts.
pub(super) const PARTS: usize = 1 << PART_BITS;
/// Parts of a band: the rows of consecutive parts are kept together, and given back together once they are grouped.
pub(super) const PARTS_OF_BAND: usize = 16;
/// Number of bands.
pub(super) const BANDS: usize = PARTS / PARTS_OF_BAND;
/// So many consecutive codes are in the same part. Users who come one after the other have new items with neighbouring
/// codes, whose digests and weights share cache lines.
const RUN: usize = 1 << RUN_BITS;
/// [`RUN`] is two to this power.
const RUN_BITS: u32 = 5;

/// Where each part of a band starts; the last entry is the end.
pub(super) type Starts = [usize; PARTS_OF_BAND + 1];

/// The part of a user, and the user's place in it.
#[inline]
pub(super) fn place(user: u32) -> (usize, u32) {
    let (run, within) = (user >> RUN_BITS, user % (1 << RUN_BITS));
    (run as usize % PARTS, run >> PART_BITS << RUN_BITS | within)
}

/// The code of the user with this place in a part.
pub(super) fn user_at(part: usize, place: usize) -> usize {
    ((place / RUN) << PART_BITS | part) * RUN + place % RUN
}

/// The number of places in a part if all codes are below `bound`.
pub(super) fn places(part: usize, bound: usize) -> usize {
    let round = PARTS * RUN;
    bound / round * RUN + (bound % round).saturating_sub(part * RUN).min(RUN)
}

/// Turns the counts of all parts into the starts of each band.
pub(super) fn starts(counts: &[usize; PARTS]) -> impl Iterator<Item = Starts> + '_ {
    counts.chunks(PARTS_OF_BAND).map(|counts| {
        let mut starts = [0; PARTS_OF_BAND + 1];
        for (part, count) in counts.iter().enumerate() {
            starts[part + 1] = starts[part] + count;
        }
        starts
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_user_has_one_place() {
        for bound in [0, 1, 31, 32, 33, 8191, 8192, 8193, 20_000] {
            let mut found: Vec<usize> = (0..PARTS)
                .flat_map(|part| (0..places(part, bound)).map(move |at| user_at(part, at)))
                .collect();
            found.sort_unstable();
            assert!(found.into_iter().eq(0..bound));
        }
        for user in (0..100_000).step_by(7) {
            let (part, place) = place(user);
            assert_eq!(user_at(part, place as usize), user as usize);
        }
    }
}
