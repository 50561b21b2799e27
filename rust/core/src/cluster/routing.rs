//! Rows between stages: where a packed value goes, and the value.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BinaryArray, Int32Array, RecordBatch};

use crate::random::Digest;
use crate::{Error, Result};

/// Column of the route.
const ROUTE: &str = "route";
/// Column of the packed value.
const PACKED: &str = "packed";

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
    #[expect(
        clippy::cast_possible_truncation,
        reason = "32 bits are meant, and the product's upper half has them"
    )]
    pub(super) fn of(self, digest: Digest) -> u32 {
        let bits = (digest.0 >> 64) as u32;
        ((u64::from(bits) * u64::from(self.0)) >> 32) as u32
    }
}

/// Packed values with their routes.
#[derive(Debug, Default)]
pub(super) struct Routed(Vec<(u32, Vec<u8>)>);

impl Routed {
    pub(super) fn push(&mut self, route: u32, packed: Vec<u8>) {
        self.0.push((route, packed));
    }

    /// One batch for each value: together they could be more than one array holds.
    pub(super) fn into_batches(self) -> Result<Vec<RecordBatch>> {
        self.0.into_iter().map(|(route, packed)| routed_batch(route, &packed)).collect()
    }
}

fn routed_batch(route: u32, packed: &[u8]) -> Result<RecordBatch> {
    let route = i32::try_from(route).map_err(|_| Error::Internal("a route beyond 31 bits"))?;
    let route: ArrayRef = Arc::new(Int32Array::from(vec![route]));
    batch([(ROUTE, route), (PACKED, packed_column(packed)?)])
}

/// A batch of one packed value, without a route.
pub(super) fn packed_batch(packed: &[u8]) -> Result<RecordBatch> {
    batch([(PACKED, packed_column(packed)?)])
}

fn packed_column(packed: &[u8]) -> Result<ArrayRef> {
    let limit = i32::MAX.unsigned_abs().into();
    if packed.len() as u64 > limit {
        return Err(Error::Capacity { what: "bytes of one packed value", limit });
    }
    Ok(Arc::new(BinaryArray::from_vec(vec![packed])))
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> Result<RecordBatch> {
    RecordBatch::try_from_iter(columns).map_err(|_| Error::Internal("packed columns do not fit together"))
}

/// The routes and packed values of a batch.
pub(super) fn unrouted(batch: &RecordBatch) -> Result<impl Iterator<Item = (i32, &[u8])>> {
    const WRONG: Error = Error::Internal("a batch between stages has other columns than it should");
    let (Some(routes), Some(packed)) = (batch.column_by_name(ROUTE), batch.column_by_name(PACKED)) else {
        return Err(WRONG);
    };
    let routes = routes.as_primitive_opt::<Int32Type>().ok_or(WRONG)?;
    let packed: Vec<&[u8]> = if let Some(small) = packed.as_binary_opt::<i32>() {
        small.iter().map(Option::unwrap_or_default).collect()
    } else {
        let large = packed.as_binary_opt::<i64>().ok_or(WRONG)?;
        large.iter().map(Option::unwrap_or_default).collect()
    };
    Ok(routes.values().iter().copied().zip(packed))
}
