//! How far a job is, without a number of what was found.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dpsel_exact::numeric::widths::clipped;

/// Counters that another thread may read while the job runs.
///
/// A job reads its input and then goes through phases. Each phase counts as much as the reading: the input's bytes, or
/// its rows if the bytes are unknown. The request alone determines the phases. Progress shows the size of the input, the
/// share of bytes, rows and users that are done, and whether rows went to a disk. It shows no number of what was found.
#[derive(Debug, Default)]
pub struct Progress {
    pub(super) done: AtomicU64,
    pub(super) total: AtomicU64,
    /// Bytes or rows read so far.
    pub(super) read: AtomicU64,
    /// The work of the reading, and of each phase after it; 0 while unknown.
    pub(super) phase_size: AtomicU64,
    pub(super) phases: AtomicU64,
    /// How many of the phases are rounds. They stand before the last phase.
    pub(super) rounds: AtomicU64,
    /// Number of completed phases, and the completed part of the current phase in multiples of 1 / [`WHOLE`].
    pub(super) over: AtomicU64,
    pub(super) within: AtomicU64,
    pub(super) memory: AtomicU64,
    pub(super) cancelled: AtomicBool,
    pub(super) has_read: AtomicBool,
    pub(super) on_disk: AtomicBool,
}

/// What a job is doing, as far as the request determines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Rows are read.
    Reading,
    /// Rows are grouped, counted or bounded.
    Settling,
    /// Items are weighed and decided, for the n-th time of so many at most.
    Round(u64, u64),
    /// What is released gets its names.
    Names,
}

/// The resolution of progress within a phase.
pub(super) const WHOLE: u64 = 1_000_000;

impl Progress {
    /// Work done so far, out of [`Progress::total`]. It never falls, and stays below the total until the job is
    /// complete.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
    /// Total work; 0 while it is unknown. It is known from the start for files on a disk, and otherwise after reading.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
    /// Phases after the reading; 0 while the request is unknown.
    pub fn phases(&self) -> u64 {
        self.phases.load(Ordering::Relaxed)
    }
    /// What the job is doing.
    pub fn phase(&self) -> Phase {
        let (phases, rounds) = (self.phases(), self.rounds.load(Ordering::Relaxed));
        let over = self.over.load(Ordering::Relaxed);
        let first_round = phases.saturating_sub(rounds + 1);
        match over.checked_sub(first_round) {
            _ if !self.has_read.load(Ordering::Relaxed) => Phase::Reading,
            None => Phase::Settling,
            Some(round) if round < rounds => Phase::Round(round + 1, rounds),
            Some(_) => Phase::Names,
        }
    }
    /// Whether rows went to a disk because they take too much memory.
    pub fn is_on_disk(&self) -> bool {
        self.on_disk.load(Ordering::Relaxed)
    }
    /// Mark the job as complete.
    pub fn complete(&self) {
        let total = self.total().max(1);
        self.total.store(total, Ordering::Relaxed);
        self.done.store(total, Ordering::Relaxed);
    }
    /// Ask the job to stop at its next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn rise_to(&self, done: u64) {
        // Otherwise: the total is not known yet, so there is no limit.
        let most = self.total().checked_sub(1).unwrap_or(u64::MAX);
        self.done.fetch_max(done.min(most), Ordering::Relaxed);
    }

    pub(super) fn set_phase_size(&self, size: u64) {
        let (size, phases) = (size.max(1), self.phases.load(Ordering::Relaxed));
        self.phase_size.store(size, Ordering::Relaxed);
        self.total.store(size.saturating_mul(phases + 1), Ordering::Relaxed);
    }

    pub(super) fn show_phase(&self) {
        let size = self.phase_size.load(Ordering::Relaxed);
        let (over, within) = (self.over.load(Ordering::Relaxed), self.within.load(Ordering::Relaxed));
        let part = clipped(u128::from(size) * u128::from(within.min(WHOLE)) / u128::from(WHOLE));
        self.rise_to(size.saturating_mul(over + 1).saturating_add(part));
    }
}

/// Counts a part of a phase, from any number of threads.
#[derive(Debug, Clone, Copy)]
pub struct Tally<'a> {
    pub(super) progress: &'a Progress,
    pub(super) share: u64,
    pub(super) whole: u64,
}

impl Tally<'_> {
    /// Do a job for each number of a range, and record progress after every [`TALLIED`] of them.
    pub fn each(&self, range: Range<usize>, mut job: impl FnMut(usize)) {
        for start in range.clone().step_by(TALLIED) {
            let end = range.end.min(start + TALLIED);
            (start..end).for_each(&mut job);
            self.add(end - start);
        }
    }

    /// Record `part` of the whole as done.
    pub fn add(&self, part: usize) {
        let share = u128::from(self.share) * part as u128 / u128::from(self.whole);
        self.progress.within.fetch_add(clipped(share), Ordering::Relaxed);
        self.progress.show_phase();
    }
}

/// Things counted together: few enough for smooth progress, enough that counting costs nothing.
pub const TALLIED: usize = 1 << 12;
/// Phases besides the reading and the rounds: grouping, bounding, publishing.
pub const PHASES: usize = 3;
/// Per cent of a round that is spent on weighting.
pub const WEIGHING: u64 = 70;
/// Per cent of a round that is spent on removing items from the users' sets.
pub const REMOVING: u64 = 15;
