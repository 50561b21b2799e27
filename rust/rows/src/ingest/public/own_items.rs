//! The items that the rows of a public list name. In a tree these are the nodes alone, without those above them.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};

use crate::ingest::encode::{Chunk, Encoder, Sink};
use crate::ingest::items::{Code, ItemCode, Payload, Side, UserCode, with_rows};
use crate::ingest::layout::ColumnLayout;
use crate::ingest::names::Columns;
use crate::ingest::public::PublicList;

impl PublicList {
    /// The digests of the items of the list in the types of the data. `name` is the argument that has the list.
    ///
    /// # Errors
    /// As [`PublicList::named_in_types_of`]; those of the items.
    pub fn own_items(
        &self,
        data: &ColumnLayout,
        columns: &Columns,
        (name, key): (&str, &ReleaseKey),
    ) -> Result<HashSet<Digest>> {
        let (columns, mut found) = (columns.of_list(), OwnItems::default());
        for batch in self.batches_in_types_of(data, &columns, name)? {
            let batch = with_a_user_for_each_row(&batch, &columns, name)?;
            let (layout, positions) = ColumnLayout::new(&batch.schema(), &columns, name)?;
            let mut encoder = Encoder::new(&layout, key, found);
            let (users, items) = positions.columns(&batch);
            encoder.encode(&Chunk { users, items, source: name.into(), first_row: 0, work: 0 })?;
            found = encoder.into_sink();
        }
        Ok(found.own)
    }
}

/// The batch with users that are the numbers of its rows: consecutive rows of one user would count as one.
fn with_a_user_for_each_row(batch: &RecordBatch, columns: &Columns, name: &str) -> Result<RecordBatch> {
    let (_, positions) = ColumnLayout::new(&batch.schema(), columns, name)?;
    let (schema, mut arrays) = (batch.schema(), batch.columns().to_vec());
    let mut fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
    for at in positions.users {
        fields[at] = fields[at].clone().with_data_type(DataType::Int64);
        arrays[at] = Arc::new((0_i64..).take(batch.num_rows()).collect::<Int64Array>());
    }
    with_rows(Arc::new(Schema::new(fields)), arrays, batch.num_rows())
}

/// Notes the last item of each row.
#[derive(Debug, Default)]
struct OwnItems {
    digests: Vec<Digest>,
    own: HashSet<Digest>,
}

impl Sink for OwnItems {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        _payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        const FULL: Error = Error::Capacity { what: "items of a list", limit: u32::MAX as u64 };
        for digest in digests {
            codes.push(C::new(u32::try_from(self.digests.len()).map_err(|_| FULL)?));
            if C::SIDE == Side::Item {
                self.digests.push(*digest);
            }
        }
        Ok(())
    }

    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        let mut end = 0;
        for run in 0..users.len() {
            let len = lens.map_or(1, |lens| lens[run] as usize);
            end += len;
            if len > 0 {
                self.own.insert(self.digests[items[end - 1].index()]);
            }
        }
        Ok(())
    }
}
