//! Users in parts, each of a size that one thread works on with what it knows of its users in the cache.

use std::ops::Range;
use std::sync::Arc;

use super::rows::USERS;
use crate::bounding::KeptPiece;

/// Rows of a part, about, unless one user has more.
const ROWS: usize = if cfg!(test) { 400 } else { 1 << 18 };

/// Users of a part, and where their items are. A piece is freed with the last part that has users of it.
#[derive(Debug, Default)]
pub(super) struct UsersOfPart(Vec<(Arc<KeptPiece>, Range<usize>)>);

impl UsersOfPart {
    /// The items of each user.
    pub(super) fn items(&self) -> impl Iterator<Item = &[u32]> {
        self.0.iter().flat_map(|(piece, users)| piece.users().skip(users.start).take(users.len()))
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

/// All users, in parts.
pub(super) fn divided(pieces: Vec<KeptPiece>) -> Vec<UsersOfPart> {
    let (mut parts, mut part, mut size) = (Vec::new(), UsersOfPart::default(), (0, 0));
    for piece in pieces.into_iter().map(Arc::new) {
        let mut first = 0;
        for (user, items) in piece.users().enumerate() {
            if size.0 == USERS || size.1 >= ROWS {
                part.0.push((Arc::clone(&piece), first..user));
                parts.push(std::mem::take(&mut part));
                (first, size) = (user, (0, 0));
            }
            size = (size.0 + 1, size.1 + items.len());
        }
        let users = first..piece.users().len();
        part.0.push((piece, users));
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::L0Bound;
    use crate::bounding::BoundedContributions;
    use crate::contributions::testing::contributions;
    use crate::random::ReleaseKey;
    use crate::runtime::Control;

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
            let parts = divided(kept().into_kept_pieces().0);
            assert!(parts.iter().flat_map(UsersOfPart::items).eq(expected.iter().map(Vec::as_slice)));
            for part in &parts {
                let lens: Vec<usize> = part.items().map(<[u32]>::len).collect();
                assert!(lens.len() == part.len() && lens.len() <= USERS);
                // What is beyond comes with the last user.
                assert!(lens.iter().rev().skip(1).sum::<usize>() < ROWS.max(1));
            }
        }
    }
}
