//! Places in a large array, in half of the memory if it has fewer than 2^32 of them.

/// Places in an array.
#[derive(Debug)]
pub(super) enum Places {
    Narrow(Vec<u32>),
    Wide(Vec<usize>),
}

impl Places {
    /// So many zeros that may become places up to `most`.
    pub(super) fn zeroed(len: usize, most: usize) -> Self {
        if are_narrow(most) { Self::Narrow(vec![0; len]) } else { Self::Wide(vec![0; len]) }
    }

    /// Bytes of each place.
    pub(super) fn width(most: usize) -> usize {
        if are_narrow(most) { size_of::<u32>() } else { size_of::<usize>() }
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> usize {
        match self {
            Self::Narrow(places) => places[at] as usize,
            Self::Wide(places) => places[at],
        }
    }

    /// Set to a place that is at most `most`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "`most` fits")]
    pub(super) fn set(&mut self, at: usize, place: usize) {
        match self {
            Self::Narrow(places) => places[at] = place as u32,
            Self::Wide(places) => places[at] = place,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(places) => places.len(),
            Self::Wide(places) => places.len(),
        }
    }
}

/// Whether places up to `most` have 32 bits.
fn are_narrow(most: usize) -> bool {
    u32::try_from(most).is_ok()
}
