//! Batches to codes and runs: the hot path between decoding and interning.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::DataType;

use super::coder::Coder;
use super::columns::{Flat, Packed, Values, dictionary_keys, drop_nulls, filter};
use super::composite;
use super::lists::explode;
use super::plan::{Plan, element_type};
use super::text::push_ngrams;
use super::users::UserEncoder;
use crate::contributions::{Code, ItemCode, Payload, UserCode, Worker};
use crate::ingest::NGrams;
use crate::random::{Digest, KeyKind, Purpose, ReleaseKey};
use crate::{Error, Result};

/// Rows encoded at a time: few enough for the second-level cache, enough that each shard of the interner is locked
/// for many.
const ROWS: usize = 8 * 1024;

/// Where encoded rows go: a builder's worker, or a recorder in tests.
pub(super) trait Sink {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()>;
    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()>;
}

impl Sink for Worker<'_> {
    fn intern<C: Code>(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        Worker::intern(self, digests, payload, codes)
    }
    fn push(&mut self, users: &[UserCode], lens: Option<&[u32]>, items: &[ItemCode]) -> Result<()> {
        Worker::push(self, users, lens, items)
    }
}

/// The needed columns of some rows of one source.
#[derive(Debug, Clone)]
pub(super) struct Chunk {
    pub(super) user: ArrayRef,
    pub(super) items: Vec<ArrayRef>,
    /// The file, or "the input".
    pub(super) source: std::sync::Arc<str>,
    /// Position of the first row in its source, from 0.
    pub(super) first_row: u64,
    /// Work that these rows stand for, in the unit of the progress.
    pub(super) work: u64,
}

/// One thread's encoder: gives codes to users and items and passes rows on.
#[derive(Debug)]
pub(super) struct Encoder<S> {
    sink: S,
    users: UserEncoder,
    items: Items,
}

impl<S: Sink> Encoder<S> {
    pub(super) fn new(plan: &Plan, key: &ReleaseKey, sink: S) -> Self {
        Self {
            sink,
            users: UserEncoder::new(plan.user_name(), key),
            items: Items {
                coder: Coder::new(key, Purpose::ItemDigest),
                ngrams: plan.ngrams(),
                codes: Vec::new(),
                counts: Vec::new(),
                packed: Packed::default(),
            },
        }
    }

    /// Encode all rows of a chunk.
    pub(super) fn encode(&mut self, chunk: &Chunk) -> Result<()> {
        let rows = chunk.user.len();
        for start in (0..rows).step_by(ROWS) {
            let length = ROWS.min(rows - start);
            let user = chunk.user.slice(start, length);
            let items: Vec<ArrayRef> = chunk.items.iter().map(|c| c.slice(start, length)).collect();
            let position = (&*chunk.source, chunk.first_row + start as u64);
            self.users.encode(&user, position, &mut self.sink)?;
            let one_each = self.items.encode(&items, &mut self.sink)?;
            let counts = if one_each { None } else { Some(self.items.counts.as_slice()) };
            let (users, lens) = self.users.runs(length, counts)?;
            self.sink.push(users, lens, &self.items.codes)?;
        }
        Ok(())
    }

    /// Give the sink back.
    pub(super) fn into_sink(self) -> S {
        self.sink
    }
}

/// Item columns to codes, with the number of codes of each row.
#[derive(Debug)]
struct Items {
    coder: Coder<ItemCode>,
    ngrams: Option<NGrams>,
    codes: Vec<ItemCode>,
    counts: Vec<u32>,
    packed: Packed,
}

impl Items {
    /// Fill `codes`; true if each row has one code, else `counts` says how many.
    fn encode(&mut self, columns: &[ArrayRef], sink: &mut impl Sink) -> Result<bool> {
        self.codes.clear();
        match columns {
            [column] => self.single(column, sink),
            _ => self.composite(columns, sink),
        }
    }

    fn single(&mut self, column: &ArrayRef, sink: &mut impl Sink) -> Result<bool> {
        let mut column = decode_runs(column)?;
        let mut one_each = true;
        if is_list(column.data_type()) {
            self.counts.clear();
            column = decode_runs(&explode(&column, &mut self.counts)?)?;
            one_each = false;
        }
        let (values, valid) = drop_nulls(&column)?;
        if let Some(valid) = valid {
            self.restrict(&valid, one_each);
            one_each = false;
        }
        match self.ngrams {
            Some(ngrams) if values.data_type() != &DataType::Null => {
                let per_text = self.tokenise(&values, ngrams)?;
                if one_each {
                    self.counts = per_text;
                } else {
                    regroup(&mut self.counts, &per_text);
                }
                self.coder.bytes(KeyKind::Text, &self.packed, sink, &mut self.codes)?;
                Ok(false)
            }
            _ => {
                self.intern_column(&values, sink)?;
                Ok(one_each)
            }
        }
    }

