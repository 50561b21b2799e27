//! How much was read, from which the memory of the stages behind follows.

/// Numbers of a job, at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    pub(crate) users: usize,
    /// Item codes.
    pub(crate) codes: usize,
    pub(crate) rows: usize,
}

/// The bytes that later stages take at most.
pub(crate) type Later<'a> = dyn Fn(Totals) -> usize + Sync + 'a;
