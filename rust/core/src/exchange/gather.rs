//! Packed contributions of whole routes, unpacked together.

use super::dictionary::Dictionaries;
use super::packing::unpack;
use super::plan::{Plan, nameless_builder, no_names};
use super::routing::InOrder;
use crate::Result;
use crate::contributions::{Contributions, ContributionsBuilder};

/// Rows taken together, where routes allow it. The more there are, the more users of an item meet before anything moves.
const ROWS: usize = 1 << 23;

/// See the module.
///
/// # Contract
/// All rows of a route come one after the other in one task, so all of a user's contributions are handed out together.
#[derive(Debug)]
pub(super) struct Gather {
    dictionaries: Dictionaries,
    builder: Option<ContributionsBuilder>,
    rows: usize,
    routes: InOrder,
}

impl Gather {
    pub(super) fn new(plan: &Plan) -> Self {
        let dictionaries = Dictionaries::new(plan.key());
        Self { dictionaries, builder: None, rows: 0, routes: InOrder::default() }
    }

    /// Take packed contributions. If these are the first of a route, and those of the routes before are enough, hand these out.
    pub(super) fn push(&mut self, route: i32, packed: &[u8]) -> Result<Option<(i32, Contributions)>> {
        let last = self.routes.current();
        let enough = self.routes.is_next(route)? && self.rows >= ROWS;
        let ready = if enough { self.hand_out(last)? } else { None };
        let builder = self.builder.get_or_insert_with(nameless_builder);
        self.rows += unpack(packed, &self.dictionaries, builder)?;
        Ok(ready)
    }

    /// What is left when nothing more comes.
    pub(super) fn finish(&mut self) -> Result<Option<(i32, Contributions)>> {
        self.hand_out(self.routes.current())
    }

    /// The contributions, and the last of their routes.
    fn hand_out(&mut self, last: Option<i32>) -> Result<Option<(i32, Contributions)>> {
        self.rows = 0;
        let (Some(builder), Some(last)) = (self.builder.take(), last) else {
            return Ok(None);
        };
        Ok(Some((last, builder.finish(no_names()?, None)?)))
    }
}
