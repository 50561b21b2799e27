//! The channel from the calling thread, which pulls batches from Python, to the job's thread, which reads them.
//!
//! The calling thread does the pulling because a Python producer may be tied to it (a database cursor),
//! and because there a signal interrupts the producer itself. The job never needs the interpreter, so the
//! two cannot wait for each other. A few rows need no second thread.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::Thread;
use std::time::Instant;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use dpsel_rows::ingest::Source;
use dpsel_rows::runtime::Control;
use pyo3::prelude::*;

use crate::consumer::Consumer;
use crate::job_thread::{Running, TICK, run_here};
use crate::producer::Producer;

/// Batches that may wait between the two threads: enough to keep both busy, little memory.
const IN_FLIGHT: usize = 4;
/// Rows up to which a job does without a thread of its own.
const FEW_ROWS: usize = 1024;

enum Message {
    Batch(RecordBatch),
    /// Sent after the last batch. Without it the stream was cut off and nothing may be released.
    End,
}

/// The job's end of the channel.
struct ChannelReader {
    schema: SchemaRef,
    messages: Receiver<Message>,
    producer: Thread,
    ended: bool,
}

impl Iterator for ChannelReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let message = self.messages.recv();
        self.producer.unpark();
        match message {
            Ok(Message::Batch(batch)) => Some(Ok(batch)),
            Ok(Message::End) => {
                self.ended = true;
                None
            }
            Err(_) => {
                self.ended = true;
                Some(Err(ArrowError::ExternalError("the stream was cut off".into())))
            }
        }
    }
}

impl RecordBatchReader for ChannelReader {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl Drop for ChannelReader {
    fn drop(&mut self) {
        // A producer that waits for room must learn at once that nobody reads any more.
        self.producer.unpark();
    }
}

/// The first batches of a producer.
struct First {
    batches: Vec<RecordBatch>,
    /// Whether there are no more.
    all: bool,
}

impl First {
    /// Read until there are more than a few rows.
    fn read(py: Python<'_>, producer: &mut dyn Producer) -> PyResult<Self> {
        let (mut batches, mut rows) = (Vec::new(), 0);
        while rows <= FEW_ROWS && batches.len() < IN_FLIGHT {
            let Some(batch) = producer.next_batch(py)? else { return Ok(Self { batches, all: true }) };
            rows += batch.num_rows();
            batches.push(batch);
        }
        Ok(Self { batches, all: false })
    }
}

/// Do a job on the batches of `producer`.
pub(crate) fn run<W: Consumer>(py: Python<'_>, producer: &mut dyn Producer, job: &W) -> PyResult<W::Made> {
    let (schema, first) = (producer.schema(), First::read(py, producer)?);
    if first.all && !job.is_long() {
        let reader = RecordBatchIterator::new(first.batches.into_iter().map(Ok), schema);
        return run_here(py, Source::Undeclared(Box::new(reader), producer.found()), job);
    }
    let (sender, messages) = sync_channel(IN_FLIGHT);
    let reader = ChannelReader { schema, messages, producer: std::thread::current(), ended: false };
    let source = Source::Undeclared(Box::new(reader), producer.found());
    let mut running = Running::start(py, source, job)?;
    let control = running.control();
    let push = Push { sender, control: &control, job, last_tick: Instant::now() };
    match push.all(py, first.batches, producer) {
        Ok(()) => running.finish(py, job),
        Err(error) => Err(running.give_up(py, error)),
    }
}

struct Push<'a, W> {
    sender: SyncSender<Message>,
    control: &'a Control,
    job: &'a W,
    last_tick: Instant,
}

impl<W: Consumer> Push<'_, W> {
    /// Push every batch and the end mark. Consumes the sender, so that a failure cuts the stream off.
    fn all(mut self, py: Python<'_>, first: Vec<RecordBatch>, producer: &mut dyn Producer) -> PyResult<()> {
        let mut first = first.into_iter().map(|batch| Ok(Some(batch)));
        // Otherwise: the first batches are pushed, and the others come from the producer.
        while let Some(batch) = first.next().unwrap_or_else(|| producer.next_batch(py))? {
            if !self.one(py, Message::Batch(batch))? {
                return Ok(());
            }
            self.tick(py)?;
        }
        self.one(py, Message::End).map(drop)
    }

    /// Push one message; false if the job has already ended, which only an error makes it do.
    fn one(&mut self, py: Python<'_>, mut message: Message) -> PyResult<bool> {
        loop {
            message = match self.sender.try_send(message) {
                Ok(()) => return Ok(true),
                Err(TrySendError::Disconnected(_)) => return Ok(false),
                Err(TrySendError::Full(message)) => message,
            };
            py.detach(|| std::thread::park_timeout(TICK));
            self.tick(py)?;
        }
    }

    fn tick(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.last_tick.elapsed() < TICK {
            return Ok(());
        }
        self.last_tick = Instant::now();
        py.check_signals()?;
        self.job.settings().report_progress(py, self.control)
    }
}
