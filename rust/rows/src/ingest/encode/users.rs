//! User columns to codes: one code for each run of consecutive rows of one user.

use arrow_array::{Array, ArrayRef};
use dpsel_exact::random::{KeyKind, Purpose, ReleaseKey};
use dpsel_exact::{Error, Result};

use super::coder::Coder;
use super::sink::{Codes, Sink};
use crate::ingest::columns::{
    ByteColumn, Flat, IntegerValues, PackedBytes, Values, decode_runs, dictionary_keys, plain_values,
};
use crate::ingest::items::{UserCode, encode_composite};

/// One thread's encoder of users. Neighbouring rows are compared first, and only the first row of each run is coded.
#[derive(Debug)]
pub(super) struct UserEncoder {
    /// The names of the columns, and the kinds of key that they declare.
    columns: Vec<(String, KeyKind)>,
    coder: Coder<UserCode>,
    starts: Vec<u32>,
    users: Vec<UserCode>,
    lens: Vec<u32>,
    packed: PackedBytes,
}

/// Some rows of a column.
struct PickedRows<'a, C> {
    column: &'a C,
    rows: &'a [u32],
}

impl<C: ByteColumn> ByteColumn for PickedRows<'_, C> {
    fn rows(&self) -> usize {
        self.rows.len()
    }
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        self.column.get(self.rows[row] as usize)
    }
    #[inline]
    fn block(&self, kind: KeyKind, row: usize) -> dpsel_exact::random::Block {
        self.column.block(kind, self.rows[row] as usize)
    }
}

