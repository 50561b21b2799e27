//! One column of Python values on its way to Arrow: its kind is fixed by its first value.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Date32Builder, Int64Builder, LargeBinaryBuilder, LargeStringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::{Array, ArrayRef, NullArray};
use arrow_schema::Field;
use dpsel_exact::Error;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::dates_and_times;
use crate::error::{internal, to_python};
use crate::kinds::{Reader, Readers, read};
use crate::scalar::{Kind, Refusal, Scalar};

enum Builder {
    Bool(BooleanBuilder),
    Int(Int64Builder),
    Text(LargeStringBuilder),
    Bytes(LargeBinaryBuilder),
    Date(Date32Builder),
    Datetime(TimestampMicrosecondBuilder),
}

/// A named column under construction.
pub(crate) struct Column {
    name: String,
    /// The argument that its values are given in, if they are not rows of the data.
    argument: Option<&'static str>,
    typed: Option<(Kind, Builder)>,
    /// Nulls before the first value.
    nulls: usize,
    /// Whether a float that is no number is a missing value, as in pandas.
    nan_is_missing: bool,
    readers: Readers,
}

impl Column {
    /// A column whose kind is not yet known.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            argument: None,
            typed: None,
            nulls: 0,
            nan_is_missing: false,
            readers: Readers::default(),
        }
    }

    /// A column of a public list, which errors name.
    pub(crate) fn of_argument(name: &str, argument: &'static str) -> Self {
        Self { argument: Some(argument), ..Self::new(name) }
    }

    /// The same, for the missing values of pandas.
    pub(crate) fn of_pandas(name: &str) -> Self {
        Self { nan_is_missing: true, ..Self::new(name) }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The elements of a value that is a list, a set, or an array of one dimension.
    pub(crate) fn elements<'py>(
        &mut self,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyIterator>>> {
        let are_there = match self.readers.of(value)? {
            Reader::Collection => true,
            Reader::Array => value.getattr("ndim")?.extract::<usize>()? == 1,
            _ => false,
        };
        are_there.then(|| value.try_iter()).transpose()
    }

    /// Whether an object stands for no value.
    pub(crate) fn is_missing(&mut self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self.readers.of(value)? {
            Reader::Missing => Ok(true),
            Reader::Count => dates_and_times::is_missing(value),
            Reader::Float if self.nan_is_missing => value.ne(value),
            _ => Ok(false),
        }
    }

    /// Append a value that is not missing.
    pub(crate) fn push(&mut self, value: &Bound<'_, PyAny>, position: u64) -> PyResult<()> {
        let scalar = read(self.readers.of(value)?, value);
        scalar.and_then(|scalar| self.append(scalar)).map_err(|refusal| self.refuse(value, refusal, position))
    }

    /// Whether a value came, which fixes the type.
    pub(crate) fn has_type(&self) -> bool {
        self.typed.is_some()
    }

    /// Append a null.
    pub(crate) fn push_null(&mut self) {
        match &mut self.typed {
            None => self.nulls += 1,
            Some((_, Builder::Bool(builder))) => builder.append_null(),
            Some((_, Builder::Int(builder))) => builder.append_null(),
            Some((_, Builder::Text(builder))) => builder.append_null(),
            Some((_, Builder::Bytes(builder))) => builder.append_null(),
            Some((_, Builder::Date(builder))) => builder.append_null(),
            Some((_, Builder::Datetime(builder))) => builder.append_null(),
        }
    }

    /// The field and the array of what was appended since the last call.
    pub(crate) fn finish(&mut self) -> (Field, ArrayRef) {
        let array: ArrayRef = match &mut self.typed {
            // No value, so no kind: it goes with every other.
            None => Arc::new(NullArray::new(std::mem::take(&mut self.nulls))),
            Some((_, Builder::Bool(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Int(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Text(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Bytes(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Date(builder))) => Arc::new(builder.finish()),
            Some((_, Builder::Datetime(builder))) => Arc::new(builder.finish()),
        };
        (Field::new(&self.name, array.data_type().clone(), array.is_nullable()), array)
    }

    fn append(&mut self, scalar: Scalar<'_>) -> Result<(), Refusal> {
        let kind = scalar.kind();
        let nulls = std::mem::take(&mut self.nulls);
        let (before, builder) = self.typed.get_or_insert_with(|| (kind, new_builder(kind, nulls)));
        match (builder, scalar) {
            (Builder::Bool(builder), Scalar::Bool(value)) => builder.append_value(value),
            (Builder::Int(builder), Scalar::Int(value)) => builder.append_value(value),
            (Builder::Text(builder), Scalar::Text(value)) => builder.append_value(value),
            (Builder::Bytes(builder), Scalar::Bytes(value)) => builder.append_value(value),
            (Builder::Date(builder), Scalar::Date(value)) => builder.append_value(value),
            (Builder::Datetime(builder), Scalar::Datetime(value) | Scalar::Instant(value))
                if *before == kind =>
            {
                builder.append_value(value);
            }
            _ => return Err(Refusal::Mixed { kind, before: *before }),
        }
        Ok(())
    }

    fn refuse(&self, value: &Bound<'_, PyAny>, refusal: Refusal, position: u64) -> PyErr {
        let Ok(class) = value.get_type().name() else {
            return internal("a type has no name");
        };
        let what = match refusal {
            Refusal::Mixed { kind, before } => {
                let (kind, before) = (with_article(kind.name()), with_article(before.name()));
                format!("{kind} at position {position}, but {before} before")
            }
            Refusal::Range(kind) => {
                format!("{} outside the supported range at position {position}", with_article(kind.name()))
            }
            Refusal::Text => format!("text that is not valid Unicode at position {position}"),
            Refusal::Precision => format!("a time with nanoseconds at position {position}"),
            Refusal::Unit | Refusal::Zone | Refusal::Float | Refusal::Type => {
                format!("{} at position {position}", with_article(&class.to_string()))
            }
        };
        let what = match self.argument {
            None => format!("column '{}' holds {what}", self.name),
            Some(argument) => format!("{argument} holds {what}, for column '{}'", self.name),
        };
        to_python(Error::Schema { what, fix: fix(refusal).into() })
    }
}

/// A word with its article.
fn with_article(name: &str) -> String {
    let article = if name.to_ascii_lowercase().starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {name}")
}

fn fix(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Mixed { .. } => "give every value of a column the same type",
        Refusal::Range(_) => {
            "integers must fit 64 bits with sign, years must be from 1 to 9999; give others as str"
        }
        Refusal::Text => "replace lone surrogates, or give the bytes",
        Refusal::Precision => {
            "Python's datetimes count microseconds: give the nanoseconds as int, or a table whose column has a type \
             of nanoseconds, such as datetime64[ns]"
        }
        Refusal::Unit => "a month or a year is no day; give a date, a datetime or an int",
        Refusal::Zone => "its time zone gives no offset from UTC; give one that does, or none",
        Refusal::Float => "equal-looking floats can differ in a bit; round to int or format as str first",
        Refusal::Type => {
            "use int, str, bytes, bool, date or datetime; str() or int() make one of most others"
        }
    }
}

fn new_builder(kind: Kind, nulls: usize) -> Builder {
    macro_rules! after_nulls {
        ($builder:expr) => {{
            let mut builder = $builder;
            (0..nulls).for_each(|_| builder.append_null());
            builder
        }};
    }
    match kind {
        Kind::Bool => Builder::Bool(after_nulls!(BooleanBuilder::new())),
        Kind::Int => Builder::Int(after_nulls!(Int64Builder::new())),
        Kind::Text => Builder::Text(after_nulls!(LargeStringBuilder::new())),
        Kind::Bytes => Builder::Bytes(after_nulls!(LargeBinaryBuilder::new())),
        Kind::Date => Builder::Date(after_nulls!(Date32Builder::new())),
        Kind::Datetime => Builder::Datetime(after_nulls!(TimestampMicrosecondBuilder::new())),
        Kind::Instant => {
            Builder::Datetime(after_nulls!(TimestampMicrosecondBuilder::new().with_timezone("UTC")))
        }
    }
}
