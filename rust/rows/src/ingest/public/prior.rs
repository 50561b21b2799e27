//! A public table of items in an order of preference.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use dpsel_exact::random::{Digest, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::target::{Target, in_types_of};
use crate::ingest::encode::{Chunk, Encoder, Sink};
use crate::ingest::items::{Code, ItemCode, Payload, Side, UserCode};
use crate::ingest::layout::ColumnLayout;
use crate::ingest::names::Columns;

/// The table's name in errors.
const NAME: &str = "prior=";

/// Items with ranks: batches with the columns of the data. The user column holds the rank of each item.
///
/// Rows are sorted by rank. Items that appear twice keep the better rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior(Vec<RecordBatch>);

impl Prior {
    /// Ranked items, the most preferred first.
    #[must_use]
    pub fn new(batches: Vec<RecordBatch>) -> Self {
        Self(batches)
    }

    /// Refuse items that cannot be cast exactly to the types of the data.
    ///
    /// # Errors
    /// [`Error::Schema`].
    pub fn check(&self, columns: &Columns, data: &ColumnLayout) -> Result<()> {
        self.in_types_of(columns, data).map(drop)
    }

    fn in_types_of(&self, columns: &Columns, data: &ColumnLayout) -> Result<Vec<RecordBatch>> {
        let columns = columns.of_list();
        let targets = Target::of(&self.0, data, &columns, NAME)?;
        let mut rows = 0;
        let batches = self.0.iter().filter(|batch| batch.num_rows() > 0);
        batches
            .map(|batch| {
                let first = rows;
                rows += batch.num_rows();
                in_types_of(batch, &targets, &columns, NAME, first)
            })
            .collect()
    }

    /// The rank of each item's digest, from 0 on without gaps.
    ///
    /// # Errors
    /// [`Error::Schema`] if the items cannot be cast exactly to the types of the data.
    pub(crate) fn ranks(
        &self,
        columns: &Columns,
        data: &ColumnLayout,
        key: &ReleaseKey,
    ) -> Result<HashMap<Digest, u32>> {
        let mut ranked = Ranked::default();
        let batches = self.in_types_of(columns, data)?;
        let columns = columns.of_list();
        for batch in batches {
            let (layout, positions) = ColumnLayout::new(&batch.schema(), &columns, NAME)?;
            let mut encoder = Encoder::new(&layout, key, ranked);
            let (users, items) = positions.columns(&batch);
            encoder.encode(&Chunk { users, items, source: NAME.into(), first_row: 0, work: 0 })?;
            ranked = encoder.into_sink();
        }
        let rank = |code: u32| {
            ranked.ranks.get(code as usize).copied().ok_or(Error::Internal("an item has no rank"))
        };
        ranked.items.iter().map(|(digest, code)| Ok((*digest, rank(*code)?))).collect()
    }
}

/// Numbers ranks and items in order of first appearance. The rows are sorted by rank, so the code of a rank is the
/// rank.
#[derive(Debug, Default)]
struct Ranked {
    users: HashMap<Digest, u32>,
    items: HashMap<Digest, u32>,
    /// The rank of each item code.
    ranks: Vec<u32>,
}

impl Sink for Ranked {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        _payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        const FULL: Error = Error::Capacity { what: "items of prior=", limit: u32::MAX as u64 };
        let known = if C::SIDE == Side::User { &mut self.users } else { &mut self.items };
        for digest in digests {
            let next = u32::try_from(known.len()).map_err(|_| FULL)?;
            codes.push(C::new(*known.entry(*digest).or_insert(next)));
        }
        Ok(())
    }

    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        self.ranks.resize(self.items.len(), u32::MAX);
        let mut items = items.iter();
        for (run, user) in users.iter().enumerate() {
            let len = lens.map_or(1, |lens| lens[run] as usize);
            for item in items.by_ref().take(len) {
                let rank = &mut self.ranks[item.number() as usize];
                *rank = user.number().min(*rank);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;
    use crate::ingest::testing::item_digest;

    fn batch(ranks: &[i64], items: ArrayRef) -> RecordBatch {
        let ranks: ArrayRef = Arc::new(Int64Array::from(ranks.to_vec()));
        RecordBatch::try_from_iter([("user", ranks), ("item", items)]).unwrap()
    }

    fn ints(items: &[i64]) -> ArrayRef {
        Arc::new(Int64Array::from(items.to_vec()))
    }

    fn ranks(batches: Vec<RecordBatch>) -> Result<HashMap<Digest, u32>> {
        let columns = Columns { user: "user".into(), items: vec!["item".into()], ngrams: None, levels: None };
        let (data, _) = ColumnLayout::new(&batch(&[], ints(&[])).schema(), &columns, "the input")?;
        Prior::new(batches).ranks(&columns, &data, &ReleaseKey::insecure_test([3; 32]))
    }

    #[test]
    fn equal_ranks_are_equal_and_batches_go_on() {
        let found =
            ranks(vec![batch(&[0, 0, 1], ints(&[5, 6, 7])), batch(&[1, 2, 3], ints(&[8, 5, 9]))]).unwrap();
        let key = ReleaseKey::insecure_test([3; 32]);
        let rank = |item| found[&item_digest(item, &key)];
        assert_eq!([5, 6, 7, 8, 9].map(rank), [0, 0, 1, 1, 3]);
    }

    #[test]
    fn items_of_another_type_are_cast_or_refused_and_an_empty_table_is_not() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["5"]));
        let found = ranks(vec![batch(&[0], texts)]).unwrap();
        assert_eq!(found[&item_digest(5, &ReleaseKey::insecure_test([3; 32]))], 0);
        let odd: ArrayRef = Arc::new(StringArray::from(vec!["05"]));
        let later = ranks(vec![batch(&[0, 0], ints(&[1, 2])), batch(&[1], odd)]);
        let Err(Error::Schema { what, .. }) = later else { panic!("05 is no integer") };
        assert!(what.starts_with("prior= has an item at position 2 "), "{what}");
        let empty: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
        assert!(ranks(vec![batch(&[], empty)]).unwrap().is_empty());
    }
}
