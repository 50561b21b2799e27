//! Large arrays, each in a memory mapping of its own.
//!
//! A fresh page costs nothing until it is touched, and then it is slow (often below 1 GB/s on a virtual machine). So a
//! large array starts as the zeros of the system and is not written before it is needed. Growing arrays reserve
//! addresses far ahead instead of being copied.
//!
//! Tried and left: huge pages. Random reads of tables took 5 % less time with them. But they are allocated 2 MiB at a
//! time, and a machine that had just run other work took twice as long for that. Where memory is at hand, they make a
//! quarter of the faults, and the time in the kernel stays the same: it goes into clearing pages. Asking for pages a MiB
//! ahead changes neither.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes from which an array gets its own mapping.
const MAPPED: usize = 1 << 20;
/// Bytes from which an array that is given back on its own gets its own mapping.
const MAPPED_APART: usize = 64 << 10;
/// Bytes from which a growing array is mapped, and the bytes that it then reserves at least.
const RESERVE_FROM: usize = 512 << 10;
const RESERVE: usize = 64 << 20;

/// Plain integers: any bits are a valid value.
pub trait Element: FromBytes + IntoBytes + Immutable + KnownLayout + Clone + Default {}
impl Element for u8 {}
impl Element for [u8; 3] {}
impl Element for u32 {}
impl Element for u64 {}
impl Element for u128 {}

/// An array of fixed length that starts as zeros.
#[derive(Debug)]
pub struct Array<T>(Store<T>);

#[derive(Debug)]
enum Store<T> {
    Heap(Vec<T>),
    #[cfg(unix)]
    Mapped {
        map: memmap2::MmapMut,
        len: usize,
    },
}

impl<T: Element> Array<T> {
    /// `len` zeros.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        // Unlike `vec!`, `new_vec_zeroed` does not write to memory that the system has zeroed.
        Self::mapped(len).unwrap_or_else(|| {
            Self(Store::Heap(T::new_vec_zeroed(len).unwrap_or_else(|_| vec![T::default(); len])))
        })
    }

    /// `len` zeros that live on when most of what was made beside them is gone. So they have a mapping of their own even if
    /// there are fewer of them.
    #[must_use]
    pub(crate) fn apart(len: usize) -> Self {
        Self::mapped_from(MAPPED_APART, len).unwrap_or_else(|| Self::zeroed(len))
    }

    /// `len` zeros in a mapping of their own; `None` if that is not worth it or the system refuses.
    fn mapped(len: usize) -> Option<Self> {
        Self::mapped_from(MAPPED, len)
    }

    /// `len` zeros in a mapping of their own; `None` if they have fewer bytes or the system refuses.
    #[cfg(unix)]
    fn mapped_from(bytes: usize, len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|all| *all >= bytes)?;
        Some(Self(Store::Mapped { map: memmap2::MmapMut::map_anon(bytes).ok()?, len }))
    }

    /// Other systems count memory when it is reserved, so a mapping saves nothing.
    #[cfg(not(unix))]
    fn mapped_from(_: usize, _: usize) -> Option<Self> {
        None
    }

    /// The elements.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match &self.0 {
            Store::Heap(vec) => vec,
            #[cfg(unix)]
            Store::Mapped { map, len } => {
                // A mapping starts at a page and has a whole number of elements, so the view always exists.
                // Otherwise: an empty view, and taking `len` elements of it fails.
                &<[T]>::ref_from_bytes(&map[..*len * size_of::<T>()]).unwrap_or_default()[..*len]
            }
        }
    }

    /// The elements, to change.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match &mut self.0 {
            Store::Heap(vec) => vec,
            #[cfg(unix)]
            Store::Mapped { map, len } => {
                // Otherwise: as above.
                &mut <[T]>::mut_from_bytes(&mut map[..*len * size_of::<T>()]).unwrap_or_default()[..*len]
            }
        }
    }

    /// Bytes held.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.as_slice())
    }
}

impl<T: Element> Default for Array<T> {
    fn default() -> Self {
        Self(Store::Heap(Vec::new()))
    }
}

/// An array that grows at its end.
#[derive(Debug)]
pub struct Growing<T> {
    array: Array<T>,
    len: usize,
}

