//! All numbers that are published beside the items of a selection, as coordinates of one Gaussian round.

use dpsel_exact::numeric::{add_up, div_down, mul_down, sqrt_down};
use dpsel_exact::{Error, Result};

use super::noise::{CountNoise, CountedUsers, Paid};
use super::rest::{Rest, RestNoise};

/// The numbers that a request asks for: at least one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumbersAsked {
    /// Of users or rows of each item.
    pub counts: Option<CountedUsers>,
    /// Of what the list covers.
    pub rest: Option<Rest>,
}

impl NumbersAsked {
    /// The numbers, if there are any.
    #[must_use]
    pub fn of(counts: Option<CountedUsers>, rest: Option<Rest>) -> Option<Self> {
        (counts.is_some() || rest.is_some()).then_some(Self { counts, rest })
    }

    /// The part of the budget that all of them cost.
    pub(crate) fn share(&self) -> f64 {
        let (counts, rest) = self.shares();
        if rest > 0.0 { add_up(counts, rest) } else { counts }
    }

    /// The parts of the budget of each kind.
    fn shares(&self) -> (f64, f64) {
        // Otherwise: these are not asked for.
        (self.counts.map_or(0.0, |counts| counts.share), self.rest.map_or(0.0, |rest| rest.share))
    }

    /// The options, for errors.
    pub(crate) fn options(&self) -> &'static str {
        match (self.counts, self.rest) {
            (Some(_), Some(_)) => "counts= and rest=",
            (None, Some(_)) => "rest=",
            (Some(_) | None, None) => "counts=",
        }
    }

    /// The most rows of a user and an item that have to be known.
    #[must_use]
    pub(crate) fn most_rows(&self) -> u32 {
        // Otherwise: these are not asked for.
        let counts = self.counts.map_or(1, |counts| counts.limit().most_rows());
        counts.max(self.rest.map_or(1, |rest| rest.most_rows()))
    }

    /// Check the ranges, and that the numbers leave something of the budget.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming the parameter; [`Error::Incompatible`].
    pub fn validate(&self) -> Result<()> {
        self.counts.map_or(Ok(()), |counts| counts.validate())?;
        self.rest.map_or(Ok(()), |rest| rest.validate())?;
        if self.share() < 1.0 {
            return Ok(());
        }
        Err(Error::Incompatible {
            what: "counts= and rest= together take the whole budget, and leave nothing for the items".into(),
            fix: "lower one of the two shares",
        })
    }

    /// The noise of all numbers, whose means one user moves by at most `mu` standard deviations.
    ///
    /// # Errors
    /// As [`CountNoise::new`].
    pub(crate) fn noise(&self, mu: f64, paid: Paid) -> Result<NumberNoise> {
        let share = self.share();
        // The squares of the parts add up to at most the square of `mu`.
        let part = |of: f64| if of < share { mul_down(mu, sqrt_down(div_down(of, share))) } else { mu };
        let counts = self.counts.map(|asked| CountNoise::new(part(asked.share), &asked, paid)).transpose()?;
        let rest = self.rest.map(|asked| RestNoise::new(part(asked.share), &asked, paid)).transpose()?;
        Ok(NumberNoise { counts, rest })
    }
}

/// The noise of all numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberNoise {
    /// Of users or rows of each item.
    pub counts: Option<CountNoise>,
    /// Of what the list covers.
    pub rest: Option<RestNoise>,
}

impl NumberNoise {
    /// How they are paid for, if there are any.
    #[must_use]
    pub fn paid(&self) -> Option<Paid> {
        self.counts.map(|counts| counts.paid).or(self.rest.map(|rest| rest.paid))
    }

    /// The most rows of a user and an item that have to be known.
    #[must_use]
    pub fn most_rows(&self) -> u32 {
        // Otherwise: these are not asked for.
        let counts = self.counts.map_or(1, |counts| counts.limit().most_rows());
        counts.max(self.rest.map_or(1, |rest| rest.most_rows()))
    }

    /// Upper bounds of distances by which one user moves the means, in standard deviations. Their squares add up.
    pub(crate) fn mus(&self) -> impl Iterator<Item = f64> + '_ {
        let of_counts = self.counts.as_ref().map(CountNoise::mu).into_iter();
        of_counts.chain(self.rest.iter().flat_map(RestNoise::mus))
    }

    /// Upper bound of the total variation to exact noise.
    pub(crate) fn slack(&self) -> f64 {
        // Otherwise: these are not asked for.
        let counts = self.counts.map_or(0.0, |counts| counts.slack());
        self.rest.map_or(counts, |rest| add_up(counts, rest.slack()))
    }
}
