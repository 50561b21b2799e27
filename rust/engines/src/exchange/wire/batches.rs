//! Arrow batches between stages: a packed value in each row, with the bucket that it goes to.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BinaryArray, Int32Array, RecordBatch};
use arrow_buffer::OffsetBuffer;
use dpsel_exact::{Error, Result};

/// Column of the bucket that a row goes to.
const BUCKET: &str = "bucket";
/// Column of the packed value.
const PACKED: &str = "packed";
/// A batch ends before its values exceed this number of bytes. So there are few batches, and none gets near the limit
/// of one array.
const BATCH_BYTES: usize = 1 << 26;
/// Writers start a new packed value once the current one has more bytes.
pub(crate) const VALUE_BYTES: usize = 1 << 22;
/// A value of so many bytes has a batch of its own: to copy it takes longer than a batch.
const LARGE: usize = 1 << 20;

const WRONG: Error = Error::Internal("a batch between stages has other columns than it should");

/// Packed values on their way to buckets.
#[derive(Debug, Default)]
pub(crate) struct BucketedValues(Vec<(i32, Vec<u8>)>);

impl BucketedValues {
    pub(crate) fn push(&mut self, bucket: i32, packed: Vec<u8>) {
        self.0.push((bucket, packed));
    }

    /// Batches of buckets and packed values. Large values are not copied, and have a batch each.
    ///
    /// # Errors
    /// [`Error::Capacity`] for a value that no array can hold.
    pub(crate) fn into_batches(self) -> Result<Vec<RecordBatch>> {
        let (mut batches, mut small, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (bucket, packed) in self.0 {
            bytes += packed.len();
            if !small.is_empty() && (packed.len() >= LARGE || bytes > BATCH_BYTES) {
                batches.push(bucketed_batch(&small)?);
                (small, bytes) = (Vec::new(), packed.len());
            }
            if packed.len() < LARGE {
                small.push((bucket, packed));
                continue;
            }
            let bucket: ArrayRef = Arc::new(Int32Array::from(vec![bucket]));
            batches.push(batch([(BUCKET, bucket), (PACKED, whole(packed)?)])?);
            bytes = 0;
        }
        if !small.is_empty() {
            batches.push(bucketed_batch(&small)?);
        }
        Ok(batches)
    }
}

/// A batch of buckets and packed values.
///
/// # Errors
/// As [`BucketedValues::into_batches`].
pub(crate) fn bucketed_batch(rows: &[(i32, Vec<u8>)]) -> Result<RecordBatch> {
    let buckets: Int32Array = rows.iter().map(|(bucket, _)| *bucket).collect();
    let values = column(rows.iter().map(|(_, packed)| packed.as_slice()))?;
    batch([(BUCKET, Arc::new(buckets)), (PACKED, values)])
}

/// A batch of one packed value, without a bucket.
pub(crate) fn packed_batch(packed: &[u8]) -> Result<RecordBatch> {
    batch([(PACKED, column([packed])?)])
}

fn column<'a>(values: impl IntoIterator<Item = &'a [u8]> + Clone) -> Result<ArrayRef> {
    check_bytes(values.clone().into_iter().map(|value| value.len() as u64).sum())?;
    Ok(Arc::new(BinaryArray::from_iter_values(values)))
}

/// A column of one value, which is not copied.
fn whole(value: Vec<u8>) -> Result<ArrayRef> {
    check_bytes(value.len() as u64)?;
    let ends = OffsetBuffer::from_lengths([value.len()]);
    let column = BinaryArray::try_new(ends, value.into(), None);
    Ok(Arc::new(column.map_err(|_| Error::Internal("a packed value does not fit its column"))?))
}

fn check_bytes(bytes: u64) -> Result<()> {
    let limit = i32::MAX.unsigned_abs().into();
    if bytes > limit { Err(Error::Capacity { what: "bytes of one packed value", limit }) } else { Ok(()) }
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> Result<RecordBatch> {
    RecordBatch::try_from_iter(columns).map_err(|_| Error::Internal("packed columns do not fit together"))
}

/// The buckets and packed values of a batch.
///
/// # Errors
/// [`Error::Internal`] for a batch with other columns, as in the functions below.
pub(crate) fn bucketed_values(batch: &RecordBatch) -> Result<impl Iterator<Item = (i32, &[u8])>> {
    let buckets = batch.column_by_name(BUCKET).and_then(|column| column.as_primitive_opt::<Int32Type>());
    Ok(buckets.ok_or(WRONG)?.values().iter().copied().zip(packed_values(batch)?))
}

/// The packed values of a batch, whatever its other columns are.
pub(super) fn packed_values(batch: &RecordBatch) -> Result<Vec<&[u8]>> {
    let column = batch.column_by_name(PACKED).ok_or(WRONG)?;
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
    fn large_values_stand_alone() {
        let rows = [(1, BATCH_BYTES), (1, 3), (2, 4), (3, BATCH_BYTES + 1), (4, 0)];
        let mut values = BucketedValues::default();
        for (bucket, bytes) in rows {
            values.push(bucket, vec![0; bytes]);
        }
        let batches = values.into_batches().unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [1, 2, 1, 1]);
        let found = batches.iter().flat_map(|batch| bucketed_values(batch).unwrap());
        assert_eq!(found.map(|(bucket, packed)| (bucket, packed.len())).collect::<Vec<_>>(), rows);
    }

    #[test]
    fn large_values_are_not_copied() {
        let value = vec![7; LARGE];
        let at = value.as_ptr();
        let mut values = BucketedValues::default();
        values.push(5, value);
        let batches = values.into_batches().unwrap();
        let found: Vec<(i32, &[u8])> = bucketed_values(&batches[0]).unwrap().collect();
        assert!(
            found.len() == 1 && found[0].0 == 5 && found[0].1.as_ptr() == at && found[0].1.len() == LARGE
        );
    }
}
