//! List columns: one row per element.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, OffsetSizeTrait};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use dpsel_exact::{Error, Result};

use super::nulls::filter;

const TOO_LONG: Error = Error::Capacity { what: "elements of one list", limit: u32::MAX as u64 };

/// The elements of all lists. The number of elements of each row is appended to `counts`; a null list has none.
///
/// # Errors
/// [`Error::Internal`] for a column that is not a list.
pub(in crate::ingest) fn explode(column: &ArrayRef, counts: &mut Vec<u32>) -> Result<ArrayRef> {
    match column.data_type() {
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            from_offsets(column, lists.offsets(), lists.values(), counts)
        }
        DataType::LargeList(_) => {
            let lists = column.as_list::<i64>();
            from_offsets(column, lists.offsets(), lists.values(), counts)
        }
        DataType::FixedSizeList(..) => fixed(column, counts),
        DataType::ListView(field) => explode(&cast(column, &DataType::List(field.clone()))?, counts),
        DataType::LargeListView(field) => {
            explode(&cast(column, &DataType::LargeList(field.clone()))?, counts)
        }
        _ => Err(Error::Internal("a column that is not a list was to be exploded")),
    }
}

fn cast(column: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    arrow_cast::cast(column, to).map_err(|_| Error::Internal("a list view cannot be read as a list"))
}

fn from_offsets<O: OffsetSizeTrait>(
    column: &ArrayRef,
    offsets: &OffsetBuffer<O>,
    values: &ArrayRef,
    counts: &mut Vec<u32>,
) -> Result<ArrayRef> {
    for length in offsets.lengths() {
        counts.push(u32::try_from(length).map_err(|_| TOO_LONG)?);
    }
    let (first, last) = match (offsets.first(), offsets.last()) {
        (Some(first), Some(last)) => (first.as_usize(), last.as_usize()),
        _ => (0, 0),
    };
    drop_null_lists(column, values.slice(first, last - first), counts)
}

fn fixed(column: &ArrayRef, counts: &mut Vec<u32>) -> Result<ArrayRef> {
    let lists = column.as_fixed_size_list();
    let size = u32::try_from(lists.value_length()).map_err(|_| TOO_LONG)?;
    counts.extend(std::iter::repeat_n(size, lists.len()));
    drop_null_lists(column, ArrayRef::clone(lists.values()), counts)
}

/// Removes the elements that null lists may still own in the buffers: they are not rows.
fn drop_null_lists(column: &ArrayRef, values: ArrayRef, counts: &mut [u32]) -> Result<ArrayRef> {
    let Some(nulls) = column.nulls().filter(|n| n.null_count() > 0) else {
        return Ok(values);
    };
    let mut keep = Vec::with_capacity(values.len());
    for (valid, count) in nulls.iter().zip(counts.iter_mut()) {
        keep.extend(std::iter::repeat_n(valid, *count as usize));
        if !valid {
            *count = 0;
        }
    }
    filter(&values, &BooleanArray::from(keep))
}
