//! Fresh columns with the released items alone.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt32Array, new_null_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;
use arrow_select::take::take;
use dpsel_exact::{Error, Result};
use dpsel_rows::ingest::sorted;

use crate::counting::{CountedUsers, ROWS_COLUMN, USERS_COLUMN};
use dpsel_exact::numeric::UNIT;

/// Name of the column of noisy weights.
pub const WEIGHT_COLUMN: &str = "weight";

/// Name of the column that marks public items.
pub const PUBLIC_COLUMN: &str = "public";

/// What is published of each item beside its key, in the order of the items.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    /// The noisy weight in grid steps.
    pub weights: Option<&'a [i64]>,
    /// Its noisy number of users or rows.
    pub numbers: Option<Numbers<'a>>,
}

/// A column of noisy numbers, of users or of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers<'a> {
    name: &'static str,
    values: &'a [i64],
}

impl<'a> Numbers<'a> {
    /// Numbers of users.
    pub(crate) fn of_users(values: &'a [i64]) -> Self {
        Self { name: USERS_COLUMN, values }
    }

    /// The numbers that are asked for, if there are any.
    pub(crate) fn of(asked: Option<&CountedUsers>, values: Option<&'a [i64]>) -> Option<Self> {
        asked.zip(values).map(|(asked, values)| Self { name: asked.column(), values })
    }
}

/// Items that come out in any case, with their noisy numbers if counts are asked for.
#[derive(Debug)]
pub(crate) struct PublicItems {
    /// In the types of the data, which unreleased rows may decide.
    pub items: RecordBatch,
    /// The same, in the types in which they were given where the data declares none.
    pub given: RecordBatch,
    pub numbers: Option<Vec<i64>>,
}

/// The released items together with items that come out in any case, sorted by their own values. A last column says
/// which are public. Public items have no noisy weight.
///
/// # Errors
/// [`Error::Schema`] if no type holds both.
pub(crate) fn with_public(released: &RecordBatch, public: &PublicItems) -> Result<RecordBatch> {
    const FAILED: Error = Error::Internal("public items do not fit beside the released ones");
    let PublicItems { items: public, given, numbers } = public;
    let rows = released.num_rows() + public.num_rows();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (at, field) in released.schema().fields().iter().enumerate() {
        let ours = released.column(at);
        let column = match (public.columns().get(at), numbers) {
            (Some(theirs), _) => joined(ours, (theirs, given.column(at)), field.name())?,
            (None, Some(numbers)) if [USERS_COLUMN, ROWS_COLUMN].contains(&field.name().as_str()) => {
                concat(&[ours, &Int64Array::from(numbers.clone())]).map_err(|_| FAILED)?
            }
            (None, _) => {
                concat(&[ours, &new_null_array(ours.data_type(), public.num_rows())]).map_err(|_| FAILED)?
            }
        };
        fields.push(Field::new(field.name(), column.data_type().clone(), true));
        columns.push(column);
    }
    let items = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(|_| FAILED)?;
    let keys: Vec<usize> = (0..public.num_columns()).collect();
    let (_, order) = sorted(&items.project(&keys).map_err(|_| FAILED)?)?;
    let order = UInt32Array::from(order);
    let taken = items.columns().iter().map(|column| take(column, &order, None).map_err(|_| FAILED));
    let items = RecordBatch::try_new(items.schema(), taken.collect::<Result<_>>()?).map_err(|_| FAILED)?;
    let marks = order.values().iter().map(|row| Some(*row as usize >= released.num_rows()));
    debug_assert_eq!(rows, items.num_rows());
    with_column(&items, PUBLIC_COLUMN, Arc::new(marks.collect::<BooleanArray>()))
}

/// Both columns in one. Where no type is declared, a released value shows the kind of the data, and the public items join it.
/// Without one they come out as they were `given`, since an unreleased row may have decided the kind.
fn joined(released: &ArrayRef, (public, given): (&ArrayRef, &ArrayRef), name: &str) -> Result<ArrayRef> {
    let (ours, theirs) = (released.data_type(), public.data_type());
    let found = if !has_values(public) {
        concat(&[released, &new_null_array(ours, public.len())]).ok()
    } else if !has_values(released) {
        concat(&[&new_null_array(given.data_type(), released.len()), given]).ok()
    } else {
        let both = |to| concat(&[&exactly(released, to)?, &exactly(public, to)?]).ok();
        both(ours).or_else(|| both(theirs))
    };
    found.ok_or_else(|| Error::Schema {
        what: format!("no type holds both the released items and those of public_items= in column '{name}'"),
        fix: "give the data a declared type, for example as a table in place of pairs".into(),
    })
}

