//! What several mechanisms share: refusals and ranges of parameters.

pub(super) mod policy;
pub(super) mod requirements;
