//! One value of a key, read exactly, or the reason why it is refused.

/// The kinds of values that a column may have, one for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Text,
    Bytes,
    Date,
    /// A datetime without a time zone.
    Datetime,
    /// A datetime with one; kept as UTC.
    Instant,
}

impl Kind {
    /// How errors call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Text => "str",
            Self::Bytes => "bytes",
            Self::Date => "date",
            Self::Datetime => "datetime without a time zone",
            Self::Instant => "datetime with a time zone",
        }
    }
}

/// One value, read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scalar<'a> {
    Bool(bool),
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970 without a zone.
    Datetime(i64),
    /// Microseconds since 1970 UTC.
    Instant(i64),
}

impl Scalar<'_> {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Text(_) => Kind::Text,
            Self::Bytes(_) => Kind::Bytes,
            Self::Date(_) => Kind::Date,
            Self::Datetime(_) => Kind::Datetime,
            Self::Instant(_) => Kind::Instant,
        }
    }
}

/// Why a value is refused. It never holds the value (law 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Another kind than the values before.
    Mixed { kind: Kind, before: Kind },
    /// Outside the range of its kind.
    Range(Kind),
    /// Text that is not Unicode.
    Text,
    /// Nanoseconds or less, which Python's own types cannot give back.
    Precision,
    /// A count of a unit that is neither a day nor a part of one.
    Unit,
    /// A time zone that says nothing about this time.
    Zone,
    /// A number that is not whole.
    Float,
    /// A type that is no key.
    Type,
}
