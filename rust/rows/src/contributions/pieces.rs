//! The items of all users, in pieces of memory.
//!
//! Rows are not needed any more once they are grouped. So their memory takes the items of users who are grouped later.
//! To fetch fresh memory from the system takes several times as long.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use dpsel_exact::numeric::widths::codes;

use crate::runtime::memory::Array;

/// Items of a fresh piece at most, unless one user has more. Tests have many pieces with few items.
const FRESH: usize = if cfg!(any(test, feature = "testing")) { 64 } else { 1 << 16 };
/// Items of a piece that is used again, at least: many small pieces would take more time than fresh memory.
const LEAST: usize = if cfg!(any(test, feature = "testing")) { 8 } else { 1 << 13 };

/// Where the items of a user start: a piece, and a place in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Start {
    /// The piece.
    pub piece: u32,
    /// The place.
    pub at: u32,
}

/// The items of consecutive users.
#[derive(Debug)]
pub struct Piece {
    /// The users.
    pub users: Range<usize>,
    /// The items of each user follow those of the one before, perhaps with others between them that mean nothing.
    pub items: Array<u32>,
    /// The length of what was filled. It does not change when users lose items.
    pub len: usize,
}

/// Change the items of each user. `change` returns how many of them it has moved to the front, which stay.
pub(super) fn change_items(
    pieces: &mut [Piece],
    starts: &[Start],
    lens: &mut [u32],
    mut change: impl FnMut(&mut [u32]) -> u32,
) {
    for Piece { users, items, .. } in pieces {
        let items = items.as_mut_slice();
        for (start, len) in starts[users.clone()].iter().zip(&mut lens[users.clone()]) {
            *len = change(&mut items[start.at as usize..][..*len as usize]);
        }
    }
}

/// Memory of rows that were grouped.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Vec<Array<u32>>>);

impl Spare {
    /// Keep memory that may be used again.
    pub(super) fn put(&self, arrays: impl Iterator<Item = Array<u32>>) {
        let large = arrays.filter(|array| array.as_slice().len() >= LEAST);
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(large);
    }

    /// Memory for `least` items or more. Fresh memory is for `all`, within bounds. Only the last array is looked at, as most
    /// have the same length.
    fn take(&self, least: usize, all: usize) -> Array<u32> {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_enough = spare.last().is_some_and(|array| array.as_slice().len() >= least);
        let used = if is_enough { spare.pop() } else { None };
        drop(spare);
        used.unwrap_or_else(|| Array::apart(all.min(FRESH).max(least)))
    }

    /// What is left.
    pub(super) fn into_arrays(self) -> Vec<Array<u32>> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the items of one user after the other into pieces.
pub(super) struct PieceWriter<'a> {
    spare: &'a Spare,
    pieces: Vec<Piece>,
    /// The next user.
    user: usize,
    /// Rows of the users that are still to come.
    rows: usize,
}

impl<'a> PieceWriter<'a> {
    /// Pieces for the users from `user` on, who have so many rows.
    pub(super) fn new(spare: &'a Spare, user: usize, rows: usize) -> Self {
        Self { spare, pieces: Vec::new(), user, rows }
    }

    /// Add the items of the next user, who has so many rows. The number of the piece is counted from the first piece of
    /// this writer; the pieces of others are added later.
    pub(super) fn push(&mut self, items: &[u32], rows: usize) -> Start {
        let room = self.pieces.last().map_or(0, |piece| piece.items.as_slice().len() - piece.len);
        if self.pieces.is_empty() || room < items.len() {
            let users = self.user..self.user;
            self.pieces.push(Piece { users, items: self.spare.take(items.len(), self.rows), len: 0 });
        }
        self.user += 1;
        self.rows -= rows;
        let number = self.pieces.len() - 1;
        let piece = &mut self.pieces[number];
        let at = piece.len;
        piece.items.as_mut_slice()[at..at + items.len()].copy_from_slice(items);
        piece.len += items.len();
        piece.users.end = self.user;
        Start { piece: codes(number), at: codes(at) }
    }

    /// All pieces.
    pub(super) fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_their_items_whatever_memory_is_at_hand() {
        let spare = Spare::default();
        spare.put([39, LEAST, LEAST - 1, 30].into_iter().map(|len| {
            let mut used = Array::zeroed(len);
            used.as_mut_slice().fill(9);
            used
        }));
        let lens = [3_u32, 0, 25, 20, 1, codes(FRESH) + 7, 8, 0, 40];
        let items_of =
            |user: usize| (0..lens[user]).map(move |item| item * 100 + codes(user)).collect::<Vec<_>>();
        let rows = lens.iter().map(|len| *len as usize).sum::<usize>();
        let mut writer = PieceWriter::new(&spare, 5, rows + lens.len());
        let starts: Vec<Start> =
            (0..lens.len()).map(|user| writer.push(&items_of(user), lens[user] as usize + 1)).collect();
        let mut pieces = writer.into_pieces();
        assert!(pieces.iter().flat_map(|piece| piece.users.clone()).eq(5..5 + lens.len()));
        assert!(pieces.iter().any(|piece| piece.items.as_slice().len() == 30));
        for (user, Start { piece, at }) in starts.iter().enumerate() {
            let piece = &pieces[*piece as usize];
            assert!(piece.users.contains(&(5 + user)) && *at as usize + lens[user] as usize <= piece.len);
            assert_eq!(piece.items.as_slice()[*at as usize..][..lens[user] as usize], items_of(user));
        }
        // Smaller arrays than `LEAST` were not kept, and one that is too small for its user stays.
        let left: Vec<usize> = spare.into_arrays().iter().map(|array| array.as_slice().len()).collect();
        assert_eq!(left, [39]);
        let starts: Vec<Start> = [Start::default(); 5].into_iter().chain(starts).collect();
        let mut kept: Vec<u32> = [0; 5].into_iter().chain(lens).collect();
        change_items(&mut pieces, &starts, &mut kept, |items| {
            items.reverse();
            codes(items.len().min(2))
        });
        assert!(kept[5..].iter().zip(lens).all(|(kept, len)| *kept == len.min(2)));
        let Start { piece, at } = starts[7];
        assert_eq!(pieces[piece as usize].items.as_slice()[at as usize], 24 * 100 + 2);
    }
}
