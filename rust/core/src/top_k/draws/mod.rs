//! Exact draws that several mechanisms share.

pub(super) mod discrete_gaussian;
pub(super) mod discrete_laplace;
pub(super) mod loss_levels;
pub(super) mod normaliser;
pub(super) mod peel;
pub(super) mod permute_flip;
