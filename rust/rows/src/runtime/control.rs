//! How a caller observes and controls a running job: threads, memory limit, progress, interruption.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use dpsel_exact::numeric::widths::clipped;
use dpsel_exact::{Error, Result};

use super::leftovers::Leftovers;
use super::small_pages::SmallPages;

/// Threads, memory limit and progress of one job. Cloning shares the progress and what else a job has once.
#[derive(Debug, Clone)]
pub struct Control {
    threads: NonZeroUsize,
    memory_limit: Option<u64>,
    /// Whether the caller gave the limit, who then wants memory back at once.
    is_limit_given: bool,
    progress: Arc<Progress>,
    /// There from when memory is scarce until the job ends.
    small_pages: Arc<OnceLock<Option<SmallPages>>>,
    /// There if the caller frees them.
    leftovers: Option<Arc<Leftovers>>,
}

/// Counters that another thread may read while the job runs.
///
/// A job reads its input and then goes through phases. Each phase counts as much as the reading: the input's bytes, or
/// its rows if the bytes are unknown. The request alone determines the phases. Progress shows the size of the input, the
/// share of bytes, rows and users that are done, and whether rows went to a disk. It shows no number of what was found.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    /// Bytes or rows read so far.
    read: AtomicU64,
    /// The work of the reading, and of each phase after it; 0 while unknown.
    phase_size: AtomicU64,
    phases: AtomicU64,
    /// How many of the phases are rounds. They stand before the last phase.
    rounds: AtomicU64,
    /// Number of completed phases, and the completed part of the current phase in multiples of 1 / [`WHOLE`].
    over: AtomicU64,
    within: AtomicU64,
    memory: AtomicU64,
    cancelled: AtomicBool,
    has_read: AtomicBool,
    on_disk: AtomicBool,
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
const WHOLE: u64 = 1_000_000;

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

    fn rise_to(&self, done: u64) {
        // Otherwise: the total is not known yet, so there is no limit.
        let most = self.total().checked_sub(1).unwrap_or(u64::MAX);
        self.done.fetch_max(done.min(most), Ordering::Relaxed);
    }

    fn set_phase_size(&self, size: u64) {
        let (size, phases) = (size.max(1), self.phases.load(Ordering::Relaxed));
        self.phase_size.store(size, Ordering::Relaxed);
        self.total.store(size.saturating_mul(phases + 1), Ordering::Relaxed);
    }

    fn show_phase(&self) {
        let size = self.phase_size.load(Ordering::Relaxed);
        let (over, within) = (self.over.load(Ordering::Relaxed), self.within.load(Ordering::Relaxed));
        let part = clipped(u128::from(size) * u128::from(within.min(WHOLE)) / u128::from(WHOLE));
        self.rise_to(size.saturating_mul(over + 1).saturating_add(part));
    }
}

