//! Numbers of users in three bytes, if there are few enough users.

use crate::runtime::memory::Element;

/// The number of a user, as the lists of holders have it.
pub(super) trait Number: Element + Copy {
    /// Users that can be told apart.
    const USERS: usize;

    /// A number below [`Number::USERS`].
    fn new(user: u32) -> Self;
    fn get(self) -> u32;
}

impl Number for u32 {
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

impl Number for [u8; 3] {
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
