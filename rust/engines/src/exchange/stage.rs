//! The interface of every stage: batches in, batches out.

use arrow_array::RecordBatch;
use dpsel_exact::Result;

/// One task of a stage. It takes the batches of its bucket one after the other.
pub trait Stage: Send {
    /// Take a batch, and return the batches that are ready.
    ///
    /// # Errors
    /// Those of the stage.
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>>;

    /// Return the remaining batches; none come in after this call.
    ///
    /// # Errors
    /// Those of the stage.
    fn finish(&mut self) -> Result<Vec<RecordBatch>>;
}

/// Two stages in one task. The second takes all that the first makes, and both hand on what they make.
#[derive(Debug)]
pub struct Both<A, B> {
    first: A,
    second: B,
}

impl<A: Stage, B: Stage> Both<A, B> {
    pub(crate) fn new(first: A, second: B) -> Self {
        Self { first, second }
    }

    /// These batches, with what the second stage makes of them.
    fn handed_on(&mut self, mut made: Vec<RecordBatch>) -> Result<Vec<RecordBatch>> {
        for batch in made.clone() {
            made.extend(self.second.push(batch)?);
        }
        Ok(made)
    }
}

impl<A: Stage, B: Stage> Stage for Both<A, B> {
    fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let made = self.first.push(batch)?;
        self.handed_on(made)
    }

    fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        let made = self.first.finish()?;
        let mut made = self.handed_on(made)?;
        made.extend(self.second.finish()?);
        Ok(made)
    }
}