/// The cores that this process may use, asked for once: the system reads files for the answer.
fn cores() -> NonZeroUsize {
    static CORES: OnceLock<NonZeroUsize> = OnceLock::new();
    // Otherwise: the system does not tell.
    *CORES.get_or_init(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

impl Control {
    /// At most `threads` workers; `None` uses every core.
    #[must_use]
    pub fn new(threads: Option<NonZeroUsize>, memory_limit: Option<u64>) -> Self {
        let threads = threads.unwrap_or_else(cores);
        let (progress, small_pages) = (Arc::default(), Arc::default());
        Self {
            threads,
            memory_limit,
            is_limit_given: memory_limit.is_some(),
            progress,
            small_pages,
            leftovers: None,
        }
    }

    /// As [`Control::new`], with a limit that nobody gave: it says how much memory there is.
    #[must_use]
    pub fn with_found_limit(threads: Option<NonZeroUsize>, memory_limit: Option<u64>) -> Self {
        Self { is_limit_given: false, ..Self::new(threads, memory_limit) }
    }

    /// Number of worker threads to use.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.get()
    }

    /// The same job with so many threads at most.
    #[must_use]
    pub fn with_at_most(&self, threads: usize) -> Self {
        let most = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN); // Otherwise: no thread would do the work.
        Self { threads: self.threads.min(most), ..self.clone() }
    }

    /// The shared counters.
    #[must_use]
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Declare how many phases follow the reading, and how many of them are rounds. No number may depend on the data.
    pub fn plan(&self, other: usize, rounds: usize) {
        self.progress.rounds.store(rounds as u64, Ordering::Relaxed);
        self.progress.phases.store((other + rounds) as u64, Ordering::Relaxed);
    }

    /// Note that rows go to a disk. From now on the job takes no more memory than it uses.
    pub fn go_to_disk(&self) {
        self.use_small_pages();
        self.progress.on_disk.store(true, Ordering::Relaxed);
    }

    /// Take no large pages of the system until the job ends.
    pub fn use_small_pages(&self) {
        self.small_pages.get_or_init(SmallPages::begin);
    }

    /// The same job for a caller who frees its large arrays after the answer. With a limit of memory that was given they
    /// are freed at once.
    #[must_use]
    pub fn with_leftovers(&self) -> (Self, Arc<Leftovers>) {
        let leftovers = Arc::default();
        let wait = (!self.is_limit_given).then(|| Arc::clone(&leftovers));
        (Self { leftovers: wait, ..self.clone() }, leftovers)
    }

    /// Put away values that nobody needs any more. They come back if nobody frees them after the answer.
    pub(super) fn put_away(&self, values: Vec<Box<dyn Send>>) -> Vec<Box<dyn Send>> {
        match &self.leftovers {
            Some(leftovers) => {
                leftovers.add(values);
                Vec::new()
            }
            None => values,
        }
    }

    /// Declare the number of bytes that will be read, if it is known.
    pub(crate) fn set_size(&self, bytes: Option<u64>) {
        if let Some(bytes) = bytes {
            self.progress.set_phase_size(bytes);
        }
    }

    /// Record bytes or rows as read, and fail if the job was interrupted. Called after each batch.
    pub(crate) fn advance(&self, work: u64) -> Result<()> {
        let read = self.progress.read.fetch_add(work, Ordering::Relaxed).saturating_add(work);
        let size = self.progress.phase_size.load(Ordering::Relaxed);
        self.progress.rise_to(if size == 0 { read } else { read.min(size) });
        self.check()
    }

    /// How much of the input was read, and how large it is, once both are known.
    pub(crate) fn read_of(&self) -> Option<(u64, u64)> {
        let (read, size) = (&self.progress.read, &self.progress.phase_size);
        let (read, size) = (read.load(Ordering::Relaxed), size.load(Ordering::Relaxed));
        (read > 0 && size > 0).then_some((read, size))
    }

    /// Begin the first phase: everything is read. Reading a public list afterwards changes nothing.
    pub fn end_reading(&self) {
        if self.progress.phase_size.load(Ordering::Relaxed) == 0 {
            self.progress.set_phase_size(self.progress.read.load(Ordering::Relaxed));
        }
        self.progress.has_read.store(true, Ordering::Relaxed);
        self.progress.show_phase();
    }

    /// End a phase and begin the next one.
    pub fn end_phase(&self) {
        self.progress.within.store(0, Ordering::Relaxed);
        self.progress.over.fetch_add(1, Ordering::Relaxed);
        self.progress.show_phase();
    }

    /// Count the work on `whole` users or other things, which is `percent` of the phase.
    #[must_use]
    pub fn tally(&self, percent: u64, whole: usize) -> Tally<'_> {
        Tally { progress: &self.progress, share: WHOLE / 100 * percent, whole: whole.max(1) as u64 }
    }

    /// Fail if the job was interrupted.
    pub fn check(&self) -> Result<()> {
        if self.progress.cancelled.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Count `bytes` of newly held memory against the limit.
    pub fn charge_memory(&self, bytes: u64, stage: &'static str) -> Result<()> {
        let held = self.progress.memory.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        match self.memory_limit {
            Some(limit) if held > limit => Err(Error::MemoryLimit { limit, stage }),
            Some(_) | None => Ok(()),
        }
    }

    /// The bytes that are counted now.
    #[must_use]
    pub fn held_memory(&self) -> u64 {
        self.progress.memory.load(Ordering::Relaxed)
    }

    /// The most bytes that may be counted.
    #[must_use]
    pub fn memory_limit(&self) -> Option<u64> {
        self.memory_limit
    }

    /// Release `bytes` that were counted before.
    pub fn release_memory(&self, bytes: u64) {
        self.progress.memory.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Counts a part of a phase, from any number of threads.
#[derive(Debug, Clone, Copy)]
pub struct Tally<'a> {
    progress: &'a Progress,
    share: u64,
    whole: u64,
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

impl Default for Control {
    fn default() -> Self {
        Self::new(None, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(control: &Control) -> (u64, u64) {
        (control.progress().done(), control.progress().total())
    }

    #[test]
    fn every_phase_counts_as_much_as_the_reading_and_the_end_is_the_end() {
        let control = Control::default();
        control.plan(3, 0);
        control.set_size(Some(100));
        control.advance(40).unwrap();
        assert_eq!(seen(&control), (40, 400));
        control.advance(1000).unwrap();
        assert_eq!(seen(&control), (100, 400));
        control.end_reading();
        let tally = control.tally(50, 10);
        tally.add(4);
        assert_eq!(seen(&control), (120, 400));
        tally.add(6);
        assert_eq!(seen(&control), (150, 400));
        control.end_phase();
        assert_eq!(seen(&control), (200, 400));
        control.end_phase();
        control.end_phase();
        assert_eq!(seen(&control), (399, 400));
        control.progress().complete();
        assert_eq!(seen(&control), (400, 400));
    }

    #[test]
    fn without_a_size_the_rows_are_the_size_of_a_phase() {
        let control = Control::default();
        control.plan(1, 0);
        control.advance(7).unwrap();
        assert_eq!(seen(&control), (7, 0));
        control.end_reading();
        assert_eq!(seen(&control), (7, 14));
        control.advance(5).unwrap();
        control.end_reading();
        assert_eq!(seen(&control), (7, 14));
    }

    #[test]
    fn an_empty_job_ends_at_its_total_too() {
        let control = Control::default();
        control.plan(2, 0);
        control.end_reading();
        assert_eq!(seen(&control), (1, 3));
        control.progress().complete();
        assert_eq!(seen(&control), (3, 3));
    }

    #[test]
    fn phases_have_names_that_follow_from_the_plan() {
        let control = Control::default();
        control.plan(PHASES, 2);
        let mut seen = vec![control.progress().phase()];
        control.advance(5).unwrap();
        seen.push(control.progress().phase());
        control.end_reading();
        for _ in 0..6 {
            seen.push(control.progress().phase());
            control.end_phase();
        }
        let settled = [Phase::Reading, Phase::Reading, Phase::Settling, Phase::Settling];
        assert_eq!(seen[..4], settled);
        assert_eq!(seen[4..], [Phase::Round(1, 2), Phase::Round(2, 2), Phase::Names, Phase::Names]);
        assert!(!control.progress().is_on_disk());
        control.go_to_disk();
        assert!(control.progress().is_on_disk());
    }
}
