//! The kept items of users, in pieces of memory.

use dpsel_exact::numeric::widths::index;
use dpsel_rows::contributions::{Piece, Start};
use dpsel_rows::runtime::memory::Array;

/// The kept items of consecutive users who keep the same items in all rounds.
#[derive(Debug)]
pub(crate) struct KeptPiece {
    /// Where the kept items of each user begin, in rising order, and their number.
    users: Vec<(u32, u32)>,
    items: Array<u32>,
}

impl KeptPiece {
    /// The first `bound` items of each user of a piece, from the starts and numbers of items of all users.
    pub(super) fn new(piece: Piece, starts: &[Start], lens: &[u32], bound: u32) -> Self {
        let Piece { users, items, .. } = piece;
        let kept = starts[users.clone()].iter().zip(&lens[users]);
        let kept = kept.map(|(start, len)| (start.at, (*len).min(bound)));
        Self { users: kept.collect(), items }
    }

    /// The items of each user.
    pub(crate) fn items_by_user(&self) -> impl ExactSizeIterator<Item = &[u32]> + Clone {
        let items = self.items.as_slice();
        self.users.iter().map(move |(at, len)| &items[index((*at).into())..][..index((*len).into())])
    }
}
