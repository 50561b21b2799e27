//! Users in parts, each of a size that one thread works on with what it knows of its users in the cache.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use dpsel_rows::runtime::parallel;

use crate::bounding::KeptPiece;
use crate::rounds::block::MOST_USERS;

/// A part takes no more users when it has some number of rows between these.
const ENOUGH_ROWS: RangeInclusive<usize> =
    if cfg!(any(test, feature = "testing")) { 400..=400 } else { 1 << 13..=1 << 18 };

/// Users of a part, with where the items are that they keep. A piece is freed with the last part that has users of it.
#[derive(Debug, Default)]
pub(super) struct KeptPart(Vec<(Arc<KeptPiece>, Range<usize>)>);

impl KeptPart {
    /// Add users of a piece, if there are some.
    fn add(&mut self, piece: &Arc<KeptPiece>, users: Range<usize>) {
        if !users.is_empty() {
            self.0.push((Arc::clone(piece), users));
        }
    }

    /// The items of each user.
    pub(super) fn items(&self) -> impl Iterator<Item = &[u32]> {
        self.0.iter().flat_map(|(piece, users)| piece.items_by_user().skip(users.start).take(users.len()))
    }

    /// Number of their items.
    pub(super) fn rows(&self) -> usize {
        self.items().map(<[u32]>::len).sum()
    }

    /// Number of users.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|(_, users)| users.len()).sum()
    }
}

/// The number of rows at which a part takes no more users, if users have so many rows together. Large parts take less time,
/// and each thread should have several.
pub(super) fn enough_rows(rows: usize, threads: usize) -> usize {
    (rows / parallel::parts_for(threads)).clamp(*ENOUGH_ROWS.start(), *ENOUGH_ROWS.end())
}

/// All users, in parts that take no more users when they have `enough` rows.
pub(super) fn divide_users(pieces: Vec<KeptPiece>, enough: usize) -> Vec<KeptPart> {
    let (mut parts, mut part) = (Vec::new(), KeptPart::default());
    let (mut users, mut rows) = (0, 0);
    for piece in pieces.into_iter().map(Arc::new) {
        let mut first = 0;
        for (user, items) in piece.items_by_user().enumerate() {
            if users == MOST_USERS || rows >= enough {
                part.add(&piece, first..user);
                parts.push(std::mem::take(&mut part));
                (first, users, rows) = (user, 0, 0);
            }
            (users, rows) = (users + 1, rows + items.len());
        }
        part.add(&piece, first..piece.items_by_user().len());
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use dpsel_exact::accounting::L0Bound;
    use dpsel_exact::random::ReleaseKey;
    use dpsel_rows::contributions::testing::contributions;
    use dpsel_rows::runtime::Control;

    use super::*;
    use crate::bounding::BoundedContributions;

    #[test]
    fn every_user_is_in_one_part_with_its_items() {
        let rows: Vec<(u64, u64)> =
            (0..9000).map(|n| (if n < 1000 { 7 } else { n * n % 1187 }, n * 31 % 2003)).collect();
        for rows in [&rows[..], &rows[..900], &[]] {
            let key = ReleaseKey::insecure_test([3; 32]);
            let bound = L0Bound::new(1000).unwrap();
            let kept = || {
                let contributions = contributions(rows, &key);
                BoundedContributions::new(contributions, bound, &key, &Control::default()).unwrap()
            };
            let expected: Vec<Vec<u32>> =
                (0..kept().users()).map(|user| kept().kept_items(user).to_vec()).collect();
            let parts = divide_users(kept().into_kept_pieces().0, enough_rows(rows.len(), 2));
            assert!(parts.iter().flat_map(KeptPart::items).eq(expected.iter().map(Vec::as_slice)));
            for (at, part) in parts.iter().enumerate() {
                let lens: Vec<usize> = part.items().map(<[u32]>::len).collect();
                let rows = lens.iter().sum::<usize>();
                assert!(lens.len() == part.len() && lens.len() <= MOST_USERS && part.rows() == rows);
                // What is beyond comes with the last user.
                assert!(rows - lens.last().copied().unwrap_or(0) < 400);
                assert!(at + 1 == parts.len() || lens.len() == MOST_USERS || rows >= 400);
            }
        }
    }
}
