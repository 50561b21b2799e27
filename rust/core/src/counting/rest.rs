//! What a published list covers: users with all, some or none of their items in it, and rows inside and outside of it.
//!
//! One user is in one class, and adds to the two numbers of rows at most `max_rows_per_user` together. Theorem and proof:
//! `docs/algorithms/counts.md`.

use dpsel_exact::noise::{Noise, NoisyThreshold, Threshold};
use dpsel_exact::numeric::{UNIT, add_up, div_up, mul_down, mul_up, sqrt_down};
use dpsel_exact::random::{Digest, Purpose, ReleaseKey, Words};
use dpsel_exact::{Error, Result};
use serde::{Deserialize, Serialize};

use super::coverage::{Coverage, Covered, PublishedRest, RestRows, RestUsers};
use super::limit::{CountLimit, capped};
use super::noise::{HalfWidth, Paid, rounded, scale_of, slack_of_values};

/// The numbers of what a list covers, as a request asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rest {
    /// The part of the budget that they cost.
    pub share: f64,
    /// Rows are counted too: of one user, up to so many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows_per_user: Option<u32>,
}

impl Rest {
    /// The largest share: more than half of a budget for five numbers is a mistake.
    const MOST_SHARE: f64 = 0.5;

    /// The most rows of one user and one item that have to be known.
    pub(crate) fn most_rows(&self) -> u32 {
        most_rows(self.max_rows_per_user)
    }

    /// Check the ranges.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming the parameter.
    pub fn validate(&self) -> Result<()> {
        if let Some(rows) = self.max_rows_per_user
            && !(1..=CountLimit::MOST_ROWS).contains(&rows)
        {
            let fix = "of one user, so many rows count; leave it out to count users alone";
            return Err(Error::parameter("max_rows_per_user", "between 1 and 1,000,000", rows, fix));
        }
        if self.share > 0.0 && self.share <= Self::MOST_SHARE {
            return Ok(());
        }
        let fix = "it is the part of the budget that the numbers of the rest cost; 0.02 is usual";
        Err(Error::parameter("rest", "a share above 0 and at most 0.5", self.share, fix))
    }
}

/// The noise of numbers of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberScale {
    /// Gaussian, in users or rows.
    pub noise: Noise,
    /// The half-width of an interval that holds one number with 95 %, rounding to whole numbers included.
    pub half_width: f64,
}

impl NumberScale {
    fn new(norm: f64, mu: f64) -> Result<Self> {
        let sigma = scale_of(norm, mu, "rest=")?;
        Ok(Self { noise: Noise::Gaussian { sigma }, half_width: HalfWidth::of(sigma) })
    }

    fn sigma(&self) -> f64 {
        let (Noise::Gaussian { sigma: scale } | Noise::Laplace { scale }) = self.noise;
        scale
    }
}

/// The noise of what a list covers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestNoise {
    /// Of the numbers of users.
    pub users: NumberScale,
    /// Of the numbers of rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<NumberScale>,
    /// Of one user, up to so many rows count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rows_per_user: Option<u32>,
    /// How it is paid for.
    pub paid: Paid,
}

impl RestNoise {
    /// The theorem in one sentence.
    pub const STATEMENT: &'static str = "the numbers of users with all, some or none of their items in the list, of which one user changes one by 1, and \
         those of rows inside and outside of it, which one user changes by max_rows_per_user together at most, are \
         further coordinates of the same Gaussian noise";

    /// The noise whose means one user moves by at most `mu` standard deviations. Users and rows have half of its square
    /// each.
    ///
    /// # Contract
    /// 1 over the one sigma and `max_rows_per_user` over the other are a vector of norm at most `mu`.
    ///
    /// # Errors
    /// [`Error::Calibration`] if the noise is too large for the integers of counts.
    pub(crate) fn new(mu: f64, asked: &Rest, paid: Paid) -> Result<Self> {
        let Some(rows) = asked.max_rows_per_user else {
            return Ok(Self { users: NumberScale::new(1.0, mu)?, rows: None, max_rows_per_user: None, paid });
        };
        let half = mul_down(mu, sqrt_down(0.5));
        let (users, of_rows) = (NumberScale::new(1.0, half)?, NumberScale::new(rows.into(), half)?);
        Ok(Self { users, rows: Some(of_rows), max_rows_per_user: Some(rows), paid })
    }

