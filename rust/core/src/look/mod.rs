//! A look at the data before the mechanism: how many users have how many items, with noise.
//!
//! Every user with items is in exactly one class, so one user more raises one count by 1. Theorem and proof:
//! `docs/algorithms/by_length.md`.

use crate::contributions::Contributions;
use crate::numeric::{Bits, geometric};
use crate::random::{Coins, Purpose, ReleaseKey};

/// The noisy number of users in each class, by their numbers of distinct items before any limit.
///
/// The classes end with these sizes, each included, in ascending order. A last class has all other users.
///
/// # Contract
/// One user more or less changes one exact count by 1. The noises are independent two-sided geometric numbers, whose
/// probability falls by e^-`rate` for each step away from 0, exactly. They depend on the key and the class alone.
#[must_use]
pub(crate) fn users_by_size(
    contributions: &Contributions,
    sizes: &[u32],
    rate: f64,
    key: &ReleaseKey,
) -> Vec<i64> {
    let mut users = vec![0_u64; sizes.len() + 1];
    for items in contributions.items_of_users().filter(|items| *items > 0) {
        users[sizes.partition_point(|size| *size < items)] += 1;
    }
    let numbered = (0_u32..).zip(users);
    numbered.map(|(class, users)| noisy(users, rate, &mut Coins::new(key, Purpose::Look, class))).collect()
}

/// A number of users with noise.
fn noisy(users: u64, rate: f64, bits: &mut impl Bits) -> i64 {
    let noise = geometric(rate, bits) - geometric(rate, bits);
    let sum = i128::from(users).saturating_add(noise);
    // Otherwise: beyond the largest numbers, which then stand for all beyond them. That is post-processing.
    i64::try_from(sum).unwrap_or(if sum < 0 { i64::MIN } else { i64::MAX })
}
