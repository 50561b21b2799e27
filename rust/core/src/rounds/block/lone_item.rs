//! What is known of an item that one user alone keeps.

use dpsel_exact::{Error, Result};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::decisions::TrackedItem;
use crate::rounds::decision::ItemState;
use crate::weighting::{Drift, FULL_IMPORTANCE, Spread, square};

type I64 = zerocopy::native_endian::I64;

/// What is known of an item that one user alone keeps. It has 20 bytes, which may stand beside the user on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(crate) struct Alone {
    noise: I64,
    /// The norm of one user over all rounds is at most 2^31, and no item gets more.
    weight: u32,
    exposure: u32,
    importance: u16,
    /// What the user gave to the item so far.
    drift: Drift,
}

impl Alone {
    /// Before the first round.
    pub(crate) fn new() -> Self {
        let mut new = Self::default();
        new.set(ItemState::default());
        new
    }

    /// The square of its importance.
    #[inline]
    pub(crate) fn square(&self) -> u64 {
        square(self.importance)
    }

    /// Whether rounds can have made this of an item: a user whose importances were larger would give more than its norm.
    #[inline]
    pub(crate) fn is_sound(&self) -> bool {
        self.importance <= FULL_IMPORTANCE
    }

    /// Receive a weight of the current round from its user.
    #[inline]
    pub(crate) fn receive(&mut self, spread: &Spread) {
        let weight = spread.weight(self.importance, &mut self.drift);
        self.add(weight);
    }

    /// Add a weight of the current round.
    #[inline]
    pub(crate) fn add(&mut self, weight: u32) {
        // A sum that saturates is far more than the norm of a user. When the weight is asked for, that is an error.
        self.weight = self.weight.saturating_add(weight);
    }

    /// The sum of its weights so far.
    #[inline]
    pub(super) fn sum(&self) -> u64 {
        self.weight.into()
    }

    /// Whether the item was abandoned: its user gives it no more weight, and it is never released.
    #[inline]
    pub(crate) fn is_abandoned(&self) -> bool {
        self.state().is_abandoned()
    }
}

impl TrackedItem for Alone {
    #[inline]
    fn weight(&self) -> Result<u64> {
        if self.weight < u32::MAX {
            Ok(self.weight.into())
        } else {
            Err(Error::Internal("an item got more than the norm of a user"))
        }
    }

    #[inline]
    fn state(&self) -> ItemState {
        ItemState { noise: self.noise.get(), exposure: self.exposure, importance: self.importance }
    }

    #[inline]
    fn set(&mut self, ItemState { noise, exposure, importance }: ItemState) {
        *self = Self { noise: noise.into(), exposure, importance, ..*self };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_far_beyond_the_norm_of_a_user_is_an_error() {
        let mut item = Alone::new();
        for _ in 0..3 {
            item.add(1 << 30);
        }
        assert_eq!(item.weight().unwrap(), 3 << 30);
        item.add(1 << 30);
        assert!(item.weight().is_err());
        item.add(1);
        assert!(item.weight().is_err());
    }
}
