//! Item keys, stored once per distinct item, so that released items can be decoded.

use crate::runtime::memory::Growing;

/// How item keys are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyLayout {
    /// A single column of integers, booleans, dates or timestamps: one 64-bit word each.
    Words,
    /// Anything else, as bytes.
    Bytes,
}

/// Keys in order of their local code.
#[derive(Debug)]
pub enum KeyStore {
    /// One word per key.
    Words(Words),
    /// Concatenated bytes.
    Bytes(Bytes),
}

/// Word keys.
#[derive(Debug, Default)]
pub struct Words(Growing<u64>);

/// Byte keys: `ends[i]` is where key i ends in `data`.
#[derive(Debug, Default)]
pub struct Bytes {
    data: Growing<u8>,
    ends: Growing<u64>,
}

/// The keys of one batch, from which the keys of new items are copied.
pub trait Payload {
    /// Append the keys of `rows` to the store (whose layout fits by construction).
    fn append_to(&self, rows: impl ExactSizeIterator<Item = usize> + Clone, store: &mut KeyStore);
}

impl KeyStore {
    /// An empty store.
    #[must_use]
    pub fn new(layout: KeyLayout) -> Self {
        match layout {
            KeyLayout::Words => Self::Words(Words::default()),
            KeyLayout::Bytes => Self::Bytes(Bytes::default()),
        }
    }

    /// Append word keys; ignored by a byte store.
    pub fn extend_words(&mut self, keys: impl ExactSizeIterator<Item = u64>) {
        if let Self::Words(Words(words)) = self {
            words.extend(keys);
        }
    }

    /// Append byte keys; ignored by a word store.
    pub fn extend_bytes<'a>(&mut self, keys: impl ExactSizeIterator<Item = &'a [u8]> + Clone) {
        if let Self::Bytes(Bytes { data, ends }) = self {
            let mut end = data.len();
            ends.extend(keys.clone().map(|key| {
                end += key.len();
                end as u64
            }));
            let mut room = data.room(end - data.len());
            keys.for_each(|key| room.extend_from_slice(key));
        }
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Words(Words(words)) => words.bytes(),
            Self::Bytes(Bytes { data, ends }) => data.bytes() + ends.bytes(),
        }
    }

    /// The word key at a position.
    #[must_use]
    pub fn word(&self, position: usize) -> Option<u64> {
        match self {
            Self::Words(Words(words)) => words.as_slice().get(position).copied(),
            Self::Bytes(_) => None,
        }
    }

    /// The byte key at a position.
    #[must_use]
    pub fn bytes(&self, position: usize) -> Option<&[u8]> {
        match self {
            Self::Words(_) => None,
            Self::Bytes(Bytes { data, ends }) => {
                let (data, ends) = (data.as_slice(), ends.as_slice());
                let end = usize::try_from(*ends.get(position)?).ok()?;
                let start = match position.checked_sub(1) {
                    Some(before) => usize::try_from(ends[before]).ok()?,
                    None => 0,
                };
                data.get(start..end)
            }
        }
    }
}
