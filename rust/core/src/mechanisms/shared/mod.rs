//! Refusals, ranges of parameters and rounds that several mechanisms use.

pub(super) mod curves;
pub(super) mod policy;
pub(super) mod requirements;
