//! How much was read, from which the memory of the stages behind follows.

/// Numbers of a job, at most.
#[derive(Debug, Clone, Copy)]
pub struct Totals {
    /// Users.
    pub users: usize,
    /// Item codes.
    pub codes: usize,
    /// Rows.
    pub rows: usize,
}

/// The bytes that later stages take at most.
pub type Later<'a> = dyn Fn(Totals) -> usize + Sync + 'a;
