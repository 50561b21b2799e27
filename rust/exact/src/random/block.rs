//! Canonical bytes of keys that need one block; [`digest`](super::digest) has the encoding.

/// Bytes of a value that share the first block with the tag and the length.
pub(super) const FIRST: usize = 11;

/// The type tag of a canonical encoding: keys of different kinds are never equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// Any integer width, signed or not.
    Integer = 1,
    /// Any UTF-8 string type.
    Text = 2,
    /// Any binary type.
    Binary = 3,
    /// Boolean.
    Boolean = 4,
    /// Calendar date, in days since 1970-01-01.
    Date = 5,
    /// Timestamp without zone, in nanoseconds.
    Timestamp = 6,
    /// Timestamp with zone, in nanoseconds UTC.
    Instant = 7,
    /// Several columns.
    Composite = 8,
}

/// The canonical encoding of a key of one block: distinct keys have distinct blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Block(pub(super) u128);

/// A block spells its key out: it is not shown.
impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Block(..)")
    }
}

impl Block {
    /// Stands for the keys that need more than one block.
    pub const LONG: Self = Self(0);
    /// Not the block of any key.
    pub const NONE: Self = Self(u128::MAX);

    /// The block of an integer-like key: `tag` in the lowest byte, the value's low 120 bits above it. No accepted
    /// type has more.
    #[must_use]
    #[inline]
    pub fn integer(kind: KeyKind, value: i128) -> Self {
        Self::tagged(kind as u8, value)
    }

    /// The tag, and the number behind it if this is the block of an integer-like key.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the tag is the lowest byte")]
    pub fn parts(self) -> (u8, i128) {
        (self.0 as u8, self.0.cast_signed() >> 8)
    }

    /// The block of these parts.
    #[must_use]
    pub fn tagged(tag: u8, value: i128) -> Self {
        Self((value.cast_unsigned() << 8) | u128::from(tag))
    }

    /// The block of a byte string, [`Block::LONG`] if it needs more.
    #[must_use]
    #[inline]
    pub fn bytes(kind: KeyKind, value: &[u8]) -> Self {
        if value.len() > FIRST {
            return Self::LONG;
        }
        let mut padded = [0; 16];
        padded[..value.len()].copy_from_slice(value);
        Self(u128::from_le_bytes(padded) << 40 | (value.len() as u128) << 8 | u128::from(kind as u8))
    }

    /// The block of a byte string given as an Arrow view: its length in the low 32 bits, then up to twelve bytes.
    #[must_use]
    #[inline]
    pub fn view(kind: KeyKind, view: u128) -> Self {
        let length = view & u128::from(u32::MAX);
        if length > FIRST as u128 {
            return Self::LONG;
        }
        let used = (1 << (32 + 8 * length)) - 1;
        Self((view & used) << 8 | u128::from(kind as u8))
    }

    /// Whether a byte string needs no more than one block.
    #[must_use]
    #[inline]
    pub fn holds(value: &[u8]) -> bool {
        value.len() <= FIRST
    }

    /// The byte string that this is the block of; `None` if it is the block of another kind of key.
    #[must_use]
    pub fn short_bytes(self, kind: KeyKind) -> Option<ShortBytes> {
        let length = self.0 >> 8 & u128::from(u32::MAX);
        let bytes =
            ShortBytes { padded: (self.0 >> 40).to_le_bytes(), length: usize::try_from(length).ok()? };
        (bytes.length <= FIRST && Self::bytes(kind, bytes.as_slice()) == self).then_some(bytes)
    }

    /// A number to choose a place in a small table by.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
    pub fn folded(self) -> u64 {
        self.0 as u64 ^ (self.0 >> 64) as u64
    }
}

/// A byte string of at most one block.
#[derive(Clone, Copy)]
pub struct ShortBytes {
    padded: [u8; 16],
    length: usize,
}

impl ShortBytes {
    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.padded[..self.length]
    }
}

/// It spells its key out: it is not shown.
impl std::fmt::Debug for ShortBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShortBytes(..)")
    }
}