    /// The most rows of one user and one item that have to be known.
    pub(crate) fn most_rows(&self) -> u32 {
        most_rows(self.max_rows_per_user)
    }

    /// Upper bounds of the distances by which one user moves the means of users and of rows, in standard deviations.
    pub(crate) fn mus(&self) -> impl Iterator<Item = f64> {
        let of_rows = self.rows.zip(self.max_rows_per_user);
        let of_rows = of_rows.map(|(rows, most)| div_up(most.into(), rows.sigma()));
        std::iter::once(div_up(1.0, self.users.sigma())).chain(of_rows)
    }

    /// Upper bound of the total variation to exact noise: each whole number within 14 standard deviations is exact up to
    /// 2^-128.
    pub(crate) fn slack(&self) -> f64 {
        let of = |numbers: f64, scale: &NumberScale| mul_up(numbers, slack_of_values(scale.sigma()));
        // Otherwise: no rows are counted.
        add_up(of(3.0, &self.users), self.rows.as_ref().map_or(0.0, |rows| of(2.0, rows)))
    }

    /// Add users up, of whom up to so many rows count.
    #[must_use]
    pub fn sums(&self) -> RestSums {
        RestSums { most: self.rows.map(|_| self.most_rows()), sums: [0; NUMBERS] }
    }

    /// The numbers with noise, each to the nearest whole number, and what follows from them.
    ///
    /// # Contract
    /// The noise of a number depends on the key and its place alone.
    #[must_use]
    pub(crate) fn published(&self, sums: &RestSums, key: &ReleaseKey) -> PublishedRest {
        let words = Words::new(key, Purpose::Rest, 0);
        let noisy = |place: u8, noise: Noise| {
            let law = NoisyThreshold::new(noise, Threshold::from_steps(0));
            let exact = capped(sums.sums[usize::from(place)]);
            rounded(law.noisy_weight(exact, words.word(Digest(place.into()))))
        };
        let users = |place| noisy(place, self.users.noise);
        let users = RestUsers { all: users(0), some: users(1), none: users(2) };
        let rows =
            self.rows.map(|rows| RestRows { inside: noisy(3, rows.noise), outside: noisy(4, rows.noise) });
        self.derived(users, rows)
    }

    /// The same from its numbers alone, or nothing if they are not the ones of this noise.
    pub(crate) fn derived_again(&self, of: &PublishedRest) -> Option<PublishedRest> {
        (of.rows.is_some() == self.rows.is_some()).then(|| self.derived(of.users, of.rows))
    }

    /// What follows from published numbers.
    fn derived(&self, users: RestUsers, rows: Option<RestRows>) -> PublishedRest {
        let with_items = users.all.saturating_add(users.some);
        let of_users = Covered::of((with_items, 2.0), users.none, self.users.sigma());
        let of_rows = rows.zip(self.rows);
        let of_rows =
            of_rows.map(|(rows, scale)| Covered::of((rows.inside, 1.0), rows.outside, scale.sigma()));
        PublishedRest { users, rows, coverage: Coverage { users: of_users, rows: of_rows } }
    }
}

/// Users with all, some and none of their items in the list, and rows inside and outside.
const NUMBERS: usize = 5;

/// The exact sums of users, in grid steps. Only [`RestNoise::published`] may show them.
#[derive(Clone, PartialEq, Eq)]
pub struct RestSums {
    most: Option<u32>,
    sums: [u64; NUMBERS],
}

impl std::fmt::Debug for RestSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RestSums").finish_non_exhaustive()
    }
}

impl RestSums {
    /// Bytes of sums on their way.
    pub const BYTES: usize = NUMBERS * size_of::<u64>();

