//! Rows between stages: where a packed value goes, and the value.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BinaryArray, Int32Array, RecordBatch};

use crate::random::Digest;
use crate::{Error, Result};

/// Column of the route.
const ROUTE: &str = "route";
/// Column of the route of users that a message comes from.
const SOURCE: &str = "source";
/// Column of the packed value.
const PACKED: &str = "packed";
/// Column of packed states of items.
const STATES: &str = "states";
/// The most bytes of the values of a batch: few batches, and each far from what one array holds.
const BATCH_BYTES: usize = 1 << 26;

const WRONG: Error = Error::Internal("a batch between stages has other columns than it should");

/// A number of routes, at least one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Routes(u32);

impl Routes {
    /// # Errors
    /// [`Error::InvalidParameter`] for none, or for more than a Spark integer counts.
    pub(super) fn new(number: u32) -> Result<Self> {
        if number == 0 || i32::try_from(number).is_err() {
            let fix = "leave it out for four times spark.sql.shuffle.partitions";
            return Err(Error::parameter("routes", "between 1 and 2147483647", number, fix));
        }
        Ok(Self(number))
    }

    /// The route of a digest: a function of bits that no hash table of the engine starts from.
    #[expect(clippy::cast_possible_truncation, reason = "32 bits are meant")]
    pub(super) fn of(self, digest: Digest) -> i32 {
        self.of_mark((digest.0 >> 64) as u32)
    }

    /// The route of 32 bits: consecutive numbers have the same or consecutive ones.
    pub(super) fn of_mark(self, bits: u32) -> i32 {
        (((u64::from(bits) * u64::from(self.0)) >> 32) as u32).cast_signed()
    }
}

/// Sees to it that routes come one after the other.
#[derive(Debug, Default)]
pub(super) struct InOrder(Option<i32>);

impl InOrder {
    /// The route that came last.
    pub(super) fn current(&self) -> Option<i32> {
        self.0
    }

    /// Whether this route comes after another one, which has ended.
    pub(super) fn is_next(&mut self, route: i32) -> Result<bool> {
        match self.0.replace(route) {
            Some(before) if route < before => Err(Error::Internal("routes do not come in their order")),
            before => Ok(before.is_some_and(|before| before < route)),
        }
    }
}

/// Packed values on their way to routes.
#[derive(Debug, Default)]
pub(super) struct Routed(Vec<(i32, Vec<u8>)>);

impl Routed {
    pub(super) fn push(&mut self, route: i32, packed: Vec<u8>) {
        self.0.push((route, packed));
    }

    /// Batches of routes and packed values.
    pub(super) fn into_batches(self) -> Result<Vec<RecordBatch>> {
        in_batches(&self.0, |rows| batch([(ROUTE, routes(rows)), (PACKED, values(rows)?)]))
    }
}

/// One packed value for each route.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    buffers: BTreeMap<i32, Vec<u8>>,
}

impl Buffers {
    /// The value of a route, to be extended.
    pub(super) fn to(&mut self, route: i32) -> &mut Vec<u8> {
        self.buffers.entry(route).or_default()
    }

    /// Bytes of all values.
    pub(super) fn bytes(&self) -> usize {
        self.buffers.values().map(Vec::len).sum()
    }

    /// Batches of messages from the users of one route.
    pub(super) fn into_messages(self, source: i32) -> Result<Vec<RecordBatch>> {
        let rows: Vec<(i32, Vec<u8>)> = self.buffers.into_iter().collect();
        in_batches(&rows, |rows| {
            let sources: ArrayRef = Arc::new(Int32Array::from(vec![source; rows.len()]));
            batch([(ROUTE, routes(rows)), (SOURCE, sources), (PACKED, values(rows)?)])
        })
    }

    /// Batches of states.
    pub(super) fn into_states(self) -> Result<Vec<RecordBatch>> {
        let rows: Vec<(i32, Vec<u8>)> = self.buffers.into_iter().collect();
        in_batches(&rows, |rows| batch([(ROUTE, routes(rows)), (STATES, values(rows)?)]))
    }
}

/// Rows put into batches, each of at least one row and not many more bytes than one should have.
fn in_batches(
    mut rows: &[(i32, Vec<u8>)],
    make: impl Fn(&[(i32, Vec<u8>)]) -> Result<RecordBatch>,
) -> Result<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    while !rows.is_empty() {
        let mut bytes = 0;
        let fits = |(_, packed): &&(i32, Vec<u8>)| {
            bytes += packed.len();
            bytes <= BATCH_BYTES
        };
        let (now, rest) = rows.split_at(rows.iter().take_while(fits).count().max(1));
        batches.push(make(now)?);
        rows = rest;
    }
    Ok(batches)
}

