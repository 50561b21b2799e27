//! Numbers of users in three bytes, if there are few enough users.

use dpsel_rows::runtime::memory::Element;

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
        let [first, second, third, fourth] = user.to_le_bytes();
        debug_assert_eq!(fourth, 0, "few users have numbers below 2^24");
        [first, second, third]
    }

    #[inline]
    fn get(self) -> u32 {
        let [first, second, third] = self;
        u32::from_le_bytes([first, second, third, 0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_bytes_hold_all_numbers_of_few_users() {
        assert!(are_few(1 << 24) && !are_few((1 << 24) + 1));
        assert_eq!((width(1 << 24), width((1 << 24) + 1)), (3, 4));
        let last = u32::try_from(<[u8; 3]>::USERS - 1).unwrap();
        for user in [0, 1, 255, 256, 65_535, 65_536, last] {
            assert_eq!(<[u8; 3]>::new(user).get(), user);
        }
    }
}
