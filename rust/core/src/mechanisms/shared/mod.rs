//! Refusals and ranges of parameters that several mechanisms use.

pub(super) mod policy;
pub(super) mod requirements;
