//! Keys to codes: frequent keys are known by their canonical block, only the others are digested and interned.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};

use super::columns::{ByteColumn, BytePayload, Flat, Values, WordPayload, Words};
use super::encode::{Sink, decode_runs};
use super::frequent::FrequentKeys;
use crate::contributions::{Code, KeyStore, Payload};
use crate::random::{Block, Digest, DigestBatch, Digester, KeyKind, Purpose, ReleaseKey};
use crate::{Error, Result};

/// Batches of fewer rows are coded without a table of frequent keys.
const SMALL: usize = 1024;

/// One thread's way from the keys of users or of items to codes.
#[derive(Debug)]
pub(super) struct Coder<C> {
    digester: Digester,
    batch: DigestBatch,
    frequent: Option<FrequentKeys<C>>,
    dictionary: Option<CachedDictionary<C>>,
    /// How many keys of the batch were not among the frequent ones. Their rows, blocks, digests and codes follow; rows
    /// and blocks have room for more.
    others: usize,
    rows: Vec<u32>,
    blocks: Vec<Block>,
    digests: Vec<Digest>,
    codes: Vec<C>,
}

/// Codes of the values of the dictionary seen last; batches of one file or one table often share it.
#[derive(Debug)]
struct CachedDictionary<C> {
    values: ArrayRef,
    codes: Vec<Option<C>>,
}

/// The payload of some rows of a batch.
struct Rows<'a, P> {
    payload: P,
    rows: &'a [u32],
}

impl<P: Payload> Payload for Rows<'_, P> {
    #[inline]
    fn append_to(&self, row: usize, store: &mut KeyStore) {
        self.payload.append_to(self.rows[row] as usize, store);
    }
}

impl<C: Code> Coder<C> {
    pub(super) fn new(key: &ReleaseKey, purpose: Purpose) -> Self {
        Self {
            digester: Digester::new(key, purpose),
            batch: DigestBatch::default(),
            frequent: None,
            dictionary: None,
            others: 0,
            rows: Vec::new(),
            blocks: Vec::new(),
            digests: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// Append the codes of all rows of a column.
    pub(super) fn flat(&mut self, column: &Flat, sink: &mut impl Sink, codes: &mut Vec<C>) -> Result<()> {
        match &column.values {
            Values::Words(words) => self.words(column.kind, words, sink, codes),
            Values::Small(c) => self.bytes(column.kind, c, sink, codes),
            Values::Large(c) => self.bytes(column.kind, c, sink, codes),
            Values::Views(c) => self.bytes(column.kind, c, sink, codes),
            Values::Fixed(c) => self.bytes(column.kind, c, sink, codes),
        }
    }

    /// Append the codes of integer-like values; one loop per representation.
    pub(super) fn words(
        &mut self,
        kind: KeyKind,
        words: &Words,
        sink: &mut impl Sink,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        let (first, values) = (codes.len(), words.values.iter().copied());
        match (words.signed, words.scale) {
            (true, 1) => {
                self.look_up(values.map(|w| Block::integer(kind, i128::from(w.cast_signed()))), codes);
            }
            (true, _) => self.look_up(values.map(|w| Block::integer(kind, words.canonical(w))), codes),
            (false, _) => self.look_up(values.map(|w| Block::integer(kind, i128::from(w))), codes),
        }
        self.digests.clear();
        self.digester.blocks(&self.blocks[..self.others], &mut self.digests);
        self.intern_others(WordPayload(&words.values), sink, &mut codes[first..])
    }

    /// Append the codes of byte strings.
    pub(super) fn bytes<B: ByteColumn>(
        &mut self,
        kind: KeyKind,
        column: &B,
        sink: &mut impl Sink,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        let first = codes.len();
        self.look_up((0..column.rows()).map(|row| column.block(kind, row)), codes);
        self.digests.clear();
        if self.blocks[..self.others].contains(&Block::LONG) {
            let values = self.rows[..self.others].iter().map(|row| column.get(*row as usize));
            self.digester.bytes(kind, values, &mut self.batch, &mut self.digests);
        } else {
            self.digester.blocks(&self.blocks[..self.others], &mut self.digests);
        }
        self.intern_others(BytePayload(column), sink, &mut codes[first..])
    }

    /// Append the codes of the frequent keys (and something for the others, whose rows and blocks are kept).
    ///
    /// Whether a key is frequent is as good as random, so there is no branch on it.
    fn look_up(&mut self, blocks: impl ExactSizeIterator<Item = Block>, codes: &mut Vec<C>) {
        let count = blocks.len();
        if self.frequent.is_none() && count >= SMALL {
            self.frequent = FrequentKeys::new();
        }
        if self.rows.len() < count {
            self.rows.resize(count, 0);
            self.blocks.resize(count, Block::NONE);
        }
        let mut others = 0;
        codes.extend((0_u32..).zip(blocks).map(|(row, block)| {
            let (known, code) = self.frequent.as_ref().map_or((false, C::default()), |f| f.get(block));
            (self.rows[others], self.blocks[others]) = (row, block);
            others += usize::from(!known);
            code
        }));
        self.others = others;
    }

    /// Intern the keys that were not among the frequent ones and put their codes where they belong.
    fn intern_others(&mut self, payload: impl Payload, sink: &mut impl Sink, codes: &mut [C]) -> Result<()> {
        self.codes.clear();
        sink.intern(&self.digests, &Rows { payload, rows: &self.rows[..self.others] }, &mut self.codes)?;
        for (row, code) in self.rows.iter().zip(&self.codes) {
            codes[*row as usize] = *code;
        }
        if let Some(frequent) = &mut self.frequent {
            for (block, code) in self.blocks.iter().zip(&self.codes) {
                frequent.put(*block, *code);
            }
        }
        Ok(())
    }

    /// Append the codes of the values that `keys` name in a dictionary.
    ///
    /// Values that no key names are left alone: they are not items of anybody.
    pub(super) fn dictionary(
        &mut self,
        keys: &[u32],
        values: ArrayRef,
        sink: &mut impl Sink,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        const OUTSIDE: Error = Error::Internal("a dictionary key lies outside its dictionary");
        let mut cached = match self.dictionary.take() {
            Some(cached) if Arc::ptr_eq(&cached.values, &values) => cached,
            _ => CachedDictionary { codes: vec![None; values.len()], values },
        };
        let mut fresh = Vec::new();
        for &key in keys {
            let code = cached.codes.get_mut(key as usize).ok_or(OUTSIDE)?;
            if code.is_none() {
                *code = Some(C::default());
                fresh.push(key);
            }
        }
        if !fresh.is_empty() {
            self.add_values(&mut cached, fresh, sink)?;
        }
        codes.extend(keys.iter().map(|&key| cached.codes[key as usize].unwrap_or_default()));
        self.dictionary = Some(cached);
        Ok(())
    }

    /// Code the dictionary values at positions `fresh`.
    fn add_values(
        &mut self,
        cached: &mut CachedDictionary<C>,
        fresh: Vec<u32>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let fresh = UInt32Array::from(fresh);
        let values = arrow_select::take::take(&cached.values, &fresh, None)
            .map_err(|_| Error::Internal("values of a dictionary cannot be taken"))?;
        let mut codes = Vec::with_capacity(fresh.len());
        self.flat(&Flat::new(&decode_runs(&values)?)?, sink, &mut codes)?;
        for (&key, &code) in fresh.values().iter().zip(&codes) {
            cached.codes[key as usize] = Some(code);
        }
        Ok(())
    }
}
