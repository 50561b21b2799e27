//! The way in which the rounds of a calibration run on the disk.

use crate::Result;
use crate::exchange::runs_in_pieces;
use crate::rounds::{Calibration, Round};
use crate::weighting::{Walk, Weighting};

/// How rounds run on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Users are weighed in parts, and items are decided one by one.
    Pieces,
    /// The same, and items have states from round to round.
    Scored,
    /// One round, in which users come one after the other.
    Ordered,
    /// Weights return to users, after a screening round or without one.
    Adaptive,
}

impl Way {
    /// The way of these rounds; `None` if they need all rows in memory.
    ///
    /// # Errors
    /// [`Error::Internal`] for rounds that no calibration gives.
    pub(super) fn of(calibration: &Calibration) -> Result<Option<Self>> {
        if calibration.scoring().is_some() {
            return Ok(Some(Self::Scored));
        }
        if runs_in_pieces(calibration) {
            return Ok(Some(Self::Pieces));
        }
        let is_adaptive = |round: &Round| matches!(round.weighting, Weighting::Mad(_));
        let screens = |round: &Round| round.weighting.adds_up() && round.rule.screening().is_some();
        Ok(match &calibration.rounds[..] {
            [last] if !last.rule.is_item_by_item() => None,
            [last] if is_adaptive(last) => Some(Self::Adaptive),
            [first, last] if screens(first) && is_adaptive(last) && last.rule.is_item_by_item() => {
                Some(Self::Adaptive)
            }
            [last] => Walk::new(last.weighting, last.rule.quantum(), 1)?.map(|_| Self::Ordered),
            _ => None,
        })
    }

    /// Whether stages of the way gather the rows of whole partitions into tables, which take more memory. Otherwise they
    /// do so only if something else does not fit into memory.
    pub(super) fn gathers(self) -> bool {
        match self {
            Self::Pieces | Self::Scored => false,
            Self::Ordered | Self::Adaptive => true,
        }
    }

    /// Whether the way needs the numbers of users of all items.
    pub(super) fn needs_counts(self) -> bool {
        match self {
            Self::Pieces => false,
            Self::Scored | Self::Ordered | Self::Adaptive => true,
        }
    }
}
