//! Batches to digests, codes and runs: the hot path between decoding and interning.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow_schema::DataType;

use super::columns::{
    ByteColumn, BytePayload, Flat, Packed, Values, WordPayload, dictionary_keys, drop_nulls, filter,
};
use super::composite;
use super::lists::explode;
use super::plan::{Plan, element_type};
use super::text::push_ngrams;
use super::users::UserEncoder;
use crate::contributions::{ItemCode, Payload, UserRun, Worker};
use crate::random::{Digest, DigestBatch, Digester, KeyKind, Purpose, ReleaseKey};
use crate::request::NGrams;
use crate::{Error, Result};

/// Rows encoded at a time: few enough for the cache, enough that each shard of the interner is locked for many.
const ROWS: usize = 32 * 1024;

/// Where encoded rows go: a builder's worker, or a recorder in tests.
pub(super) trait Sink {
    fn intern(&mut self, digests: &[Digest], payload: &impl Payload, codes: &mut Vec<ItemCode>)
    -> Result<()>;
    fn push(&mut self, runs: &[UserRun], codes: &[ItemCode]) -> Result<()>;
}

impl Sink for Worker<'_> {
    fn intern(
        &mut self,
        digests: &[Digest],
        payload: &impl Payload,
        codes: &mut Vec<ItemCode>,
    ) -> Result<()> {
        Worker::intern(self, digests, payload, codes)
    }
    fn push(&mut self, runs: &[UserRun], codes: &[ItemCode]) -> Result<()> {
        Worker::push(self, runs, codes)
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

/// One thread's encoder: digests keys, interns items, and passes rows on.
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
                digester: Digester::new(key, Purpose::ItemDigest),
                ngrams: plan.ngrams(),
                digests: Vec::new(),
                batch: DigestBatch::default(),
                codes: Vec::new(),
                counts: Vec::new(),
                packed: Packed::default(),
                dictionary: None,
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
            self.users.encode(&user, &chunk.source, chunk.first_row + start as u64)?;
            let one_each = self.items.encode(&items, &mut self.sink)?;
            let counts = if one_each { None } else { Some(self.items.counts.as_slice()) };
            let runs = self.users.runs(length, counts)?;
            self.sink.push(runs, &self.items.codes)?;
        }
        Ok(())
    }

    /// Give the sink back.
    #[cfg(test)]
    pub(super) fn into_sink(self) -> S {
        self.sink
    }
}

/// Item columns to codes, with the number of codes of each row.
#[derive(Debug)]
struct Items {
    digester: Digester,
    ngrams: Option<NGrams>,
    digests: Vec<Digest>,
    batch: DigestBatch,
    codes: Vec<ItemCode>,
    counts: Vec<u32>,
    packed: Packed,
    dictionary: Option<CachedDictionary>,
}

/// Codes of the values of the dictionary seen last; batches of one file or one table often share it.
#[derive(Debug)]
struct CachedDictionary {
    values: ArrayRef,
    codes: Vec<Option<ItemCode>>,
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
                self.intern_packed(KeyKind::Text, sink)?;
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
            Values::Small(c) => push_ngrams(c, ngrams, &mut self.packed, &mut counts),
            Values::Large(c) => push_ngrams(c, ngrams, &mut self.packed, &mut counts),
            Values::Views(c) => push_ngrams(c, ngrams, &mut self.packed, &mut counts),
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
        self.intern_packed(KeyKind::Composite, sink)?;
        if let Some(valid) = &valid {
            self.restrict(valid, true);
        }
        Ok(valid.is_none())
    }

    fn intern_column(&mut self, column: &ArrayRef, sink: &mut impl Sink) -> Result<()> {
        match dictionary_keys(column) {
            Some((keys, values)) => self.intern_dictionary(&keys, values, sink),
            None => self.intern_flat(&Flat::new(column)?, sink),
        }
    }

    /// Intern the dictionary values that these rows use and were not seen in it before, then map the keys.
    ///
    /// Unused values are left alone: they are not items of anybody.
    fn intern_dictionary(&mut self, keys: &[u32], values: ArrayRef, sink: &mut impl Sink) -> Result<()> {
        const OUTSIDE: Error = Error::Internal("a dictionary key lies outside its dictionary");
        let mut cached = match self.dictionary.take() {
            Some(cached) if std::sync::Arc::ptr_eq(&cached.values, &values) => cached,
            _ => CachedDictionary { codes: vec![None; values.len()], values },
        };
        let known = self.codes.len();
        let mut fresh = Vec::new();
        for &key in keys {
            let code = cached.codes.get_mut(key as usize).ok_or(OUTSIDE)?;
            if code.is_none() {
                *code = Some(ItemCode::default());
                fresh.push(key);
            }
        }
        if !fresh.is_empty() {
            let fresh = UInt32Array::from(fresh);
            let new_values = arrow_select::take::take(&cached.values, &fresh, None)
                .map_err(|_| Error::Internal("values of a dictionary cannot be taken"))?;
            self.intern_column(&new_values, sink)?;
            for (&key, &code) in fresh.values().iter().zip(&self.codes[known..]) {
                cached.codes[key as usize] = Some(code);
            }
            self.codes.truncate(known);
        }
        self.codes.extend(keys.iter().map(|&key| cached.codes[key as usize].unwrap_or_default()));
        self.dictionary = Some(cached);
        Ok(())
    }

    fn intern_flat(&mut self, column: &Flat, sink: &mut impl Sink) -> Result<()> {
        self.digests.clear();
        match &column.values {
            Values::Words(words) => {
                digest_words(&self.digester, column.kind, words, &mut self.digests);
                sink.intern(&self.digests, &WordPayload(&words.values), &mut self.codes)
            }
            Values::Small(c) => self.intern_bytes(column.kind, c, sink),
            Values::Large(c) => self.intern_bytes(column.kind, c, sink),
            Values::Views(c) => self.intern_bytes(column.kind, c, sink),
            Values::Fixed(c) => self.intern_bytes(column.kind, c, sink),
        }
    }

    fn intern_packed(&mut self, kind: KeyKind, sink: &mut impl Sink) -> Result<()> {
        let packed = std::mem::take(&mut self.packed);
        self.digests.clear();
        let done = self.intern_bytes(kind, &packed, sink);
        self.packed = packed;
        done
    }

    fn intern_bytes<C: ByteColumn>(&mut self, kind: KeyKind, column: &C, sink: &mut impl Sink) -> Result<()> {
        let values = (0..column.rows()).map(|row| column.get(row));
        self.digester.bytes(kind, values, &mut self.batch, &mut self.digests);
        sink.intern(&self.digests, &BytePayload(column), &mut self.codes)
    }
}

/// Digests of a words column, appended to `out`; one loop per representation.
pub(super) fn digest_words(
    digester: &Digester,
    kind: KeyKind,
    words: &super::columns::Words,
    out: &mut Vec<Digest>,
) {
    let values = words.values.iter().copied();
    match (words.signed, words.scale) {
        (true, 1) => digester.integers(kind, values.map(|w| i128::from(w.cast_signed())), out),
        (true, _) => digester.integers(kind, values.map(|w| words.canonical(w)), out),
        (false, _) => digester.integers(kind, values.map(i128::from), out),
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