impl UserEncoder {
    pub(super) fn new<'a>(columns: impl Iterator<Item = (&'a str, KeyKind)>, key: &ReleaseKey) -> Self {
        Self {
            columns: columns.map(|(name, kind)| (name.to_owned(), kind)).collect(),
            coder: Coder::new(key, Purpose::UserDigest),
            starts: Vec::new(),
            users: Vec::new(),
            lens: Vec::new(),
            packed: PackedBytes::default(),
        }
    }

    /// The codes of the next step are good for so long.
    pub(super) fn expect(&mut self, codes: Codes) {
        self.coder.expect(codes);
    }

    /// Find the runs of one slice of the user columns and code their users.
    ///
    /// # Errors
    /// [`Error::Data`] naming column and row for a null.
    pub(super) fn encode(
        &mut self,
        columns: &[ArrayRef],
        (source, first_row): (&str, u64),
        sink: &mut impl Sink,
    ) -> Result<()> {
        let columns: Vec<ArrayRef> = columns.iter().map(decode_runs).collect::<Result<_>>()?;
        let nulls = columns
            .iter()
            .zip(&self.columns)
            .filter_map(|(column, (name, _))| Some((first_null(column)?, name)));
        if let Some((at, name)) = nulls.min_by_key(|(at, _)| *at) {
            return Err(Error::Data {
                source_name: source.to_owned(),
                what: format!("user column '{name}' is null in row {}", first_row + at as u64 + 1),
                fix: "every row must name its user; drop these rows or fill in the user before the call",
            });
        }
        self.starts.clear();
        self.users.clear();
        match (columns.as_slice(), self.columns.as_slice()) {
            ([column], [(name, kind)]) => {
                let name = name.clone();
                self.single(column, *kind, sink).map_err(|error| error.in_column(&name, source))
            }
            _ => self.composite(&columns, source, sink),
        }
    }

    fn single(&mut self, column: &ArrayRef, kind: KeyKind, sink: &mut impl Sink) -> Result<()> {
        if let Some((keys, values)) = dictionary_keys(column) {
            find_starts(&keys, &mut self.starts);
            let keys: Vec<u32> = self.starts.iter().map(|&at| keys[at as usize]).collect();
            return self.coder.dictionary(kind, &keys, values, sink, &mut self.users);
        }
        self.flat(&Flat::new(column, kind)?, sink)
    }

    /// Users of several columns: their key is that of an item with the same columns.
    fn composite(&mut self, columns: &[ArrayRef], source: &str, sink: &mut impl Sink) -> Result<()> {
        let rows = columns.first().map_or(0, Array::len);
        let flats = columns.iter().zip(&self.columns).map(|(column, (name, kind))| {
            Flat::new(&plain_values(column)?, *kind).map_err(|error| error.in_column(name, source))
        });
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        encode_composite(&flats.collect::<Result<Vec<_>>>()?, rows, &mut packed);
        let coded = self.bytes(KeyKind::Composite, &packed, sink);
        self.packed = packed;
        coded
    }

    /// The users of the runs of the last slice, and the number of codes of each run. `counts` is the number of codes of
    /// each row. Without a number, every run or row has one code.
    pub(super) fn runs(
        &mut self,
        rows: usize,
        counts: Option<&[u32]>,
    ) -> Result<(&[UserCode], Option<&[u32]>)> {
        const LIMIT: Error =
            Error::Capacity { what: "items in consecutive rows of one user", limit: u32::MAX as u64 };
        if counts.is_none() && self.starts.len() == rows {
            return Ok((&self.users, None));
        }
        self.lens.clear();
        let ends = self.starts.iter().skip(1).map(|&s| s as usize).chain([rows]);
        for (&start, end) in self.starts.iter().zip(ends) {
            let start = start as usize;
            let total = match counts {
                None => (end - start) as u64,
                Some(counts) => counts[start..end].iter().map(|&n| u64::from(n)).sum(),
            };
            self.lens.push(u32::try_from(total).map_err(|_| LIMIT)?);
        }
        Ok((&self.users, Some(&self.lens)))
    }

    fn flat(&mut self, column: &Flat, sink: &mut impl Sink) -> Result<()> {
        match &column.values {
            Values::Integers(words) => {
                find_starts(&words.values, &mut self.starts);
                if self.starts.len() == words.values.len() {
                    return self.coder.words(column.kind, words, sink, &mut self.users);
                }
                let at_starts = self.starts.iter().map(|&at| words.values[at as usize]).collect();
                let at_starts = IntegerValues { values: at_starts, ..words.clone() };
                self.coder.words(column.kind, &at_starts, sink, &mut self.users)
            }
            Values::Small(c) => self.bytes(column.kind, c, sink),
            Values::Large(c) => self.bytes(column.kind, c, sink),
            Values::Views(c) => self.bytes(column.kind, c, sink),
            Values::Fixed(c) => self.bytes(column.kind, c, sink),
        }
    }

    fn bytes(&mut self, kind: KeyKind, column: &impl ByteColumn, sink: &mut impl Sink) -> Result<()> {
        for (at, row) in (0_u32..).zip(0..column.rows()) {
            if row == 0 || !column.same(row - 1, row) {
                self.starts.push(at);
            }
        }
        if scattered(self.starts.len(), column.rows()) {
            self.starts.clear();
            self.starts.extend((0..).take(column.rows()));
            return self.coder.bytes(kind, column, sink, &mut self.users);
        }
        let at_starts = PickedRows { column, rows: &self.starts };
        self.coder.bytes(kind, &at_starts, sink, &mut self.users)
    }
}

fn first_null(column: &ArrayRef) -> Option<usize> {
    let nulls = column.logical_nulls().filter(|n| n.null_count() > 0)?;
    nulls.iter().position(|valid| !valid)
}

/// Whether runs are so short that treating every row as a run is faster.
fn scattered(runs: usize, rows: usize) -> bool {
    runs * 2 > rows
}

/// Finds the rows whose value differs from the row before. If runs are short, all rows are starts.
fn find_starts<T: PartialEq>(words: &[T], starts: &mut Vec<u32>) {
    if words.is_empty() {
        return;
    }
    let changes =
        words.iter().zip(&words[1..]).map(|(before, word)| usize::from(before != word)).sum::<usize>();
    if scattered(1 + changes, words.len()) {
        return starts.extend((0..).take(words.len()));
    }
    starts.push(0);
    for (at, pair) in (1_u32..).zip(words.windows(2)) {
        if pair[0] != pair[1] {
            starts.push(at);
        }
    }
}
