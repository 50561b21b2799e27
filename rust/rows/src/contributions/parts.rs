//! Users divided into parts, each small enough to be grouped in the cache, and parts divided into bands. The rows of a band
//! have memory of their own, which is used again once they are grouped.

/// Bits of a user's code that select its part.
const PART_BITS: u32 = 8;
/// Number of parts.
pub(super) const PARTS: usize = 1 << PART_BITS;
/// Number of bands. So many threads can group rows at once.
pub(super) const BANDS: usize = 32;
/// Parts of a band. Neighbouring parts are in different bands, so that few users are in many bands, too.
pub(super) const PARTS_OF_BAND: usize = PARTS / BANDS;
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

/// The band of a part, and the number of the part in it.
#[inline]
pub(super) fn in_band(part: usize) -> (usize, usize) {
    (part % BANDS, part / BANDS)
}

/// The part of this number in a band.
pub(super) fn part_of_band(band: usize, number: usize) -> usize {
    number * BANDS + band
}

/// Turns the counts of all parts into the starts of each band.
pub(super) fn starts(counts: &[usize; PARTS]) -> [Starts; BANDS] {
    std::array::from_fn(|band| {
        let mut starts = [0; PARTS_OF_BAND + 1];
        for number in 0..PARTS_OF_BAND {
            starts[number + 1] = starts[number] + counts[part_of_band(band, number)];
        }
        starts
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_part_has_one_place_in_a_band_and_neighbours_are_apart() {
        for part in 0..PARTS {
            let (band, number) = in_band(part);
            assert!(band < BANDS && number < PARTS_OF_BAND);
            assert_eq!(part_of_band(band, number), part);
        }
        let bands =
            |users: u32| (0..users).map(|user| in_band(place(user).0).0).collect::<BTreeSet<_>>().len();
        assert_eq!((bands(32), bands(33), bands(1024)), (1, 2, BANDS));
    }

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