    /// Add a user: whether each distinct item that it holds is in the list, and the number of its rows.
    ///
    /// # Contract
    /// `held` has all items of the user, each once. One number of users grows by 1, and both numbers of rows together by at
    /// most `max_rows_per_user`, exactly. A user without items adds nothing.
    pub fn add(&mut self, held: impl Iterator<Item = (bool, usize)> + Clone) {
        let (covered, items) =
            held.clone().fold((0, 0), |(covered, items), (is_in, _)| (covered + u64::from(is_in), items + 1));
        let class = match covered {
            _ if items == 0 => return,
            0 => 2,
            _ if covered == items => 0,
            _ => 1,
        };
        self.raise(class, UNIT);
        let Some(most) = self.most else { return };
        let (mut inside, mut outside) = (0_u64, 0_u64);
        for (is_in, rows) in held {
            // Otherwise: more than any limit.
            let rows = u64::from(u32::try_from(rows).unwrap_or(u32::MAX).min(most));
            *(if is_in { &mut inside } else { &mut outside }) += rows;
        }
        let each = of_row(most, inside + outside);
        self.raise(3, inside * each);
        self.raise(4, outside * each);
    }

    fn raise(&mut self, place: usize, more: u64) {
        self.sums[place] = self.sums[place].saturating_add(more);
    }

    /// Add other sums. The order does not matter.
    pub fn add_sums(&mut self, other: &Self) {
        (0..NUMBERS).for_each(|place| self.raise(place, other.sums[place]));
    }

    /// The sums on their way to [`RestSums::add_bytes`].
    pub fn to_bytes(&self) -> impl Iterator<Item = u8> {
        self.sums.into_iter().flat_map(u64::to_le_bytes)
    }

    /// Add sums that [`RestSums::to_bytes`] made.
    ///
    /// # Errors
    /// [`Error::Internal`] for other bytes.
    pub fn add_bytes(&mut self, packed: &[u8]) -> Result<()> {
        let (words, []) = packed.as_chunks() else {
            return Err(Error::Internal("sums of the rest are damaged"));
        };
        if words.len() % NUMBERS != 0 {
            return Err(Error::Internal("sums of the rest are incomplete"));
        }
        words.iter().enumerate().for_each(|(at, word)| self.raise(at % NUMBERS, u64::from_le_bytes(*word)));
        Ok(())
    }
}

fn most_rows(of_user: Option<u32>) -> u32 {
    // Otherwise: users alone are counted.
    of_user.unwrap_or(1).clamp(1, CountLimit::MOST_ROWS)
}

