//! The plan of a series of numbers: all its integers, fixed before the first row is read.

use dpsel_exact::accounting::gaussian::delta_upper;
use dpsel_exact::accounting::{L0Bound, Privacy, RELEASE_SLACK};
use dpsel_exact::numeric::{Interval, UNIT, mul_up, sub_down};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::mechanisms::value_slack;
use crate::series::certificate::reserve_factor;
use crate::series::plan::{Asked, MOST_RELEASES, not_a_plan};

/// The version of the form of plans.
pub(super) const FORMAT: u32 = 1;
/// Parts of 1 in which coefficients of what is published are given.
pub(super) const DECODE_BITS: u32 = 40;
/// Sums of weights, and their noise, have fewer units.
pub(super) const LARGEST: f64 = (1_u64 << 28) as f64;

/// Who is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountsUnit {
    /// A user with all rows of all releases.
    User,
    /// The rows of a user in one release.
    UserRelease,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsAsked {
    /// The guarantee of all numbers together.
    pub privacy: Privacy,
    /// The most releases of the series.
    pub releases: u32,
    /// A number is of so many releases, the last one included.
    pub window: u32,
    /// Whoever holds so many items counts whole in all of them.
    pub max_items_per_user: L0Bound,
    /// The most releases in which a user counts in an item.
    pub max_releases_per_item: u32,
    /// Who is protected.
    pub unit: CountsUnit,
}

/// All integers of a series of numbers, and the certificate that they keep the guarantee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountsPlan {
    pub(super) format: u32,
    pub(super) asked: CountsAsked,
    /// The first column of R, in grid steps: what a user that counts once gives to each release from then on. Beyond them
    /// it is 0.
    pub(super) weights: Vec<u64>,
    /// The first column of the matrix that makes numbers of noisy values, in parts of 2^40. It costs nothing.
    pub(super) decode: Vec<i64>,
    /// The standard deviation of the noise of a noisy value, in units of weight.
    pub(super) sigma: f64,
    pub(super) certificate: CountsCertificate,
}

/// The parts of the guarantee of a plan. All numbers are upper bounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CountsCertificate {
    /// The distance of the means that one user makes, in standard deviations.
    pub(super) mu: f64,
    /// The delta of the noise, 0 under zCDP.
    pub(super) delta_noise: f64,
    /// The part of delta for finite precision.
    pub(super) reserve: f64,
}

impl CountsAsked {
    /// Check the ranges.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming the parameter.
    pub fn validate(self) -> Result<Self> {
        self.privacy.validate()?;
        if !(1..=MOST_RELEASES).contains(&self.releases) {
            return Err(Asked::no_number_of_releases(self.releases));
        }
        let is_within = |given: u32| (1..=self.releases).contains(&given);
        if !is_within(self.window) {
            return Err(Self::no_window(self.window));
        }
        if !is_within(self.max_releases_per_item) {
            return Err(Self::no_releases_per_item(self.max_releases_per_item));
        }
        if self.unit == CountsUnit::UserRelease && self.max_releases_per_item != 1 {
            return Err(Error::Incompatible {
                what: "max_releases_per_item= has no meaning where each release of a user is protected alone"
                    .into(),
                fix: "leave it out, or take the unit 'user'",
            });
        }
        Ok(self)
    }

    /// The error for a window that is out of range.
    pub fn no_window(given: impl ToString) -> Error {
        let fix = "a number is of so many releases, the last one included";
        Error::parameter("window", "between 1 and releases", given, fix)
    }

    /// The error for a number of releases of an item that is out of range.
    pub fn no_releases_per_item(given: impl ToString) -> Error {
        let fix = "it is the most releases in which a user counts in an item";
        Error::parameter("max_releases_per_item", "between 1 and releases", given, fix)
    }
}