/// Whether a column has a value that is not null.
pub(crate) fn has_values(column: &ArrayRef) -> bool {
    column.logical_null_count() < column.len()
}

/// The same values in another type; `None` if it does not hold them all.
pub(crate) fn exactly(column: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    let cast = |column: &ArrayRef, to: &DataType| {
        cast_with_options(column, to, &CastOptions { safe: false, ..CastOptions::default() }).ok()
    };
    let there = cast(column, to)?;
    let is_same = cast(&there, column.data_type()).is_none_or(|back| &back == column);
    is_same.then_some(there)
}

/// Sorts freshly built columns of the released items by their own values (law 5), each with what is published beside it.
///
/// Last columns hold the noisy weights (f64) and the noisy numbers of users or rows (i64), if they were asked for.
pub(crate) fn publish_columns(items: &RecordBatch, beside: Beside<'_>) -> Result<RecordBatch> {
    let (items, order) = sorted(items)?;
    let items = match beside.weights {
        None => items,
        Some(weights) => {
            let weights = order.iter().map(|&i| weights[i as usize] as f64 / UNIT as f64);
            with_column(&items, WEIGHT_COLUMN, Arc::new(Float64Array::from_iter_values(weights)))?
        }
    };
    match beside.numbers {
        None => Ok(items),
        Some(Numbers { name, values }) => {
            let numbers = order.iter().map(|&i| values[i as usize]);
            with_column(&items, name, Arc::new(Int64Array::from_iter_values(numbers)))
        }
    }
}

/// The batch with one more column at its end.
pub(crate) fn with_column(batch: &RecordBatch, name: &str, column: ArrayRef) -> Result<RecordBatch> {
    let field = Field::new(name, column.data_type().clone(), false);
    let fields =
        batch.schema().fields().iter().map(|f| f.as_ref().clone()).chain([field]).collect::<Vec<_>>();
    let columns = batch.columns().iter().cloned().chain([column]).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|_| Error::Internal("the released columns do not fit together"))
}

#[cfg(test)]
mod tests {
    use arrow_array::{LargeStringArray, TimestampMicrosecondArray, TimestampNanosecondArray, UInt64Array};

    use super::*;

    fn texts(values: &[&str]) -> ArrayRef {
        Arc::new(LargeStringArray::from(values.to_vec()))
    }

    fn numbers(values: &[i64]) -> ArrayRef {
        Arc::new(Int64Array::from(values.to_vec()))
    }

    #[test]
    fn public_items_join_released_values_and_otherwise_stay_as_they_were_given() {
        let public = (&numbers(&[9, 10]), &texts(&["9", "10"]));
        assert_eq!(&joined(&numbers(&[5]), public, "i").unwrap(), &numbers(&[5, 9, 10]));
        assert_eq!(&joined(&numbers(&[]), public, "i").unwrap(), public.1);
        let nothing = new_null_array(&DataType::LargeUtf8, 1);
        assert_eq!(joined(&nothing, public, "i").unwrap().data_type(), &DataType::LargeUtf8);
        let (typed, untyped) = (&numbers(&[]), &new_null_array(&DataType::Null, 0));
        assert_eq!(&joined(&texts(&["a"]), (typed, untyped), "i").unwrap(), &texts(&["a"]));
    }

    #[test]
    fn no_value_changes_in_the_common_type() {
        let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1]));
        let nanos: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1]));
        let both: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![1_000, 1]));
        assert_eq!(&joined(&micros, (&nanos, &nanos), "i").unwrap(), &both);
        let large: ArrayRef = Arc::new(UInt64Array::from(vec![1 << 63]));
        let refused = joined(&numbers(&[-1]), (&large, &large), "i").unwrap_err().to_string();
        assert!(refused.contains("no type holds both the released items and those of public_items="));
    }
}