impl<T: Element> Growing<T> {
    /// `len` zeros, with addresses for `more` elements if the system gives them.
    #[must_use]
    pub fn zeroed(len: usize, more: usize) -> Self {
        Self { array: Array::mapped(len.saturating_add(more)).unwrap_or_else(|| Array::zeroed(len)), len }
    }

    /// The elements so far.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.array.as_slice()[..self.len]
    }

    /// The elements so far, to change.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.array.as_mut_slice()[..self.len]
    }

    /// Make room for `more` elements, which are then added without further checks of the capacity.
    pub(crate) fn room(&mut self, more: usize) -> Room<'_, T> {
        self.reserve(more);
        Room { elements: self.array.as_mut_slice(), len: &mut self.len }
    }

    /// Add several elements.
    pub fn extend(&mut self, values: impl ExactSizeIterator<Item = T>) {
        let count = values.len();
        self.reserve(count);
        for (place, value) in self.array.as_mut_slice()[self.len..][..count].iter_mut().zip(values) {
            *place = value;
        }
        self.len += count;
    }

    /// Add `count` elements of any value, which are to be overwritten.
    pub(crate) fn lengthen(&mut self, count: usize) {
        self.reserve(count);
        self.len += count;
    }

    /// Remove all elements, and keep the memory.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Make room for `more` elements. Small arrays double. Large arrays reserve much more, so they are seldom copied.
    fn reserve(&mut self, more: usize) {
        let (capacity, needed) = (self.array.as_slice().len(), self.len + more);
        if needed > capacity {
            let ahead = (capacity * 8).max(RESERVE / size_of::<T>());
            let reserved = (self.array.bytes() >= RESERVE_FROM).then(|| Array::mapped(needed.max(ahead)));
            let mut larger =
                reserved.flatten().unwrap_or_else(|| Array::zeroed(needed.max(capacity * 2).max(64)));
            larger.as_mut_slice()[..self.len].clone_from_slice(self.as_slice());
            self.array = larger;
        }
    }

    /// Number of elements.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks whether it is empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes in use. Bytes reserved beyond them are not backed by memory yet.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

/// The elements of a [`Growing`] array, with room for more.
#[derive(Debug)]
pub(crate) struct Room<'a, T> {
    elements: &'a mut [T],
    len: &'a mut usize,
}

impl<T> Room<'_, T> {
    /// The elements so far, and the room behind them.
    #[inline]
    pub(crate) fn elements(&self) -> &[T] {
        self.elements
    }

    /// Number of elements.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        *self.len
    }

    /// Add an element; there must be room.
    #[inline]
    pub(crate) fn push(&mut self, value: T) {
        self.elements[*self.len] = value;
        *self.len += 1;
    }
}

impl<T: Element> Default for Growing<T> {
    fn default() -> Self {
        Self { array: Array::default(), len: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_arrays_start_as_zeros_and_keep_values() {
        for len in [0, 1, 1000, 3 << 20] {
            let mut array = Array::<u32>::zeroed(len);
            assert_eq!(array.as_slice().len(), len);
            assert!(array.as_slice().iter().all(|x| *x == 0));
            if let Some(last) = array.as_mut_slice().last_mut() {
                *last = 7;
            }
            assert_eq!(array.as_slice().last().copied(), (len > 0).then_some(7));
        }
    }

    #[test]
    fn growing_keeps_what_was_pushed() {
        let mut growing = Growing::<u128>::default();
        for i in 0..400_000_u32 {
            growing.room(1).push(i.into());
        }
        assert!(growing.as_slice().iter().zip(0_u128..).all(|(x, i)| *x == i));
        assert_eq!(growing.len(), 400_000);
        for len in [0, 5, 1 << 20] {
            let mut growing = Growing::<u128>::zeroed(len, 1);
            growing.room(1).push(7);
            assert!(growing.as_slice()[..len].iter().all(|x| *x == 0));
            assert_eq!((growing.as_slice()[len], growing.len()), (7, len + 1));
        }
    }
    #[test]
    fn addresses_that_the_system_refuses_are_not_needed() {
        for more in [1 << 45, usize::MAX] {
            let mut growing = Growing::<u128>::zeroed(10, more);
            growing.room(1).push(7);
            assert_eq!((growing.len(), growing.as_slice()[10]), (11, 7));
        }
    }
}
