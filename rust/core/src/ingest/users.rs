//! User columns to runs of consecutive rows with their users' digests.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_buffer::ScalarBuffer;

use super::columns::{ByteColumn, Flat, Values, Words, dictionary_keys};
use super::encode::{decode_runs, digest_words};
use crate::contributions::UserRun;
use crate::random::{Digest, DigestBatch, Digester, KeyKind, Purpose, ReleaseKey};
use crate::{Error, Result};

/// One thread's state: neighbouring rows are compared first and only the starts of runs are digested.
#[derive(Debug)]
pub(super) struct UserEncoder {
    name: String,
    digester: Digester,
    batch: DigestBatch,
    starts: Vec<u32>,
    digests: Vec<Digest>,
    dictionary: Option<CachedDictionary>,
    runs: Vec<UserRun>,
}

/// Digests of the values of the dictionary seen last.
#[derive(Debug)]
struct CachedDictionary {
    values: ArrayRef,
    digests: Vec<Option<Digest>>,
}

impl UserEncoder {
    pub(super) fn new(name: &str, key: &ReleaseKey) -> Self {
        Self {
            name: name.to_owned(),
            digester: Digester::new(key, Purpose::UserDigest),
            batch: DigestBatch::default(),
            starts: Vec::new(),
            digests: Vec::new(),
            dictionary: None,
            runs: Vec::new(),
        }
    }

    /// Find the runs of one slice of a user column and digest their users.
    ///
    /// # Errors
    /// [`Error::Data`] naming column and row for a null.
    pub(super) fn encode(&mut self, column: &ArrayRef, source: &str, first_row: u64) -> Result<()> {
        let column = decode_runs(column)?;
        if let Some(at) = first_null(&column) {
            return Err(Error::Data {
                source_name: source.to_owned(),
                what: format!("user column '{}' is null in row {}", self.name, first_row + at as u64 + 1),
                fix: "every row must name its user; drop these rows or fill in the user before the call",
            });
        }
        self.starts.clear();
        self.digests.clear();
        if let Some((keys, values)) = dictionary_keys(&column) {
            return self.dictionary(&keys, values);
        }
        self.flat(&Flat::new(&column)?);
        Ok(())
    }

    /// The runs of the slice encoded last; `counts` says how many codes each row has (one if absent).
    pub(super) fn runs(&mut self, rows: usize, counts: Option<&[u32]>) -> Result<&[UserRun]> {
        const LIMIT: Error =
            Error::Capacity { what: "items in consecutive rows of one user", limit: u32::MAX as u64 };
        self.runs.clear();
        let ends = self.starts.iter().skip(1).map(|&s| s as usize).chain([rows]);
        for ((&start, end), &user) in self.starts.iter().zip(ends).zip(&self.digests) {
            let start = start as usize;
            let total = match counts {
                None => (end - start) as u64,
                Some(counts) => counts[start..end].iter().map(|&n| u64::from(n)).sum(),
            };
            self.runs.push(UserRun { user, rows: u32::try_from(total).map_err(|_| LIMIT)? });
        }
        Ok(&self.runs)
    }

    fn flat(&mut self, column: &Flat) {
        match &column.values {
            Values::Words(words) => {
                word_starts(&words.values, &mut self.starts);
                let at_starts = self.starts.iter().map(|&at| words.values[at as usize]).collect();
                let at_starts = Words { values: at_starts, ..words.clone() };
                digest_words(&self.digester, column.kind, &at_starts, &mut self.digests);
            }
            Values::Small(c) => self.bytes(column.kind, c),
            Values::Large(c) => self.bytes(column.kind, c),
            Values::Views(c) => self.bytes(column.kind, c),
            Values::Fixed(c) => self.bytes(column.kind, c),
        }
    }

    fn bytes(&mut self, kind: KeyKind, column: &impl ByteColumn) {
        for (at, row) in (0_u32..).zip(0..column.rows()) {
            if row == 0 || !column.same(row - 1, row) {
                self.starts.push(at);
            }
        }
        let values = self.starts.iter().map(|&at| column.get(at as usize));
        self.digester.bytes(kind, values, &mut self.batch, &mut self.digests);
    }

    fn dictionary(&mut self, keys: &ScalarBuffer<u32>, values: ArrayRef) -> Result<()> {
        const OUTSIDE: Error = Error::Internal("a dictionary key lies outside its dictionary");
        word_starts(keys, &mut self.starts);
        let mut cached = match self.dictionary.take() {
            Some(cached) if Arc::ptr_eq(&cached.values, &values) => cached,
            _ => CachedDictionary { digests: vec![None; values.len()], values },
        };
        let mut fresh = Vec::new();
        for &start in &self.starts {
            let key = keys[start as usize];
            let digest = cached.digests.get_mut(key as usize).ok_or(OUTSIDE)?;
            if digest.is_none() {
                *digest = Some(Digest::default());
                fresh.push(key);
            }
        }
        if !fresh.is_empty() {
            self.digest_values(&mut cached, fresh)?;
        }
        self.digests.clear();
        let found = self.starts.iter().map(|&at| cached.digests[keys[at as usize] as usize]);
        self.digests.extend(found.map(Option::unwrap_or_default));
        self.dictionary = Some(cached);
        Ok(())
    }

    /// Digest the dictionary values at positions `fresh`.
    fn digest_values(&mut self, cached: &mut CachedDictionary, fresh: Vec<u32>) -> Result<()> {
        let fresh = UInt32Array::from(fresh);
        let values = arrow_select::take::take(&cached.values, &fresh, None)
            .map_err(|_| Error::Internal("values of a dictionary cannot be taken"))?;
        let flat = Flat::new(&decode_runs(&values)?)?;
        let (digester, batch, out) = (&self.digester, &mut self.batch, &mut self.digests);
        match &flat.values {
            Values::Words(words) => digest_words(digester, flat.kind, words, out),
            Values::Small(c) => digester.bytes(flat.kind, (0..c.rows()).map(|r| c.get(r)), batch, out),
            Values::Large(c) => digester.bytes(flat.kind, (0..c.rows()).map(|r| c.get(r)), batch, out),
            Values::Views(c) => digester.bytes(flat.kind, (0..c.rows()).map(|r| c.get(r)), batch, out),
            Values::Fixed(c) => digester.bytes(flat.kind, (0..c.rows()).map(|r| c.get(r)), batch, out),
        }
        for (&key, &digest) in fresh.values().iter().zip(self.digests.iter()) {
            cached.digests[key as usize] = Some(digest);
        }
        Ok(())
    }
}

fn first_null(column: &ArrayRef) -> Option<usize> {
    let nulls = column.logical_nulls().filter(|n| n.null_count() > 0)?;
    nulls.iter().position(|valid| !valid)
}

/// Rows where the value differs from the row before.
fn word_starts<T: PartialEq>(words: &[T], starts: &mut Vec<u32>) {
    if words.is_empty() {
        return;
    }
    starts.push(0);
    for (at, pair) in (1_u32..).zip(words.windows(2)) {
        if pair[0] != pair[1] {
            starts.push(at);
        }
    }
}
