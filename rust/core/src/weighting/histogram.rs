//! The weighted histogram of one round.

use std::hint::black_box;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Weighting;
use crate::Result;
use crate::bounding::BoundedContributions;
use crate::control::Control;
use crate::memory::Array;
use crate::parallel;

/// Codes below this are summed privately by each thread: codes grow with first appearance, so the frequent items, for
/// which threads would wait on each other, are among them.
const PRIVATE_CODES: usize = 1 << 16;
/// Weights are looked up for users of up to this many items and computed for larger ones.
const TABLE: u32 = 1 << 12;

/// Items whose weights are read together before they are changed one by one: an atomic addition waits for its cache
/// miss, plain reads overlap theirs.
const AHEAD: usize = 64;

/// Sum of the weights of each item code, in integer units.
#[derive(Debug)]
pub struct WeightHistogram {
    weights: Array<u64>,
    used: bool,
}

impl WeightHistogram {
    /// All weights zero.
    pub(crate) fn new(code_bound: usize) -> Self {
        Self { weights: Array::zeroed(code_bound), used: false }
    }

    /// Weights by item code.
    pub(crate) fn weights(&self) -> &[u64] {
        self.weights.as_slice()
    }

    /// Set to the weights of one round: every user gives its weight to each of its kept items.
    ///
    /// The sums are of integers, so neither the order of users nor the number of threads matters.
    ///
    /// # Errors
    /// Interruption.
    pub fn weigh(
        &mut self,
        contributions: &BoundedContributions,
        weighting: Weighting,
        control: &Control,
    ) -> Result<()> {
        // A new array is zero already, and not touching it here lets all threads share the cost of fresh memory.
        if std::mem::replace(&mut self.used, true) {
            self.weights.as_mut_slice().fill(0);
        }
        let table: Vec<u64> = (0..=TABLE.min(contributions.bound())).map(|k| weighting.weight(k)).collect();
        let weight = |k: usize| {
            table.get(k).copied().unwrap_or_else(|| weighting.weight(u32::try_from(k).unwrap_or(u32::MAX)))
        };
        let ranges = contributions.user_ranges(control);
        if let [users] = ranges.as_slice() {
            add_alone(self.weights.as_mut_slice(), contributions, users.clone(), weight);
        } else {
            let weights = self.weights.as_atomics();
            parallel::map(ranges, |users| add_shared(weights, contributions, users, &weight));
        }
        control.check()
    }
}

fn add_alone(
    weights: &mut [u64],
    contributions: &BoundedContributions,
    users: Range<usize>,
    weight: impl Fn(usize) -> u64,
) {
    for user in users {
        let items = contributions.kept_items(user);
        let w = weight(items.len());
        for &item in items {
            weights[item as usize] += w;
        }
    }
}

/// Tried and slower: threads that go through all users and add, without atomics, only the weights of their own items
/// (twice the time with two threads).
fn add_shared(
    weights: &[AtomicU64],
    contributions: &BoundedContributions,
    users: Range<usize>,
    weight: &impl Fn(usize) -> u64,
) {
    let mut private = vec![0_u64; PRIVATE_CODES.min(weights.len())];
    for user in users {
        let items = contributions.kept_items(user);
        let w = weight(items.len());
        for items in items.chunks(AHEAD) {
            black_box(items.iter().fold(0, |mixed, item| mixed ^ weights[*item as usize].load(Relaxed)));
            for &item in items {
                match private.get_mut(item as usize) {
                    Some(sum) => *sum += w,
                    None => _ = weights[item as usize].fetch_add(w, Relaxed),
                }
            }
        }
    }
    for (total, sum) in weights.iter().zip(private) {
        if sum > 0 {
            total.fetch_add(sum, Relaxed);
        }
    }
}
