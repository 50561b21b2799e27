//! Bytes by row, for every layout of a byte column.

use arrow_array::{Array, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray};
use dpsel_exact::random::{Block, KeyKind};

/// The parts of a view: its length, and its length with the first four bytes.
const LENGTH: u128 = 0xffff_ffff;
const LENGTH_AND_PREFIX: u128 = 0xffff_ffff_ffff_ffff;

/// Bytes by row, for code that is compiled once per layout.
pub(in crate::ingest) trait ByteColumn {
    fn rows(&self) -> usize;
    fn get(&self, row: usize) -> &[u8];
    /// The canonical block of a row's value.
    #[inline]
    fn block(&self, kind: KeyKind, row: usize) -> Block {
        Block::bytes(kind, self.get(row))
    }
    /// Whether two rows hold the same bytes.
    #[inline]
    fn same(&self, a: usize, b: usize) -> bool {
        self.get(a) == self.get(b)
    }
}

impl ByteColumn for BinaryArray {
    fn rows(&self) -> usize {
        self.len()
    }
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        self.value(row)
    }
}

impl ByteColumn for LargeBinaryArray {
    fn rows(&self) -> usize {
        self.len()
    }
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        self.value(row)
    }
}

impl ByteColumn for FixedSizeBinaryArray {
    fn rows(&self) -> usize {
        self.len()
    }
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        self.value(row)
    }
}

impl ByteColumn for BinaryViewArray {
    fn rows(&self) -> usize {
        self.len()
    }
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        self.value(row)
    }
    /// A view holds the length and the first four bytes of its value. It holds the whole value up to twelve bytes.
    #[inline]
    fn same(&self, a: usize, b: usize) -> bool {
        let (left, right) = (self.views()[a], self.views()[b]);
        let alike = (left ^ right) & LENGTH_AND_PREFIX == 0 && left & LENGTH > 12;
        left == right || (alike && self.value(a) == self.value(b))
    }
    #[inline]
    fn block(&self, kind: KeyKind, row: usize) -> Block {
        Block::view(kind, self.views()[row])
    }
}

/// Byte strings stored end to end: n-grams and composite keys.
#[derive(Debug, Default)]
pub(in crate::ingest) struct PackedBytes {
    pub(in crate::ingest) data: Vec<u8>,
    pub(in crate::ingest) ends: Vec<usize>,
}

impl PackedBytes {
    pub(in crate::ingest) fn clear(&mut self) {
        self.data.clear();
        self.ends.clear();
    }
    /// Mark the end of the value that was appended to `data`.
    pub(in crate::ingest) fn end(&mut self) {
        self.ends.push(self.data.len());
    }
}

impl ByteColumn for PackedBytes {
    fn rows(&self) -> usize {
        self.ends.len()
    }
    #[inline]
    fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.data[start..self.ends[row]]
    }
}
