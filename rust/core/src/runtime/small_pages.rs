//! Large pages of the system, which this process does without while a job works from a disk.
//!
//! The allocator asks for pages of 2 MiB, with which jobs in memory are faster. But such a page is in memory as a whole
//! when a byte of it is used. A job with little memory, which frees and takes buffers all the time, would hold half as
//! much again as it uses.

use std::sync::{Mutex, PoisonError};

/// While it lives, the system gives this process small pages only. Pages that it has already stay as they are.
#[derive(Debug)]
pub(super) struct SmallPages(());

static JOBS: Mutex<Jobs> = Mutex::new(Jobs { number: 0, turned_off: false });

/// The jobs that want small pages now.
#[derive(Debug)]
struct Jobs {
    number: usize,
    /// Whether large pages were on before the first of them.
    turned_off: bool,
}

impl Jobs {
    /// A job begins. `turn_off` says whether large pages were on, and are off now.
    fn begin(&mut self, turn_off: impl FnOnce() -> bool) {
        if self.number == 0 {
            self.turned_off = turn_off();
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
    pub(super) fn begin() -> Self {
        JOBS.lock().unwrap_or_else(PoisonError::into_inner).begin(system::turn_off);
        Self(())
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

    #[test]
    fn the_last_job_turns_large_pages_on_again_if_the_first_has_turned_them_off() {
        for were_on in [true, false] {
            let (mut jobs, off, on) = (Jobs { number: 0, turned_off: false }, Cell::new(0), Cell::new(0));
            let turn_off = || {
                off.set(off.get() + 1);
                were_on
            };
            for time in 1..3 {
                jobs.begin(turn_off);
                jobs.begin(turn_off);
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
        let _pages = SmallPages::begin();
        assert!(rustix::thread::transparent_huge_pages_are_disabled().unwrap());
    }
}
