//! Running the same work on several threads, without a pool that would outlive the call.
//!
//! A pool shared by the process breaks when the process forks, and costs more than a tiny job; scoped
//! threads have neither problem.

use crate::control::Control;
use crate::panics;

/// Fewest rows (or items) for which a second thread pays for its start.
const ROWS_PER_THREAD: usize = 1 << 15;

/// How many threads to use for `work` rows or items.
pub(crate) fn threads_for(work: usize, control: &Control) -> usize {
    control.threads().min(work / ROWS_PER_THREAD).max(1)
}

/// Run `job` on every part, each on its own thread (the first on this one), and collect the results in order.
pub(crate) fn map<T: Send, R: Send>(parts: Vec<T>, job: impl Fn(T) -> R + Sync) -> Vec<R> {
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let (job, caught) = (&job, panics::are_caught());
        let start = |part| scope.spawn(move || panics::rethrown(caught, || job(part)));
        let others: Vec<_> = parts.map(start).collect();
        let mut results = vec![job(first)];
        for other in others {
            match other.join() {
                Ok(result) => results.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

/// Cut `0..sizes.len()` into `parts` ranges of about equal total size; returns the ends.
pub(crate) fn balanced_ends(sizes: &[u32], parts: usize) -> Vec<usize> {
    let total: u64 = sizes.iter().map(|&n| u64::from(n)).sum();
    let mut ends = Vec::with_capacity(parts);
    let mut sum = 0_u64;
    for (i, &n) in sizes.iter().enumerate() {
        sum += u64::from(n);
        if ends.len() + 1 < parts && sum * parts as u64 >= total * (ends.len() as u64 + 1) {
            ends.push(i + 1);
        }
    }
    ends.resize(parts, sizes.len());
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_cover_everything_in_order() {
        for sizes in [vec![], vec![5], vec![1; 10], vec![100, 0, 0, 1], vec![0, 0, 0, 9]] {
            for parts in 1..5 {
                let ends = balanced_ends(&sizes, parts);
                assert_eq!(ends.len(), parts);
                assert!(ends.is_sorted());
                assert_eq!(ends.last(), Some(&sizes.len()));
            }
        }
    }

    #[test]
    fn map_keeps_the_order() {
        assert_eq!(map(vec![3, 1, 2], |x| x * 2), [6, 2, 4]);
    }
}
