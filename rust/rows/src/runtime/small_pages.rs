//! Large pages of the system, which this process does without while a job works from a disk.
//!
//! The allocator asks for pages of 2 MiB, with which jobs in memory are faster. But such a page is in memory as a whole
//! when a byte of it is used. A job with little memory, which frees and takes buffers all the time, would hold half as
//! much again as it uses.

use std::sync::{Mutex, PoisonError, TryLockError};

/// While it lives, the system gives this process small pages only. Pages that it has already stay as they are.
#[derive(Debug)]
pub(super) struct SmallPages(());

static JOBS: Mutex<Jobs> = Mutex::new(Jobs { process: 0, number: 0, turned_off: false });

/// The jobs that want small pages now.
#[derive(Debug)]
struct Jobs {
    /// The process of these jobs. A forked one inherits the number, the setting, and no job.
    process: u32,
    number: usize,
    /// Whether large pages were on before the first of them.
    turned_off: bool,
}

impl Jobs {
    /// A job of a process begins. `turn_off` says whether large pages were on, and are off now.
    fn begin(&mut self, process: u32, turn_off: impl FnOnce() -> bool) {
        if self.process != process {
            (self.process, self.number) = (process, 0);
        }
        if self.number == 0 {
            self.turned_off |= turn_off();
        }
        self.number += 1;
    }

    /// A job ends.
    fn end(&mut self, turn_on: impl FnOnce()) {
        self.number = self.number.saturating_sub(1);
        if self.number == 0 && std::mem::take(&mut self.turned_off) {
            turn_on();
        }
    }
}

impl SmallPages {
    /// None if another thread begins or ends a job now, or did when this process was forked: nobody waits here.
    pub(super) fn begin() -> Option<Self> {
        let mut jobs = match JOBS.try_lock() {
            Ok(jobs) => jobs,
            Err(TryLockError::Poisoned(jobs)) => jobs.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        jobs.begin(std::process::id(), system::turn_off);
        Some(Self(()))
    }
}

impl Drop for SmallPages {
    fn drop(&mut self) {
        JOBS.lock().unwrap_or_else(PoisonError::into_inner).end(system::turn_on);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};

    pub(super) fn turn_off() -> bool {
        // Otherwise: the caller has turned them off, or the system does not let us. Then nothing is changed back.
        matches!(transparent_huge_pages_are_disabled(), Ok(false))
            && disable_transparent_huge_pages(true).is_ok()
    }

    pub(super) fn turn_on() {
        // Otherwise: the process is slower than it could be, and nothing else.
        let _ = disable_transparent_huge_pages(false);
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn turn_off() -> bool {
        false
    }

    pub(super) fn turn_on() {}
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn none(process: u32) -> Jobs {
        Jobs { process, number: 0, turned_off: false }
    }

    #[test]
    fn a_forked_process_has_none_of_the_jobs_and_turns_large_pages_on() {
        let (mut jobs, on) = (none(1), Cell::new(0));
        jobs.begin(1, || true);
        // From here on in another process, which has small pages, too.
        jobs.begin(2, || false);
        jobs.end(|| on.set(on.get() + 1));
        assert_eq!((on.get(), jobs.number), (1, 0));
    }

    #[test]
    fn the_last_job_turns_large_pages_on_again_if_the_first_has_turned_them_off() {
        for were_on in [true, false] {
            let (mut jobs, off, on) = (none(1), Cell::new(0), Cell::new(0));
            let turn_off = || {
                off.set(off.get() + 1);
                were_on
            };
            for time in 1..3 {
                jobs.begin(1, turn_off);
                jobs.begin(1, turn_off);
                jobs.end(|| on.set(on.get() + 1));
                assert_eq!((off.get(), on.get()), (time, (time - 1) * i32::from(were_on)));
                jobs.end(|| on.set(on.get() + 1));
                assert_eq!((off.get(), on.get()), (time, time * i32::from(were_on)));
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn large_pages_are_off_while_a_job_wants_small_ones() {
        // Other tests begin jobs, too.
        let _pages = std::iter::repeat_with(SmallPages::begin).flatten().next();
        assert!(rustix::thread::transparent_huge_pages_are_disabled().unwrap());
    }
}
