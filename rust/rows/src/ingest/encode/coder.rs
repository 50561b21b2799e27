//! Keys to codes. Codes of frequent keys are looked up by canonical block. Only the other keys are digested and
//! interned.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use dpsel_exact::random::{Block, Digest, DigestBatch, Digester, KeyKind, Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::frequent::{FrequentKeys, SmallIntegers};
use super::own_codes::OwnCodes;
use super::payload::{BytePayload, NoPayload};
use super::sink::{Codes, Sink};
use crate::ingest::columns::{ByteColumn, Flat, IntegerValues, Values, decode_runs};
use crate::ingest::items::{Code, KeyStore, Payload};

/// Batches with fewer rows are coded without a table of frequent keys.
const SMALL: usize = 1024;

/// Rows that are skipped together if all their codes are known.
const KNOWN: usize = 64;

/// One thread's coder for the keys of users or of items.
#[derive(Debug)]
pub(super) struct Coder<C> {
    digester: Digester,
    batch: DigestBatch,
    small: SmallIntegers,
    numbers: Vec<u32>,
    frequent: Option<FrequentKeys<C>>,
    dictionary: Option<CachedDictionary<C>>,
    /// Whether codes are good for later steps, so that they are worth a table.
    remembers: bool,
    /// Number of keys of the batch whose codes are not known yet. The vectors below hold their rows, blocks, digests
    /// and codes. `rows` and `blocks` may be longer than this number.
    unknown: usize,
    rows: Vec<u32>,
    blocks: Vec<Block>,
    digests: Vec<Digest>,
    codes: Vec<C>,
}

/// Codes of the values of the last dictionary. Batches of one file or one table often share a dictionary.
#[derive(Debug)]
struct CachedDictionary<C> {
    values: ArrayRef,
    codes: Vec<Option<C>>,
    /// The values that have one.
    coded: Vec<u32>,
}

/// The payload of some rows of a batch.
struct PayloadRows<'a, P> {
    payload: P,
    rows: &'a [u32],
}

impl<P: Payload> Payload for PayloadRows<'_, P> {
    #[inline]
    fn append_to(&self, rows: impl ExactSizeIterator<Item = usize> + Clone, store: &mut KeyStore) {
        self.payload.append_to(rows.map(|row| self.rows[row] as usize), store);
    }
}