/// A batch of one packed value, without a route.
pub(super) fn packed_batch(packed: &[u8]) -> Result<RecordBatch> {
    batch([(PACKED, column([packed])?)])
}

fn routes(rows: &[(i32, Vec<u8>)]) -> ArrayRef {
    Arc::new(rows.iter().map(|(route, _)| *route).collect::<Int32Array>())
}

fn values(rows: &[(i32, Vec<u8>)]) -> Result<ArrayRef> {
    column(rows.iter().map(|(_, packed)| packed.as_slice()))
}

fn column<'a>(values: impl IntoIterator<Item = &'a [u8]> + Clone) -> Result<ArrayRef> {
    let limit = i32::MAX.unsigned_abs().into();
    if values.clone().into_iter().map(|value| value.len() as u64).sum::<u64>() > limit {
        return Err(Error::Capacity { what: "bytes of one packed value", limit });
    }
    Ok(Arc::new(BinaryArray::from_iter_values(values)))
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> Result<RecordBatch> {
    RecordBatch::try_from_iter(columns).map_err(|_| Error::Internal("packed columns do not fit together"))
}

/// The routes and packed values of a batch.
pub(super) fn unrouted(batch: &RecordBatch) -> Result<impl Iterator<Item = (i32, &[u8])>> {
    Ok(integers(batch, ROUTE)?.iter().copied().zip(bytes(batch, PACKED)?))
}

/// The routes, sources and packed values of a batch of messages.
pub(super) fn unrouted_messages(batch: &RecordBatch) -> Result<impl Iterator<Item = (i32, i32, &[u8])>> {
    let routes = integers(batch, ROUTE)?.iter().zip(integers(batch, SOURCE)?);
    Ok(routes.zip(bytes(batch, PACKED)?).map(|((route, source), packed)| (*route, *source, packed)))
}

/// The packed values of a batch, whatever its other columns are.
pub(super) fn packed_values(batch: &RecordBatch) -> Result<Vec<&[u8]>> {
    bytes(batch, PACKED)
}

/// The packed states of a batch; none if it has other things.
pub(super) fn unrouted_states(batch: &RecordBatch) -> Result<Option<Vec<&[u8]>>> {
    batch.column_by_name(STATES).map(|_| bytes(batch, STATES)).transpose()
}

fn integers<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a [i32]> {
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int32Type>());
    column.map(|column| column.values().as_ref()).ok_or(WRONG)
}

fn bytes<'a>(batch: &'a RecordBatch, name: &str) -> Result<Vec<&'a [u8]>> {
    let column = batch.column_by_name(name).ok_or(WRONG)?;
    if let Some(small) = column.as_binary_opt::<i32>() {
        return small.iter().collect::<Option<_>>().ok_or(WRONG);
    }
    let large = column.as_binary_opt::<i64>().ok_or(WRONG)?;
    large.iter().collect::<Option<_>>().ok_or(WRONG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_share_digests_out_and_no_other_numbers_are_taken() {
        for number in [0, 1 << 31, u32::MAX] {
            assert!(matches!(Routes::new(number), Err(Error::InvalidParameter { .. })));
        }
        let routes = Routes::new(7).unwrap();
        let of = |upper: u128| routes.of(Digest(upper << 64 | 5));
        assert_eq!([0, u128::from(u32::MAX), 1 << 31].map(of), [0, 6, 3]);
    }

    #[test]
    fn routes_come_in_their_order() {
        let mut routes = InOrder::default();
        let found = [2, 2, 5, 5, 6].map(|route| routes.is_next(route).unwrap());
        assert_eq!(found, [false, false, true, false, true]);
        assert_eq!(routes.current(), Some(6));
        assert!(routes.is_next(5).is_err());
    }

    #[test]
    fn large_values_stand_alone() {
        let rows = [(1, BATCH_BYTES), (1, 3), (2, 4), (3, BATCH_BYTES + 1), (4, 0)];
        let mut routed = Routed::default();
        for (route, bytes) in rows {
            routed.push(route, vec![0; bytes]);
        }
        let batches = routed.into_batches().unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [1, 2, 1, 1]);
        let found = batches.iter().flat_map(|batch| unrouted(batch).unwrap()).map(|(r, p)| (r, p.len()));
        assert_eq!(found.collect::<Vec<_>>(), rows);
    }
}