/// What each row of a user counts, in grid steps: min(1, most / rows), rounded down.
fn of_row(most: u32, rows: u64) -> u64 {
    if rows <= most.into() { UNIT } else { UNIT * u64::from(most) / rows }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn noise(mu: f64, rows: Option<u32>) -> RestNoise {
        RestNoise::new(mu, &Rest { share: 0.02, max_rows_per_user: rows }, Paid::Together).unwrap()
    }

    /// The sums of these users, each with (in the list, rows) of its items.
    fn sums(users: &[Vec<(bool, usize)>], rows: Option<u32>) -> [u64; NUMBERS] {
        let mut sums = noise(0.1, rows).sums();
        for held in users {
            sums.add(held.iter().copied());
        }
        sums.sums
    }

    #[test]
    fn a_user_is_in_one_class_and_its_rows_count_up_to_their_limit() {
        let all = vec![(true, 1), (true, 2)];
        let some = vec![(true, 3), (false, 1)];
        let none = vec![(false, 900), (false, 1)];
        let users = [all.clone(), some.clone(), none.clone(), none.clone(), vec![]];
        assert_eq!(sums(&users, None), [UNIT, UNIT, 2 * UNIT, 0, 0]);
        assert_eq!(sums(&[all, some], Some(4)), [UNIT, UNIT, 0, 6 * UNIT, UNIT]);
        // 4 and 1 rows of which 4 count: each counts 4 / 5.
        assert_eq!(sums(&[none], Some(4)), [0, 0, UNIT, 0, 5 * (UNIT * 4 / 5)]);
        assert_eq!(
            sums(&[vec![(true, 6), (false, 2)]], Some(4))[3..],
            [4 * (UNIT * 4 / 6), 2 * (UNIT * 4 / 6)]
        );
    }

    proptest! {
        /// L1 and L2 of users are exactly 1, and the L1 of rows is at most the limit, and no less but for rounding.
        #[test]
        fn one_user_moves_the_sums_by_its_norm(
            held in prop::collection::vec((any::<bool>(), 1_usize..2_000_000), 1..80), most in 1_u32..=CountLimit::MOST_ROWS,
        ) {
            let rows: u64 = held.iter().map(|(_, rows)| (*rows as u64).min(most.into())).sum();
            let [all, some, none, inside, outside] = sums(&[held], Some(most));
            let mut users = [all, some, none];
            users.sort_unstable();
            prop_assert_eq!(users, [0, 0, UNIT]);
            let limit = u64::from(most).min(rows) * UNIT;
            prop_assert!(inside + outside <= limit && inside + outside + rows >= limit);
        }

        #[test]
        fn sums_add_up_in_any_order_and_on_their_way(
            users in prop::collection::vec(prop::collection::vec((any::<bool>(), 1_usize..9), 0..5), 0..20),
            at in 0_usize..20,
        ) {
            let (one, other) = users.split_at(at.min(users.len()));
            let noise = noise(0.1, Some(3));
            let of = |users: &[Vec<(bool, usize)>]| {
                let mut sums = noise.sums();
                for held in users {
                    sums.add(held.iter().copied());
                }
                sums
            };
            let (mut parts, mut sent) = (of(other), noise.sums());
            parts.add_sums(&of(one));
            let bytes: Vec<u8> = of(one).to_bytes().chain(of(other).to_bytes()).collect();
            prop_assert_eq!(bytes.len(), 2 * RestSums::BYTES);
            sent.add_bytes(&bytes).unwrap();
            prop_assert!(parts == of(&users) && sent == of(&users));
        }
    }

    #[test]
    fn the_noise_is_that_of_its_distance() {
        for (mu, rows) in [(0.02, None), (0.5, Some(1)), (0.1, Some(30)), (1.0, Some(1_000_000))] {
            let made = noise(mu, rows);
            let moved = made.mus().map(|each| each * each).sum::<f64>().sqrt();
            assert!((moved / mu - 1.0).abs() < 1e-12, "{mu} {rows:?}: {moved}");
            let of_users = 1.0 / made.users.sigma();
            let of_rows = rows.map_or(0.0, |most| f64::from(most) / made.rows.unwrap().sigma());
            assert!(of_users.hypot(of_rows) <= mu && made.slack() < 1e-18);
        }
        let few = Rest { share: 0.02, max_rows_per_user: Some(30) };
        for mu in [0.0, f64::NAN, 1e-9] {
            assert!(matches!(RestNoise::new(mu, &few, Paid::Apart), Err(Error::Calibration { .. })));
        }
    }

    #[test]
    fn numbers_have_noise_of_their_own_and_end_where_it_still_fits() {
        let (noise, key) = (noise(0.01, Some(30)), ReleaseKey::insecure_test([3; 32]));
        let nothing = noise.published(&noise.sums(), &key);
        let RestUsers { all, some, none } = nothing.users;
        let rows = nothing.rows.unwrap();
        let mut drawn = [all, some, none, rows.inside, rows.outside];
        drawn.sort_unstable();
        assert!(drawn.windows(2).all(|pair| pair[0] != pair[1]), "{drawn:?}");
        assert_eq!(noise.published(&noise.sums(), &key), nothing);
        let mut most = noise.sums();
        most.add_bytes(&[255; RestSums::BYTES]).unwrap();
        most.add([(true, 5)].into_iter());
        assert_eq!(noise.published(&most, &key).users.all, (1 << 32) + all);
        assert_eq!(noise.derived_again(&nothing), Some(nothing));
        assert_eq!(noise.derived_again(&PublishedRest { rows: None, ..nothing }), None);
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let of = |share, max_rows_per_user| Rest { share, max_rows_per_user }.validate();
        assert!(of(0.02, None).is_ok() && of(0.5, Some(1)).is_ok() && of(1e-9, Some(1_000_000)).is_ok());
        for share in [0.0, 0.500_001, -0.1, 1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(of(share, None), Err(Error::InvalidParameter { name: "rest", .. })), "{share}");
        }
        for rows in [0, CountLimit::MOST_ROWS + 1] {
            let refused = of(0.02, Some(rows));
            assert!(matches!(refused, Err(Error::InvalidParameter { name: "max_rows_per_user", .. })));
        }
    }
}
