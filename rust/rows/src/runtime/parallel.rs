//! Runs the same work on several threads, without a pool that outlives the call.
//!
//! A pool shared by the process breaks when the process forks, and starting it costs more than a tiny job. Scoped
//! threads have neither problem.

use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use crate::runtime::{Control, panics};

/// Rows or items for each thread, at least. With fewer, starting the thread costs more than it saves.
const ROWS_PER_THREAD: usize = 1 << 15;

/// How many threads to use for `work` rows or items.
#[must_use]
pub fn threads_for(work: usize, control: &Control) -> usize {
    control.threads().min(work / ROWS_PER_THREAD).max(1)
}

/// The number of parts for `threads` threads. Parts take different times, so each thread gets several of them: a thread
/// that is done early takes more.
#[must_use]
pub fn parts_for(threads: usize) -> usize {
    if threads > 1 { threads * 8 } else { 1 }
}

/// Runs `job` on every part, on up to `threads` threads including this one, and collects the results in order.
pub fn map<T: Send, R: Send>(threads: usize, parts: Vec<T>, job: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = threads.min(parts.len());
    let parts = Mutex::new(parts.into_iter().enumerate());
    // Nothing panics while it holds the lock.
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || std::iter::from_fn(next).map(|(at, part)| (at, job(part))).collect::<Vec<_>>();
    let mut results = std::thread::scope(|scope| {
        let (work, caught) = (&work, panics::are_caught());
        // Where the system starts no further thread, those that run do the work.
        let start = |_| Builder::new().spawn_scoped(scope, move || panics::rethrown(caught, work)).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut results = work();
        for other in others {
            match other.join() {
                Ok(others) => results.extend(others),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Values that no thread uses now, such as buffers, for the next part that needs one.
#[derive(Debug)]
pub struct Idle<T>(Mutex<Vec<T>>);

impl<T> Default for Idle<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T> From<Vec<T>> for Idle<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Mutex::new(values))
    }
}

impl<T> Idle<T> {
    /// One of the values, or a new one if all are in use.
    pub fn take(&self, new: impl FnOnce() -> T) -> T {
        // Nothing panics while it holds the lock.
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        taken.unwrap_or_else(new)
    }

    /// Give a value back.
    pub fn put(&self, value: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }

    /// All values that were given back.
    pub fn values_mut(&mut self) -> &mut Vec<T> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frees values on several threads. It takes a while to give large arrays back to the system.
pub fn free<T: Send>(threads: usize, values: Vec<T>) {
    map(threads, values, drop);
}

/// Frees values that nobody needs any more: after the answer if the caller of the job does that, and otherwise at once, on
/// several threads.
pub fn free_later(control: &Control, threads: usize, values: Vec<Box<dyn Send>>) {
    free(threads, control.put_away(values));
}

/// Splits the positions of `sizes` into `parts` ranges of similar total size; returns the ends.
pub fn balanced_ends(sizes: impl ExactSizeIterator<Item = u32> + Clone, parts: usize) -> Vec<usize> {
    let (len, total) = (sizes.len(), sizes.clone().map(u64::from).sum::<u64>());
    let mut ends = Vec::with_capacity(parts);
    // What the first ranges have together, at least.
    let together = |ranges: usize| (total * ranges as u64).div_ceil(parts as u64);
    let (mut sum, mut next) = (0_u64, together(1));
    for (i, n) in sizes.enumerate() {
        sum += u64::from(n);
        if sum >= next && ends.len() + 1 < parts {
            ends.push(i + 1);
            next = together(ends.len() + 1);
        }
    }
    ends.resize(parts, len);
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_cover_everything_in_order() {
        for sizes in [vec![], vec![5], vec![1; 10], vec![100, 0, 0, 1], vec![0, 0, 0, 9]] {
            for parts in 1..5 {
                let ends = balanced_ends(sizes.iter().copied(), parts);
                assert_eq!(ends.len(), parts);
                assert!(ends.is_sorted());
                assert_eq!(ends.last(), Some(&sizes.len()));
            }
        }
    }

    #[test]
    fn map_keeps_the_order() {
        for threads in 1..4 {
            assert_eq!(map(threads, vec![3, 1, 2], |x| x * 2), [6, 2, 4]);
            assert!(map(threads, vec![], |x: u8| x).is_empty());
        }
    }
}
