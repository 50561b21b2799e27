//! The items of rows without users, with their names.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::{Contributions, RowOrder, read_batches};
use crate::ingest::{Columns, ItemCode, with_parts, with_rows};
use crate::runtime::Control;

/// Read the items of some rows, which need no user column, as if all were of one user. In a tree the nodes above these are
/// items, too. `None` if there are no batches.
///
/// # Errors
/// As [`super::read`].
pub fn read_items(
    batches: Vec<RecordBatch>,
    columns: &Columns,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Option<Contributions>> {
    // Longer than the name of any item column, so different from all of them.
    let user = format!("user of {}", columns.items.join(" "));
    let with_user = |batch: RecordBatch| {
        let users: ArrayRef = Arc::new(Int8Array::from(vec![0; batch.num_rows()]));
        let first = Arc::new(Field::new(&user, DataType::Int8, false));
        let fields: Vec<_> = [first].into_iter().chain(batch.schema().fields().iter().cloned()).collect();
        let arrays = [users].into_iter().chain(batch.columns().iter().cloned()).collect();
        with_rows(Arc::new(Schema::new(fields)), arrays, batch.num_rows())
    };
    let batches = batches.into_iter().map(with_user).collect::<Result<Vec<_>>>()?;
    let columns = Columns { user: user.clone().into(), ..columns.clone() };
    read_batches(batches, &columns, &RowOrder::Any, key, control)
}

/// These items, named by their columns, with all items above them.
///
/// # Errors
/// As [`super::read`].
pub fn read_closed(
    mut items: RecordBatch,
    columns: &Columns,
    key: &ReleaseKey,
    control: &Control,
) -> Result<Contributions> {
    const NOTHING: Error = Error::Internal("one batch was read as none");
    let mut columns = columns.clone();
    if let Some(ngrams) = columns.ngrams.take() {
        items = with_parts(&items, ngrams)?;
    }
    read_items(vec![items], &columns, key, control)?.ok_or(NOTHING)
}

impl Contributions {
    /// The wanted items of rows of one user: their digests and columns, in the same order.
    ///
    /// # Errors
    /// As [`ItemSchema::decode`](crate::ingest::ItemSchema::decode).
    pub fn named(
        &self,
        mut is_wanted: impl FnMut(Digest) -> bool,
        key: &ReleaseKey,
    ) -> Result<(Vec<Digest>, RecordBatch)> {
        let digests = self.vocabulary.digests();
        let all = self.items_by_user().flatten().map(|item| ItemCode(*item));
        let with_digests = all.map(|item| (digests.get(item), item));
        let (found, items): (Vec<Digest>, Vec<ItemCode>) =
            with_digests.filter(|(digest, _)| is_wanted(*digest)).unzip();
        let keys = items.into_iter().map(|item| self.vocabulary.key(item));
        Ok((found, self.vocabulary.schema().decode(keys, key)?))
    }
}