impl<C: Code> Coder<C> {
    pub(super) fn new(key: &ReleaseKey, purpose: Purpose) -> Self {
        Self {
            digester: Digester::new(key, purpose),
            batch: DigestBatch::default(),
            small: SmallIntegers::default(),
            numbers: Vec::new(),
            frequent: None,
            dictionary: None,
            remembers: true,
            unknown: 0,
            rows: Vec::new(),
            blocks: Vec::new(),
            digests: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// The codes of the next step are good for so long. Void ones are forgotten.
    pub(super) fn expect(&mut self, codes: Codes) {
        if codes == Codes::Kept {
            return;
        }
        self.remembers = codes == Codes::Void;
        self.small = SmallIntegers::default();
        self.frequent = None;
        if let Some(CachedDictionary { codes, coded, .. }) = &mut self.dictionary {
            coded.drain(..).for_each(|value| codes[value as usize] = None);
        }
    }

    /// Append the codes of all rows of a column.
    pub(super) fn flat(&mut self, column: &Flat, sink: &mut impl Sink, codes: &mut Vec<C>) -> Result<()> {
        match &column.values {
            Values::Integers(words) => self.words(column.kind, words, sink, codes),
            Values::Small(c) => self.bytes(column.kind, c, sink, codes),
            Values::Large(c) => self.bytes(column.kind, c, sink, codes),
            Values::Views(c) => self.bytes(column.kind, c, sink, codes),
            Values::Fixed(c) => self.bytes(column.kind, c, sink, codes),
        }
    }

    /// Append the codes of integer-like values.
    pub(super) fn words(
        &mut self,
        kind: KeyKind,
        words: &IntegerValues,
        sink: &mut impl Sink,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        let (first, values) = (codes.len(), &words.values);
        self.start(values.len());
        let are_own = kind == KeyKind::Integer && words.scale == 1;
        let own = if are_own { sink.own_codes::<C>(values)? } else { None };
        let is_small = own.is_none() && words.scale == 1 && self.remembers;
        if let Some(own) = own {
            self.unknown = own.code(values, codes, &mut self.rows);
        }
        codes.resize(first + values.len(), C::default());
        let codes = &mut codes[first..];
        if is_small {
            self.look_up_small(kind, values, codes);
        } else if own.is_none() {
            self.all_rows(values.len());
        }
        let first = own.map_or(0, OwnCodes::below);
        self.look_up(|row| Block::integer(kind, words.canonical(values[row])), codes);
        self.digests.clear();
        self.digester.blocks(self.blocks[..self.unknown].iter().copied(), &mut self.digests);
        self.intern_unknown(NoPayload, first, sink, codes)?;
        if is_small {
            self.small.put(values, &self.rows, &self.codes);
        }
        Ok(())
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
        codes.resize(first + column.rows(), C::default());
        let codes = &mut codes[first..];
        self.start(column.rows());
        self.all_rows(column.rows());
        self.look_up(|row| column.block(kind, row), codes);
        self.digests.clear();
        self.digester.blocks(self.blocks[..self.unknown].iter().copied(), &mut self.digests);
        self.digest_long(kind, column);
        self.intern_unknown(BytePayload(column), 0, sink, codes)
    }

    /// Replace the digests of keys that need more than one block, which are meaningless so far.
    fn digest_long(&mut self, kind: KeyKind, column: &impl ByteColumn) {
        let unknown = self.rows.iter().zip(&self.blocks).take(self.unknown).enumerate();
        let long = unknown.filter(|(_, (_, block))| **block == Block::LONG);
        let (places, rows): (Vec<usize>, Vec<u32>) = long.map(|(place, (row, _))| (place, *row)).unzip();
        let values = rows.iter().map(|row| column.get(*row as usize));
        let mut digests = Vec::with_capacity(rows.len());
        self.digester.bytes(kind, values, &mut self.batch, &mut digests);
        for (place, digest) in places.into_iter().zip(digests) {
            self.digests[place] = digest;
        }
    }

    /// Prepare for a batch of `rows` rows.
    fn start(&mut self, rows: usize) {
        if self.frequent.is_none() && rows >= SMALL && self.remembers {
            self.frequent = FrequentKeys::new();
        }
        if self.rows.len() < rows {
            self.rows.resize(rows, 0);
        }
    }

    /// Mark all codes of the batch as unknown.
    fn all_rows(&mut self, rows: usize) {
        self.rows.clear();
        self.rows.extend((0_u32..).take(rows));
        self.unknown = rows;
    }

    /// Write the known codes of small integers, and keep the rows of the other keys in `rows`.
    fn look_up_small(&mut self, kind: KeyKind, values: &[u64], codes: &mut [C]) {
        self.small.prepare(kind, values.len());
        self.numbers.resize(values.len(), 0);
        self.small.get(values, &mut self.numbers);
        for (code, number) in codes.iter_mut().zip(&self.numbers) {
            *code = C::new(number.wrapping_sub(1));
        }
        let mut left = 0;
        let groups = self.numbers[..values.len()].chunks(KNOWN);
        for (first, numbers) in (0_u32..).step_by(KNOWN).zip(groups) {
            if numbers.iter().fold(u32::MAX, |least, number| least.min(*number)) == 0 {
                for (row, number) in (first..).zip(numbers) {
                    self.rows[left] = row;
                    left += usize::from(*number == 0);
                }
            }
        }
        self.unknown = left;
    }

    /// Write the codes of frequent keys, and keep the rows and blocks of the other keys.
    ///
    /// Frequent and rare keys alternate at random, which a branch could not predict. So the loop has no branch on it.
    fn look_up(&mut self, block: impl Fn(usize) -> Block, codes: &mut [C]) {
        if self.blocks.len() < self.unknown {
            self.blocks.resize(self.unknown, Block::NONE);
        }
        let frequent = self.frequent.as_ref().filter(|frequent| frequent.pays());
        let mut left = 0;
        for at in 0..self.unknown {
            let row = self.rows[at];
            let block = block(row as usize);
            let (known, code) = frequent.map_or((false, C::default()), |frequent| frequent.get(block));
            codes[row as usize] = code;
            (self.rows[left], self.blocks[left]) = (row, block);
            left += usize::from(!known);
        }
        if let Some(frequent) = &mut self.frequent {
            frequent.count(self.unknown, self.unknown - left);
        }
        self.unknown = left;
    }

    /// Intern the keys whose codes are unknown, and write their codes, which begin at `first`.
    fn intern_unknown(
        &mut self,
        payload: impl Payload,
        first: u32,
        sink: &mut impl Sink,
        codes: &mut [C],
    ) -> Result<()> {
        self.codes.clear();
        sink.intern(
            &self.digests,
            &PayloadRows { payload, rows: &self.rows[..self.unknown] },
            &mut self.codes,
        )?;
        for (row, code) in self.rows.iter().zip(&self.codes) {
            codes[*row as usize] = *code;
        }
        if let Some(frequent) = self.frequent.as_mut().filter(|frequent| frequent.pays()) {
            for (block, code) in self.blocks.iter().zip(&self.codes) {
                frequent.put(*block, *code, first);
            }
        }
        Ok(())
    }

    /// Append the codes of the dictionary values of a kind that `keys` refer to.
    ///
    /// Values without a key get no code, because no user holds them.
    pub(super) fn dictionary(
        &mut self,
        kind: KeyKind,
        keys: &[u32],
        values: ArrayRef,
        sink: &mut impl Sink,
        codes: &mut Vec<C>,
    ) -> Result<()> {
        const OUTSIDE: Error = Error::Internal("a dictionary key lies outside its dictionary");
        const UNCODED: Error = Error::Internal("a dictionary value has no code");
        let mut cached = match self.dictionary.take() {
            Some(cached) if Arc::ptr_eq(&cached.values, &values) => cached,
            _ => CachedDictionary { codes: vec![None; values.len()], values, coded: Vec::new() },
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
            self.add_values(kind, &mut cached, fresh, sink)?;
        }
        codes.reserve(keys.len());
        for &key in keys {
            codes.push(cached.codes[key as usize].ok_or(UNCODED)?);
        }
        self.dictionary = Some(cached);
        Ok(())
    }

    /// Code the dictionary values at positions `fresh`.
    fn add_values(
        &mut self,
        kind: KeyKind,
        cached: &mut CachedDictionary<C>,
        fresh: Vec<u32>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let fresh = UInt32Array::from(fresh);
        let values = arrow_select::take::take(&cached.values, &fresh, None)
            .map_err(|_| Error::Internal("values of a dictionary cannot be taken"))?;
        let mut codes = Vec::with_capacity(fresh.len());
        self.flat(&Flat::new(&decode_runs(&values)?, kind)?, sink, &mut codes)?;
        if codes.len() != fresh.len() {
            return Err(Error::Internal("some values of a dictionary have no code"));
        }
        for (&key, &code) in fresh.values().iter().zip(&codes) {
            cached.codes[key as usize] = Some(code);
        }
        cached.coded.extend(fresh.values());
        Ok(())
    }
}
