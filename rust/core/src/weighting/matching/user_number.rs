//! Numbers of users in three bytes, if there are few enough users.

use crate::runtime::memory::Element;

/// Whether so many users have numbers of three bytes.
pub(super) fn are_few(users: usize) -> bool {
    users <= <[u8; 3]>::USERS
}

/// Bytes of the number of each of so many users.
pub(super) fn width(users: usize) -> usize {
    if are_few(users) { size_of::<[u8; 3]>() } else { size_of::<u32>() }
}

/// The number of a user, as the lists of holders have it.
pub(super) trait UserNumber: Element + Copy {
    /// Users that can be told apart.
    const USERS: usize;

    /// A number below [`UserNumber::USERS`].
    fn new(user: u32) -> Self;
    fn get(self) -> u32;
}

impl UserNumber for u32 {
    const USERS: usize = Self::MAX as usize;

    #[inline]
    fn new(user: u32) -> Self {
        user
    }

    #[inline]
    fn get(self) -> u32 {
        self
    }
}

impl UserNumber for [u8; 3] {
    const USERS: usize = 1 << 24;

    #[inline]
    fn new(user: u32) -> Self {
        let [first, second, third, _] = user.to_le_bytes();
        [first, second, third]
    }

    #[inline]
    fn get(self) -> u32 {
        let [first, second, third] = self;
        u32::from_le_bytes([first, second, third, 0])
    }
}
