//! Integers, digests and texts of a state as bytes, little-endian.

use dpsel_exact::random::Digest;
use dpsel_exact::{Error, Result};

/// The error of a state that is not what a release wrote.
pub(super) fn damaged() -> Error {
    Error::Data {
        source_name: "the state of the series".into(),
        what: "it is not what the last release wrote under this secret".into(),
        fix: "give the state and the secret of the last release, unchanged",
    }
}

/// Append an integer of variable length: seven bits a byte, the lowest first. The top bit says that more bytes follow.
#[expect(clippy::cast_possible_truncation, reason = "the low byte is meant")]
pub(super) fn push_integer(value: impl Into<u128>, out: &mut Vec<u8>) {
    let mut value = value.into();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Append an integer with a sign, which becomes the lowest bit.
pub(super) fn push_signed(value: i128, out: &mut Vec<u8>) {
    push_integer(((value << 1) ^ (value >> (i128::BITS - 1))).cast_unsigned(), out);
}

/// Append bytes behind their length.
pub(super) fn push_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    push_integer(bytes.len() as u64, out);
    out.extend(bytes);
}

/// Append a number of things, and these.
pub(super) fn push_list<T>(things: Vec<T>, out: &mut Vec<u8>, push: impl Fn(T, &mut Vec<u8>)) {
    push_integer(things.len() as u64, out);
    for thing in things {
        push(thing, out);
    }
}

/// Whether each is larger than the one before.
pub(super) fn is_rising<T: PartialOrd>(things: &[T]) -> bool {
    things.is_sorted_by(|a, b| a < b)
}

/// Bytes that are read from the front.
#[derive(Debug)]
pub(super) struct WireReader<'a>(pub(super) &'a [u8]);

impl<'a> WireReader<'a> {
    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk().ok_or_else(damaged)?;
        self.0 = tail;
        Ok(*head)
    }

    fn wide(&mut self) -> Result<u128> {
        let mut value = 0;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.byte()?;
            let part = u128::from(byte & 0x7f);
            value |= part << shift;
            if byte & 0x80 == 0 {
                return if value >> shift == part { Ok(value) } else { Err(damaged()) };
            }
        }
        Err(damaged())
    }

    /// An integer of at most this size.
    pub(super) fn integer<T: TryFrom<u128>>(&mut self, most: impl Into<u128>) -> Result<T> {
        let value = self.wide()?;
        if value > most.into() {
            return Err(damaged());
        }
        T::try_from(value).map_err(|_| damaged())
    }

    /// An integer with a sign, whose magnitude is at most 2^100.
    pub(super) fn signed(&mut self) -> Result<i128> {
        let value: u128 = self.integer(1_u128 << 101)?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A number of things, each of which has at least so many bytes.
    fn count(&mut self, bytes: usize) -> Result<usize> {
        let most = self.0.len() / bytes;
        self.integer(most as u64)
    }

    /// What [`push_list`] wrote of things that have at least so many bytes each. It takes no more memory than they need.
    pub(super) fn list<T>(&mut self, bytes: usize, read: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let number = self.count(bytes)?;
        let mut things = Vec::with_capacity(number);
        for _ in 0..number {
            things.push(read(self)?);
        }
        Ok(things)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.count(1)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn text(&mut self) -> Result<String> {
        std::str::from_utf8(self.bytes()?).map(str::to_owned).map_err(|_| damaged())
    }

    pub(super) fn digest(&mut self) -> Result<Digest> {
        Ok(Digest(u128::from_le_bytes(self.array()?)))
    }
}
