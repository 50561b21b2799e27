//! Privacy parameters, what mechanisms cost, and conversions between the two, always rounded the safe way.

mod params;

pub use params::{L0Bound, Privacy};
