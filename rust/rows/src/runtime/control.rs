//! How a caller observes and controls a running job: threads, memory limit, progress, interruption.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use dpsel_exact::{Error, Result};

use super::deferred_frees::DeferredFrees;
use super::progress::{Progress, Tally, WHOLE};
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
    deferred_frees: Option<Arc<DeferredFrees>>,
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
            deferred_frees: None,
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
    pub fn with_deferred_frees(&self) -> (Self, Arc<DeferredFrees>) {
        let deferred_frees = Arc::default();
        let wait = (!self.is_limit_given).then(|| Arc::clone(&deferred_frees));
        (Self { deferred_frees: wait, ..self.clone() }, deferred_frees)
    }

    /// Put away values that nobody needs any more. They come back if nobody frees them after the answer.
    pub(super) fn put_away(&self, values: Vec<Box<dyn Send>>) -> Vec<Box<dyn Send>> {
        match &self.deferred_frees {
            Some(deferred_frees) => {
                deferred_frees.add(values);
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

impl Default for Control {
    fn default() -> Self {
        Self::new(None, None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::progress::{PHASES, Phase};
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
