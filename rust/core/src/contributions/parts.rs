//! Users divided into parts, each small enough to be grouped in the cache.

/// Bits of a user's code that select its part.
const PART_BITS: u32 = 8;
/// Number of parts.
pub(super) const PARTS: usize = 1 << PART_BITS;
/// So many consecutive codes are in the same part. Users who come one after the other have new items with neighbouring
/// codes, whose digests and weights share cache lines.
const RUN: usize = 1 << RUN_BITS;
/// [`RUN`] is two to this power.
const RUN_BITS: u32 = 5;

/// Where each part starts; the last entry is the end.
pub(super) type Starts = [usize; PARTS + 1];

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

/// Turns counts into starts. The count of part i stands at i + 1.
pub(super) fn starts(mut counts: Starts) -> Box<Starts> {
    for part in 0..PARTS {
        counts[part + 1] += counts[part];
    }
    Box::new(counts)
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
