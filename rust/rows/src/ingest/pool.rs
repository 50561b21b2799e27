//! Threads that read and encode. Each thread takes tasks until none are left, then helps the others.
//!
//! A decoding thread hands a chunk over only while helpers wait for work; otherwise it encodes the chunk itself. So a
//! single large file keeps all threads busy, and so does a stream, which only the calling thread may read. At most a
//! few chunks per thread are held at any time. Threads live for one call only, so a forked child misses none.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use dpsel_exact::{Error, Result};

use super::encode::{Chunk, Encoder, Sink};
use crate::runtime::Control;
use crate::runtime::panics::caught;

/// Something that yields chunks: a stream, a file or a part of a file.
pub(super) trait Task {
    /// Call `emit` with every chunk, in order. Stop at the first error.
    fn run(self: Box<Self>, emit: &mut dyn FnMut(Chunk) -> Result<()>) -> Result<()>;
}

/// Chunks waiting per helper.
const WAITING: usize = 2;

/// Run `pinned` on the calling thread and `tasks` on all threads. Each thread encodes with an encoder of its own.
///
/// # Errors
/// The first error of any thread; the others stop at their next chunk.
pub(super) fn run<S: Sink>(
    pinned: Option<Box<dyn Task + '_>>,
    tasks: Vec<Box<dyn Task + Send + '_>>,
    threads: usize,
    control: &Control,
    encoder: &(dyn Fn() -> Encoder<S> + Sync),
) -> Result<()> {
    let pool = Pool::new(tasks, threads);
    std::thread::scope(|scope| {
        for started in 1..threads {
            let work = || pool.guarded(|| pool.work(None, control, &mut encoder()));
            // Where the system starts no further thread, those that run do the work.
            if Builder::new().spawn_scoped(scope, work).is_err() {
                pool.lock().producing -= threads - started;
                pool.changed.notify_all();
                break;
            }
        }
        pool.guarded(|| pool.work(pinned, control, &mut encoder()));
    });
    match pool.lock().failure.take() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Encode one chunk and count its work.
pub(super) fn encode<S: Sink>(chunk: &Chunk, control: &Control, encoder: &mut Encoder<S>) -> Result<()> {
    control.check()?;
    encoder.encode(chunk)?;
    control.advance(chunk.work)
}

struct Pool<'t> {
    state: Mutex<PoolState<'t>>,
    changed: Condvar,
}

struct PoolState<'t> {
    tasks: VecDeque<Box<dyn Task + Send + 't>>,
    queue: VecDeque<Chunk>,
    /// Number of threads that may still yield chunks.
    producing: usize,
    helpers: usize,
    failure: Option<Error>,
}

impl<'t> Pool<'t> {
    fn new(tasks: Vec<Box<dyn Task + Send + 't>>, threads: usize) -> Self {
        let state = PoolState {
            tasks: tasks.into(),
            queue: VecDeque::new(),
            producing: threads,
            helpers: 0,
            failure: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Take the lock. A poisoned lock means only that a thread failed, and its failure is recorded.
    fn lock(&self) -> MutexGuard<'_, PoolState<'t>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Run one thread's part, and report its failure to the other threads.
    fn guarded(&self, part: impl FnOnce() -> Result<()>) {
        let outcome = caught(part).unwrap_or(Err(Error::Internal("a worker thread panicked while reading")));
        if let Err(error) = outcome {
            let mut state = self.lock();
            state.failure.get_or_insert(error);
            state.tasks.clear();
            state.queue.clear();
            drop(state);
            self.changed.notify_all();
        }
    }

    fn work<S: Sink>(
        &self,
        pinned: Option<Box<dyn Task + '_>>,
        control: &Control,
        encoder: &mut Encoder<S>,
    ) -> Result<()> {
        if let Some(task) = pinned {
            self.produce(task, control, encoder)?;
        }
        while let Some(task) = self.next_task() {
            self.produce(task, control, encoder)?;
        }
        self.help(control, encoder)
    }

    fn next_task(&self) -> Option<Box<dyn Task + Send + 't>> {
        self.lock().tasks.pop_front()
    }

    fn produce<S: Sink>(
        &self,
        task: Box<dyn Task + '_>,
        control: &Control,
        encoder: &mut Encoder<S>,
    ) -> Result<()> {
        task.run(&mut |chunk| match self.offer(chunk)? {
            Some(chunk) => encode(&chunk, control, encoder),
            None => Ok(()),
        })
    }

    /// Hand a chunk to a helper, or return it if no helper is free. After a failure of another thread this fails too;
    /// the first failure is the one that is reported.
    fn offer(&self, chunk: Chunk) -> Result<Option<Chunk>> {
        let mut state = self.lock();
        if state.failure.is_some() {
            return Err(Error::Interrupted);
        }
        if state.queue.len() >= WAITING * state.helpers {
            return Ok(Some(chunk));
        }
        state.queue.push_back(chunk);
        drop(state);
        self.changed.notify_one();
        Ok(None)
    }

    /// Encode chunks of the threads that still produce, until they are done.
    fn help<S: Sink>(&self, control: &Control, encoder: &mut Encoder<S>) -> Result<()> {
        let mut state = self.lock();
        state.producing -= 1;
        state.helpers += 1;
        if state.producing == 0 {
            self.changed.notify_all();
        }
        loop {
            if let Some(chunk) = state.queue.pop_front() {
                drop(state);
                encode(&chunk, control, encoder)?;
                state = self.lock();
            } else if state.producing == 0 || state.failure.is_some() {
                return Ok(());
            } else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}
