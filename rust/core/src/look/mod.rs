//! A look at the data before the mechanism: its numbers with noise, and how many users have how many items.
//!
//! Every user with items is in exactly one class, so one user more raises one count by 1. Theorem and proof:
//! `docs/algorithms/quantile.md`. The score of what `Matching` fills is in `weighting` and `mechanisms`.

mod quantile;

pub use quantile::{FoundLimit, Quantile};

use dpsel_exact::numeric::{Bits, geometric};
use dpsel_exact::random::{Coins, Purpose, ReleaseKey};
use dpsel_rows::contributions::Contributions;

/// The exact number of users in each class, by their numbers of distinct items before any limit.
///
/// The classes end with these sizes, each included, in ascending order. A last class has all other users.
///
/// # Contract
/// One user more or less changes one number by 1. Nothing but [`noisy_users`] may show them.
#[must_use]
pub fn users_by_size(contributions: &Contributions, sizes: &[u32]) -> Vec<u64> {
    let mut users = vec![0; sizes.len() + 1];
    for items in contributions.items_of_users().filter(|items| *items > 0) {
        users[sizes.partition_point(|size| *size < items)] += 1;
    }
    users
}

/// The numbers of users of all classes with noise.
///
/// # Contract
/// The noises are independent two-sided geometric numbers, whose probability falls by e^-`rate` for each step away from
/// 0, exactly. They depend on the key, the purpose and the class alone.
#[must_use]
pub(crate) fn noisy_users(users: &[u64], rate: f64, key: &ReleaseKey, purpose: Purpose) -> Vec<i64> {
    let numbered = (0_u32..).zip(users);
    numbered
        .map(|(class, users)| noisy((*users).into(), rate, &mut Coins::new(key, purpose, class)))
        .collect()
}

/// A score with noise of the same law.
#[must_use]
pub(crate) fn noisy_score(score: i64, rate: f64, key: &ReleaseKey) -> i64 {
    noisy(score.into(), rate, &mut Coins::new(key, Purpose::Look, 0))
}

/// A number with noise.
fn noisy(number: i128, rate: f64, bits: &mut impl Bits) -> i64 {
    let noise = geometric(rate, bits) - geometric(rate, bits);
    let sum = number.saturating_add(noise);
    // Otherwise: beyond the largest numbers, which then stand for all beyond them. That is post-processing.
    i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use dpsel_rows::contributions::testing::contributions;

    use super::*;

    const SIZES: [u32; 3] = [1, 2, 4];

    fn key(byte: u8) -> ReleaseKey {
        ReleaseKey::insecure_test([byte; 32])
    }

    /// Users of the given numbers of items.
    fn looked(lens: &[u64], rate: f64, key: &ReleaseKey) -> Vec<i64> {
        let rows: Vec<(u64, u64)> =
            (0..).zip(lens).flat_map(|(user, len)| (0..*len).map(move |item| (user, 7 * item))).collect();
        noisy_users(&users_by_size(&contributions(&rows, key), &SIZES), rate, key, Purpose::Limit)
    }

    #[test]
    fn a_class_ends_with_its_size() {
        // Noise of such a rate is 0 but for a chance of e^-200.
        assert_eq!(looked(&[1, 1, 1, 2, 3, 4, 4, 5, 90], 200.0, &key(1)), [3, 1, 3, 2]);
        assert_eq!(looked(&[], 200.0, &key(1)), [0; 4]);
    }

    /// Under one key the noise is the same, so that the difference is that of the exact numbers.
    #[test]
    fn one_user_changes_one_number_by_one() {
        let others = [3, 1, 9];
        for (len, class) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (200, 3)] {
            let before = looked(&others, 0.1, &key(2));
            let after = looked(&[3, 1, 9, len], 0.1, &key(2));
            let changes: Vec<i64> = before.iter().zip(&after).map(|(before, after)| after - before).collect();
            assert_eq!(changes, (0..4).map(|at| i64::from(at == class)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn order_and_repeated_rows_do_not_matter() {
        let rows: Vec<(u64, u64)> = (0..90).map(|n| (n % 7, n % 4)).collect();
        let of = |rows: &[(u64, u64)]| users_by_size(&contributions(rows, &key(3)), &SIZES);
        let (mut turned, mut doubled) = (rows.clone(), rows.clone());
        turned.reverse();
        doubled.extend(&rows);
        assert_eq!(of(&rows), of(&turned));
        assert_eq!(of(&rows), of(&doubled));
    }

    /// P[z] is (1 - a) / (1 + a) a^|z| with a = e^-rate, for the noise of each class and independently.
    #[test]
    fn the_noise_falls_by_its_rate_in_both_directions() {
        const DRAWS: u32 = 60_000;
        let (rate, mut coins) = (0.4_f64, Coins::new(&key(4), Purpose::Limit, 9));
        let found: Vec<i64> = (0..DRAWS).map(|_| noisy(1000, rate, &mut coins) - 1000).collect();
        let a = (-rate).exp();
        for value in -8..9_i32 {
            let seen = found.iter().filter(|noise| **noise == i64::from(value)).count() as f64;
            let expected = (1.0 - a) / (1.0 + a) * a.powi(value.abs()) * f64::from(DRAWS);
            // Seven standard deviations.
            assert!((seen - expected).abs() < 7.0 * expected.sqrt(), "{value}: {seen}, {expected}");
        }
        let noises = looked(&[], 0.01, &key(5));
        assert!(noises.windows(2).all(|pair| pair[0] != pair[1]), "each class has its own: {noises:?}");
    }

    #[test]
    fn numbers_beyond_64_bits_are_cut_off() {
        let far = |byte: u8| noisy(0, 1e-25, &mut Coins::new(&key(byte), Purpose::Look, 0));
        assert!((0..20).map(far).all(|number| number == i64::MAX || number == i64::MIN));
    }
}
