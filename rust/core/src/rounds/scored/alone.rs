//! What is known of an item that one user alone holds.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::rounds::decision::ItemState;
use crate::weighting::{Drift, Spread};
use crate::{Error, Result};

type I64 = zerocopy::native_endian::I64;

/// What is known of an item that one user alone holds. It has 20 bytes, which may stand beside the user on a disk.
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
        u64::from(self.importance) * u64::from(self.importance)
    }

    /// Get a weight of the current round from its user.
    #[inline]
    pub(crate) fn get(&mut self, spread: &Spread<'_>) {
        let weight = spread.weight(self.importance, &mut self.drift);
        self.add(weight);
    }

    #[inline]
    pub(crate) fn add(&mut self, weight: u64) {
        // Otherwise: more than the norm of a user, which `weight` makes an error.
        self.weight = u32::try_from(u64::from(self.weight) + weight).unwrap_or(u32::MAX);
    }

    /// The sum of all weights so far; a number that no weight has if it does not fit.
    #[inline]
    pub(crate) fn weight(&self) -> u64 {
        if self.weight == u32::MAX { u64::MAX } else { self.weight.into() }
    }

    /// The sum of all weights so far.
    ///
    /// # Errors
    /// [`Error::Internal`] if it exceeds the norm of a user.
    #[inline]
    pub(super) fn checked_weight(&self) -> Result<u64> {
        if self.weight < u32::MAX {
            Ok(self.weight.into())
        } else {
            Err(Error::Internal("an item got more than the norm of a user"))
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> ItemState {
        ItemState { noise: self.noise.get(), exposure: self.exposure, importance: self.importance }
    }

    #[inline]
    pub(crate) fn set(&mut self, ItemState { noise, exposure, importance }: ItemState) {
        *self = Self { noise: noise.into(), exposure, importance, ..*self };
    }

    /// Whether the item was abandoned: its user gives it no more weight, and it is never released.
    #[inline]
    pub(crate) fn is_abandoned(&self) -> bool {
        self.importance == 0 && self.exposure == 0
    }
}
