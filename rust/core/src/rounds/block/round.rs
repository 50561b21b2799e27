//! A scored round, for users and items of any block.

use dpsel_exact::random::{Purpose, ReleaseKey, Words};
use dpsel_exact::{Error, Result};

use crate::rounds::calibration::Calibration;
use crate::rounds::decision::ScoredRound;
use crate::weighting::RoundAllowance;

/// What users may give in a round, and what decides its items.
#[derive(Debug)]
pub struct BlockRound {
    allowances: Vec<RoundAllowance>,
    /// Whether the cap of each of them can limit a weight.
    binding: Vec<bool>,
    pub(super) is_first: bool,
    pub(super) scored: ScoredRound,
    pub(super) words: Words,
}

impl BlockRound {
    /// The round of this number, counted from 0.
    ///
    /// # Errors
    /// [`Error::Internal`] for rounds that do not score, or if there is no such round.
    pub fn new(calibration: &Calibration, number: u32, with_weights: bool, key: &ReleaseKey) -> Result<Self> {
        let (_, publish) = calibration.scoring().ok_or(Error::Internal("the rounds do not score"))?;
        let scored = ScoredRound::new(calibration, number, with_weights)?;
        let allowances = publish.allowances().in_round(scored.share());
        Ok(Self {
            binding: (0..allowances.len()).map(|place| publish.allowances().binds(place)).collect(),
            is_first: number == 0,
            allowances,
            scored,
            words: Words::new(key, Purpose::Noise, number),
        })
    }

    /// All rounds.
    ///
    /// # Errors
    /// As [`BlockRound::new`].
    pub fn all(calibration: &Calibration, with_weights: bool, key: &ReleaseKey) -> Result<Vec<Self>> {
        let numbers = (0_u32..).take(calibration.rounds.len());
        numbers.map(|number| Self::new(calibration, number, with_weights, key)).collect()
    }

    /// Whether the round is the last one, which releases items.
    pub fn is_last(&self) -> bool {
        self.scored.is_last()
    }

    /// What a user may give whose allowance is at this place.
    #[inline]
    pub(super) fn allowance(&self, place: u8) -> &RoundAllowance {
        // Otherwise: a user of more items than any allowance is for.
        self.allowances.get(usize::from(place)).unwrap_or(&RoundAllowance::NOTHING)
    }

    /// Whether a cap can limit what one of the users with allowances at these places gives.
    pub(super) fn binds(&self, places: &[u8]) -> bool {
        places.iter().any(|place| self.binding.get(usize::from(*place)).is_some_and(|binds| *binds))
    }
}
