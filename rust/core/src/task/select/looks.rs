//! Requests whose mechanism or limit follows from a noisy look at the data.

use dpsel_exact::accounting::L0Bound;
use dpsel_exact::{Error, Result};

use super::request::SelectRequest;
use crate::look::Quantile;
use crate::mechanisms::{Lists, MatchingOr, MechanismSpec};
use crate::rounds::{Calibration, Round};
use crate::weighting::{MatchingSlots, Weighting};

impl SelectRequest {
    /// Whether a look at the data comes first.
    pub(super) fn looks_first(&self) -> bool {
        self.quantile.is_some() || self.mechanism.choice().is_some()
    }

    /// Refuse parameters out of range, two looks, and what the choice of a look may not have.
    pub(super) fn check_looks(&self) -> Result<()> {
        let chooses = self.mechanism.choice().is_some();
        if let Some(quantile) = &self.quantile {
            quantile.validate()?;
            if chooses {
                return Err(Error::Incompatible {
                    what: "max_items_per_user=Quantile(...) and MatchingOr both look at the data first"
                        .into(),
                    fix: "name one of its two mechanisms, or give max_items_per_user as a number",
                });
            }
        }
        if chooses && self.with_weights {
            return Err(Error::Incompatible {
                what: "with_weights=True asks for noisy weights, and Matching, which MatchingOr may take, has none".into(),
                fix: "leave with_weights out, or use a mechanism with noise (release=\"noise\")",
            });
        }
        if chooses && self.columns.levels.is_some() {
            return Err(Error::Incompatible {
                what: "the look of MatchingOr has no proof for levels=".into(),
                fix: "leave levels= out, or name one of the two mechanisms",
            });
        }
        Ok(())
    }

    /// The rounds of the last of the requests that a look may choose. Those of all others have to exist as well.
    ///
    /// # Errors
    /// As [`SelectRequest::calibrate`].
    pub(super) fn calibrate_all(&self) -> Result<Calibration> {
        let mut last = Err(Error::Internal("a look that chooses between nothing"));
        for request in self.possible()? {
            last = Ok(request.calibrate_once()?);
        }
        last
    }

    /// The request of the mechanism that is chosen for the lists that a look found, for what the look leaves of the budget.
    ///
    /// # Errors
    /// As [`MatchingOr::parts`].
    pub(crate) fn chosen(&self, choice: &MatchingOr<MechanismSpec>, lists: Lists) -> Result<Self> {
        let (_, privacy) = choice.parts(self.privacy)?;
        Ok(Self { privacy, mechanism: MechanismSpec::chosen(choice, lists), ..self.clone() })
    }

    /// The slots of the look: those of the first assignment of `Matching` for what the look leaves, without numbers.
    ///
    /// # Errors
    /// As [`SelectRequest::calibrate`].
    pub(super) fn slots_of_a_look(&self, choice: &MatchingOr<MechanismSpec>) -> Result<MatchingSlots> {
        let alone = Self { counts: None, rest: None, ..self.chosen(choice, Lists::Short)? };
        match alone.calibrate_once()?.rounds.first() {
            Some(Round { weighting: Weighting::Matching(slots), .. }) => Ok(*slots),
            _ => Err(Error::Internal("a matching without slots")),
        }
    }

    /// The request with the limit that a look found, for what the look leaves of the budget.
    ///
    /// # Errors
    /// As [`Quantile::parts`].
    pub(crate) fn limited(&self, quantile: &Quantile, limit: u32) -> Result<Self> {
        let (_, privacy) = quantile.parts(self.privacy)?;
        let max_items_per_user = L0Bound::new(limit.into())?;
        Ok(Self { max_items_per_user, privacy, quantile: None, ..self.clone() })
    }

    /// The request, or those between which a look at the data chooses.
    ///
    /// # Errors
    /// As [`MatchingOr::parts`] and [`Quantile::parts`].
    pub(crate) fn possible(&self) -> Result<Vec<Self>> {
        if let Some(quantile) = &self.quantile {
            let sizes = Quantile::sizes(self.max_items_per_user).into_iter();
            return sizes.map(|limit| self.limited(quantile, limit)).collect();
        }
        let Some(choice) = self.mechanism.choice() else { return Ok(vec![self.clone()]) };
        [Lists::Short, Lists::Long].into_iter().map(|lists| self.chosen(choice, lists)).collect()
    }
}
