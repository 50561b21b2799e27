//! Blocks in memory.

use dpsel_exact::Result;
use dpsel_rows::runtime::{Control, WEIGHING, parallel};

use super::driver::Blocks;

/// Blocks in memory, for so many threads.
#[derive(Debug)]
pub struct MemoryBlocks<'a, B> {
    blocks: Vec<B>,
    threads: usize,
    /// Who is told of the progress.
    control: Option<&'a Control>,
}

impl<'a, B> MemoryBlocks<'a, B> {
    /// These blocks; `control` is told of the progress.
    #[must_use]
    pub fn new(blocks: Vec<B>, threads: usize, control: Option<&'a Control>) -> Self {
        Self { blocks, threads, control }
    }

    /// The blocks themselves.
    pub fn blocks_mut(&mut self) -> &mut [B] {
        &mut self.blocks
    }

    /// The same, when no round is left.
    pub(crate) fn into_blocks(self) -> Vec<B> {
        self.blocks
    }
}

impl<B: Send> Blocks<B> for MemoryBlocks<'_, B> {
    fn each<R: Send>(
        &mut self,
        _is_last: bool,
        work: impl Fn(&mut B, &mut Vec<R>) -> Result<()> + Sync,
    ) -> Result<Vec<R>> {
        let tally = self.control.map(|control| control.tally(WEIGHING, self.blocks.len()));
        let made = parallel::map(self.threads, self.blocks.iter_mut().collect(), |block| {
            let mut made = Vec::new();
            work(block, &mut made)?;
            if let Some(tally) = tally {
                tally.add(1);
            }
            Ok(made)
        });
        self.control.map_or(Ok(()), Control::check)?;
        Ok(made.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
}
