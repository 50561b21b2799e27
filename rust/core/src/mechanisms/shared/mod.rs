//! What several mechanisms share: refusals, ranges of parameters, and the order in which items are filled.

mod filling_order;
pub(super) mod policy;
pub(super) mod requirements;

pub use filling_order::FillingOrder;
