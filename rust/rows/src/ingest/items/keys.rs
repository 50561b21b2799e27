//! Item keys, so that released items can be decoded. The digest of a short key tells the key, because it is an encrypted
//! block. Only longer keys are stored, once per distinct item.

use dpsel_exact::random::{Block, Digest};

use crate::runtime::memory::Growing;

/// The keys of more than one block, in order of their local codes.
#[derive(Debug, Default)]
pub struct KeyStore {
    /// Number of byte keys so far, stored or not.
    keys: u32,
    /// The local codes of the stored keys.
    codes: Growing<u32>,
    /// Where each stored key ends in `data`.
    ends: Growing<u64>,
    data: Growing<u8>,
}

/// The key of an item.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    /// The digest of the key.
    pub digest: Digest,
    /// A key that its digest does not tell.
    pub long: Option<&'a [u8]>,
}

/// The keys of one batch, from which the keys of new items are copied.
pub trait Payload {
    /// Append the keys of `rows` to the store. Integers and the like are not stored.
    fn append_to(&self, rows: impl ExactSizeIterator<Item = usize> + Clone, store: &mut KeyStore);
}

impl KeyStore {
    /// Append byte keys. Only those of more than one block are stored.
    pub fn extend_bytes<'a>(&mut self, keys: impl Iterator<Item = &'a [u8]>) {
        for (code, key) in (self.keys..).zip(keys) {
            self.keys += 1;
            if !Block::holds(key) {
                self.data.extend(key.iter().copied());
                self.codes.room(1).push(code);
                self.ends.room(1).push(self.data.len() as u64);
            }
        }
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.codes.bytes() + self.ends.bytes() + self.data.bytes()
    }

    /// The stored key of a local code.
    #[must_use]
    pub fn get(&self, code: usize) -> Option<&[u8]> {
        let place = self.codes.as_slice().binary_search(&u32::try_from(code).ok()?).ok()?;
        let ends = self.ends.as_slice();
        let end = |place: usize| usize::try_from(ends[place]).ok();
        let start = match place.checked_sub(1) {
            Some(before) => end(before)?,
            None => 0,
        };
        self.data.as_slice().get(start..end(place)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_keys_are_found_by_their_codes() {
        let keys: Vec<Vec<u8>> = (0..40).map(|n| vec![n; usize::from(n % 20)]).collect();
        let mut store = KeyStore::default();
        for batch in keys.chunks(7) {
            store.extend_bytes(batch.iter().map(Vec::as_slice));
        }
        for (code, key) in keys.iter().enumerate() {
            assert_eq!(store.get(code), Some(key.as_slice()).filter(|key| key.len() > 11));
        }
        assert_eq!(store.get(40), None);
    }
}