impl CountsPlan {
    /// The plan as text.
    ///
    /// # Errors
    /// [`Error::Internal`] never in practice: every field serialises.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|_| Error::Internal("a plan does not serialise"))
    }

    /// A plan from its text, whose certificate holds.
    ///
    /// # Errors
    /// [`Error::Report`] for a text that is no plan, or whose integers do not keep the guarantee.
    pub fn from_json(text: &str) -> Result<Self> {
        let plan: Self = serde_json::from_str(text).map_err(|_| not_a_plan("it has another form"))?;
        if plan.format != FORMAT {
            return Err(not_a_plan("it has another version"));
        }
        plan.asked.validate()?;
        plan.check_shape().ok_or_else(|| not_a_plan("its numbers do not fit together"))?;
        plan.check()?;
        Ok(plan)
    }

    /// Whether the lists have the lengths and orders that all code and Lemma 1 of the page rely on.
    fn check_shape(&self) -> Option<()> {
        let is_sound = self.weights.len() <= self.asked.window as usize
            && self.weights.first() == Some(&UNIT)
            && self.weights.is_sorted_by(|a, b| a >= b)
            && self.decode.len() == self.asked.releases as usize
            && self.decode.first() == Some(&(1 << DECODE_BITS))
            && self.decode.iter().all(|part| part.unsigned_abs() <= 1 << (DECODE_BITS + 2))
            && self.sigma > 0.0
            && self.sigma < LARGEST;
        is_sound.then_some(())
    }

    /// Refuse a plan whose certificate does not hold.
    ///
    /// # Contract
    /// All bounds are computed anew from the integers. The certificate states no less than they are.
    fn check(&self) -> Result<()> {
        let (found, stated) = (self.bounds(), self.certificate);
        let is_stated = found.mu <= stated.mu && found.delta_noise <= stated.delta_noise;
        // NaN is not stated.
        if !is_stated || !stated.reserve.is_finite() || stated.reserve < 0.0 {
            return Err(not_a_plan("its certificate states less than it costs"));
        }
        if !self.holds(found, stated.reserve) {
            return Err(not_a_plan("its integers do not keep its guarantee"));
        }
        Ok(())
    }

    /// The square of the norm of a user: what one gives that counts in all items in all its releases, the first ones.
    pub(super) fn norm(&self) -> u128 {
        u128::from(self.asked.max_items_per_user.get()) * self.norm_of_item()
    }

    /// The same in one item.
    fn norm_of_item(&self) -> u128 {
        let most = self.asked.max_releases_per_item as usize;
        let weight = |at: usize| self.weights.get(at).copied().map_or(0, u128::from);
        let (mut sum, mut norm) = (0, 0);
        for release in 0..self.asked.releases as usize {
            sum += weight(release);
            if let Some(gone) = release.checked_sub(most) {
                sum -= weight(gone);
            }
            norm += sum * sum;
        }
        norm
    }

    /// What counting costs in a release: the first entry if a user counts in an item, and twice the others for each release
    /// before in which it counted there, by their distance.
    pub(super) fn costs(&self, release: u32) -> Vec<u128> {
        let remaining = (self.asked.releases - release) as usize + 1;
        let weights = &self.weights;
        let overlap = |distance: usize| {
            let later = weights.iter().skip(distance);
            weights.iter().take(remaining).zip(later).map(|(a, b)| u128::from(*a) * u128::from(*b)).sum()
        };
        (0..release as usize).map(overlap).collect()
    }

    /// Bounds of the distance and of the delta of the noise.
    pub(super) fn bounds(&self) -> CountsCertificate {
        let norm = Interval::integer(self.norm().cast_signed()).sqrt() / Interval::integer(UNIT.into());
        let mu = (norm / Interval::point(self.sigma)).hi();
        let delta_noise = match self.asked.privacy {
            Privacy::ApproxDp { epsilon, .. } => delta_upper(epsilon, mu),
            Privacy::Zcdp { .. } | Privacy::PureDp { .. } => 0.0,
        };
        CountsCertificate { mu, delta_noise, reserve: 0.0 }
    }

    /// Upper bound of the total variation to exact noise: of all items in which a user may count, in all releases.
    pub(super) fn slack(&self) -> f64 {
        // Counting in an item takes a square unit at least.
        let most =
            Interval::integer(self.norm_of_item().cast_signed()) / Interval::integer(UNIT.into()).square();
        let values = mul_up(most.hi(), self.asked.releases.into());
        mul_up(value_slack(self.sigma, self.asked.max_items_per_user), values)
    }

    /// Whether the bounds are within the guarantee, with this reserve.
    pub(super) fn holds(&self, found: CountsCertificate, reserve: f64) -> bool {
        let slack = self.slack();
        let is_paid = |factor: f64| slack <= RELEASE_SLACK && mul_up(slack, factor) <= reserve;
        match self.asked.privacy {
            Privacy::ApproxDp { epsilon, delta } => {
                found.delta_noise <= sub_down(delta, reserve) && is_paid(reserve_factor(epsilon))
            }
            Privacy::Zcdp { rho, delta } => {
                let cost = Interval::point(found.mu).square() / Interval::point(2.0);
                reserve <= delta && is_paid(1.0) && cost.hi() <= rho
            }
            Privacy::PureDp { .. } => false,
        }
    }

    /// A number from the noisy values of an item since it was named, to the nearest whole one.
    ///
    /// # Contract
    /// It is a function of the noisy values, and of nothing else of the rows.
    #[expect(clippy::cast_possible_truncation, reason = "clamped")]
    pub(super) fn number(&self, noisy: &[i128]) -> i64 {
        let sum: i128 = noisy.iter().rev().zip(&self.decode).map(|(y, part)| y * i128::from(*part)).sum();
        let unit = i128::from(UNIT) << DECODE_BITS;
        (sum + unit / 2).div_euclid(unit).clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}