    /// Take null rows out of the counts.
    fn restrict(&mut self, valid: &BooleanArray, one_each: bool) {
        let flags = valid.values().iter().map(u32::from);
        if one_each {
            self.counts.clear();
            self.counts.extend(flags);
        } else {
            regroup(&mut self.counts, &flags.collect::<Vec<_>>());
        }
    }

    fn tokenise(&mut self, texts: &ArrayRef, ngrams: NGrams) -> Result<Vec<u32>> {
        let plain = plain_values(texts)?;
        let mut counts = Vec::with_capacity(plain.len());
        self.packed.clear();
        match &Flat::new(&plain)?.values {
            Values::Small(c) => push_ngrams(c, ngrams, &mut self.packed, &mut counts)?,
            Values::Large(c) => push_ngrams(c, ngrams, &mut self.packed, &mut counts)?,
            Values::Views(c) => push_ngrams(c, ngrams, &mut self.packed, &mut counts)?,
            _ => return Err(Error::Internal("n-grams of a column that is not text")),
        }
        Ok(counts)
    }

    /// A row with a null in any component is dropped.
    fn composite(&mut self, columns: &[ArrayRef], sink: &mut impl Sink) -> Result<bool> {
        let columns: Vec<ArrayRef> = columns.iter().map(decode_runs).collect::<Result<_>>()?;
        let nulls = columns.iter().fold(None, |all, column| {
            arrow_buffer::NullBuffer::union(all.as_ref(), column.logical_nulls().as_ref())
        });
        let valid = nulls.filter(|n| n.null_count() > 0).map(|n| BooleanArray::new(n.inner().clone(), None));
        let mut flats = Vec::with_capacity(columns.len());
        for column in &columns {
            let kept = match &valid {
                Some(valid) => filter(column, valid)?,
                None => ArrayRef::clone(column),
            };
            flats.push(Flat::new(&plain_values(&kept)?)?);
        }
        let rows = match (&valid, columns.first()) {
            (Some(valid), _) => valid.true_count(),
            (None, Some(first)) => first.len(),
            (None, None) => 0,
        };
        self.packed.clear();
        composite::encode(&flats, rows, &mut self.packed);
        self.coder.bytes(KeyKind::Composite, &self.packed, sink, &mut self.codes)?;
        if let Some(valid) = &valid {
            self.restrict(valid, true);
        }
        Ok(valid.is_none())
    }

    fn intern_column(&mut self, column: &ArrayRef, sink: &mut impl Sink) -> Result<()> {
        match dictionary_keys(column) {
            Some((keys, values)) => self.coder.dictionary(&keys, values, sink, &mut self.codes),
            None => self.coder.flat(&Flat::new(column)?, sink, &mut self.codes),
        }
    }
}

fn is_list(data_type: &DataType) -> bool {
    element_type(data_type).is_some()
}

/// Replace run-end encodings (and dictionaries of anything but plain values) by plain columns.
pub(super) fn decode_runs(column: &ArrayRef) -> Result<ArrayRef> {
    const FAILED: Error = Error::Internal("a run-end encoded column cannot be decoded");
    match column.data_type() {
        DataType::RunEndEncoded(_, values) => {
            let plain = arrow_cast::cast(column, values.data_type()).map_err(|_| FAILED)?;
            decode_runs(&plain)
        }
        DataType::Dictionary(_, values)
            if values.is_nested() || matches!(**values, DataType::Dictionary(..)) =>
        {
            let keys = column.as_any_dictionary();
            let plain = arrow_select::take::take(keys.values(), keys.keys(), None).map_err(|_| FAILED)?;
            decode_runs(&plain)
        }
        _ => Ok(ArrayRef::clone(column)),
    }
}

/// A dictionary column spelled out; other columns as they are.
pub(super) fn plain_values(column: &ArrayRef) -> Result<ArrayRef> {
    match column.as_any_dictionary_opt() {
        Some(dictionary) => arrow_select::take::take(dictionary.values(), dictionary.keys(), None)
            .map_err(|_| Error::Internal("values of a dictionary cannot be taken")),
        None => Ok(ArrayRef::clone(column)),
    }
}

/// `outer[i]` elements belong to row i and `inner[j]` codes to element j: codes per row.
fn regroup(outer: &mut [u32], inner: &[u32]) {
    let mut inner = inner.iter();
    for count in outer {
        let elements = *count as usize;
        *count = inner.by_ref().take(elements).fold(0, |sum, n| sum.saturating_add(*n));
    }
}
