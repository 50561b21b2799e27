//! The grammar of text with a delimiter: that of RFC 4180, and nothing else. What readers take for different fields
//! is an error: a quote within a field, text after a closing quote, an open quote, a carriage return without a line feed.

use std::borrow::Cow;

use crate::ingest::source::Dialect;

/// One field of a record, with its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    quoted: bool,
    /// Whether a quote or an escape in it is escaped.
    escaped: bool,
}

/// Why bytes are no record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    OpenQuote,
    StrayQuote,
    AfterQuote,
    BareReturn,
}

/// How far a record goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scan {
    /// It ends before this byte, with its line end.
    Record(usize),
    /// The bytes end before it does.
    Incomplete,
}

/// What ends a field.
enum End {
    Delimiter,
    /// The end of the line, which has so many bytes.
    Line(usize),
}

/// A dialect, ready to scan.
#[derive(Debug)]
pub(super) struct Grammar {
    dialect: Dialect,
    /// The bytes that mean something outside quotes.
    special: [bool; 256],
}

impl Grammar {
    pub(super) fn new(dialect: Dialect) -> Self {
        let mut special = [false; 256];
        for byte in [b'\r', b'\n', dialect.delimiter()].into_iter().chain(dialect.quote) {
            special[usize::from(byte)] = true;
        }
        Self { dialect, special }
    }

    /// Find the fields of the first record. `last` says that no bytes come after these.
    pub(super) fn scan(&self, bytes: &[u8], last: bool, fields: &mut Vec<Span>) -> Result<Scan, Wrong> {
        fields.clear();
        let mut start = 0;
        loop {
            let found = if self.dialect.quote.is_some() && bytes.get(start) == self.dialect.quote.as_ref() {
                self.quoted(bytes, start, last)?
            } else {
                self.unquoted(bytes, start)?
            };
            let Some(field) = found else { return Ok(Scan::Incomplete) };
            let Some(end) = self.end_at(bytes, field.end, last, field.quoted)? else {
                return Ok(Scan::Incomplete);
            };
            fields.push(field);
            match end {
                End::Delimiter => start = field.end + 1,
                End::Line(length) => return Ok(Scan::Record(field.end + length)),
            }
        }
    }

    /// The field without quotes that starts here. Its end is a special byte, or that of all bytes.
    fn unquoted(&self, bytes: &[u8], start: usize) -> Result<Option<Span>, Wrong> {
        let length = bytes[start..].iter().position(|&byte| self.special[usize::from(byte)]);
        // Otherwise: the field goes on to the end of the bytes.
        let end = length.map_or(bytes.len(), |length| start + length);
        if end < bytes.len() && Some(bytes[end]) == self.dialect.quote {
            return Err(Wrong::StrayQuote);
        }
        Ok(Some(Span { start, end, quoted: false, escaped: false }))
    }

    /// The field in quotes that starts here; `None` if its end is not there yet.
    fn quoted(&self, bytes: &[u8], start: usize, last: bool) -> Result<Option<Span>, Wrong> {
        let (quote, escape) = (self.dialect.quote, self.dialect.escape);
        let (mut at, mut escaped) = (start + 1, false);
        while let Some(step) = bytes[at..].iter().position(|&b| Some(b) == quote || Some(b) == escape) {
            at += step;
            let (is_escape, next) = (Some(bytes[at]) == escape, bytes.get(at + 1).copied());
            if next.is_none() && !last {
                return Ok(None);
            }
            let hides =
                next.is_some() && if is_escape { next == quote || next == escape } else { next == quote };
            match (is_escape, hides) {
                // With an escape, a quote is not escaped by itself.
                (false, true) if escape.is_some() => return Err(Wrong::AfterQuote),
                (_, true) => (at, escaped) = (at + 2, true),
                (true, false) => at += 1,
                (false, false) => return Ok(Some(Span { start, end: at + 1, quoted: true, escaped })),
            }
        }
        if last { Err(Wrong::OpenQuote) } else { Ok(None) }
    }

    /// What ends the field before this byte; `None` if that is not there yet.
    fn end_at(&self, bytes: &[u8], at: usize, last: bool, quoted: bool) -> Result<Option<End>, Wrong> {
        Ok(match (bytes.get(at).copied(), bytes.get(at + 1).copied()) {
            (None, _) => last.then_some(End::Line(0)),
            (Some(byte), _) if byte == self.dialect.delimiter() => Some(End::Delimiter),
            (Some(b'\n'), _) => Some(End::Line(1)),
            (Some(b'\r'), Some(b'\n')) => Some(End::Line(2)),
            (Some(b'\r'), None) if !last => None,
            (Some(b'\r'), _) => return Err(Wrong::BareReturn),
            _ if quoted => return Err(Wrong::AfterQuote),
            _ => return Err(Wrong::StrayQuote),
        })
    }

    /// The text of a field, without quotes and escapes.
    pub(super) fn value<'a>(&self, record: &'a str, field: Span) -> Option<Cow<'a, str>> {
        if !field.quoted {
            return record.get(field.start..field.end).map(Cow::Borrowed);
        }
        let inner = record.get(field.start + 1..field.end - 1)?;
        if !field.escaped {
            return Some(Cow::Borrowed(inner));
        }
        // Otherwise: a quote is escaped by itself.
        let (quote, escape) = (self.dialect.quote, self.dialect.escape.or(self.dialect.quote));
        let mut text = String::with_capacity(inner.len());
        let mut rest = inner.chars().peekable();
        while let Some(char) = rest.next() {
            let next = rest.peek().and_then(|&next| u8::try_from(next).ok());
            let escapes =
                u8::try_from(char).ok() == escape && next.is_some() && (next == quote || next == escape);
            text.push(if escapes { rest.next()? } else { char });
        }
        Some(Cow::Owned(text))
    }

    /// A text as a field; `None` if this dialect has no quotes, and the text needs them.
    pub(super) fn written<'a>(&self, text: &'a str) -> Option<Cow<'a, str>> {
        // Some readers take an escape outside quotes for one.
        let means = |b: u8| self.special[usize::from(b)] || Some(b) == self.dialect.escape;
        let fits = !text.bytes().any(means) && !text.is_empty();
        let Some(quote) = self.dialect.quote.map(char::from) else {
            return fits.then_some(Cow::Borrowed(text));
        };
        // Some readers skip a line of spaces, or drop spaces and a byte order mark around a field without quotes.
        let drops = |c: char| c.is_whitespace() || c.is_control() || c == '\u{feff}';
        if fits && !text.starts_with(drops) && !text.ends_with(drops) {
            return Some(Cow::Borrowed(text));
        }
        // Otherwise: a quote is escaped by itself.
        let escape = self.dialect.escape.map_or(quote, char::from);
        let mut field = String::from(quote);
        for char in text.chars() {
            if char == quote || char == escape {
                field.push(escape);
            }
            field.push(char);
        }
        field.push(quote);
        Some(Cow::Owned(field))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SPARK: (Option<u8>, Option<u8>) = (Some(b'"'), Some(b'\\'));

    fn grammar((quote, escape): (Option<u8>, Option<u8>)) -> Grammar {
        let text = |byte: Option<u8>| byte.map(char::from).map(String::from).unwrap_or_default();
        Grammar::new(Dialect::new(",", true, &text(quote), &text(escape)).unwrap())
    }

    fn fields(grammar: &Grammar, text: &str) -> Result<Vec<String>, Wrong> {
        let mut spans = Vec::new();
        assert_eq!(grammar.scan(text.as_bytes(), true, &mut spans)?, Scan::Record(text.len()));
        Ok(spans.into_iter().map(|span| grammar.value(text, span).unwrap().into_owned()).collect())
    }

    #[test]
    fn fields_are_those_of_the_standard() {
        let plain = grammar((Some(b'"'), None));
        assert_eq!(
            fields(&plain, "a,\"b \"\"c\"\",\r\nd\",\"\",\r\n").unwrap(),
            ["a", "b \"c\",\r\nd", "", ""]
        );
        assert_eq!(
            fields(&grammar(SPARK), "a\\b,\"b \\\"c\\\\\",\"\\n\"\n").unwrap(),
            ["a\\b", "b \"c\\", "\\n"]
        );
        assert_eq!(fields(&grammar((None, None)), "5\" disk,\"x\n").unwrap(), ["5\" disk", "\"x"]);
    }

    #[test]
    fn what_readers_take_for_different_fields_is_refused() {
        let plain = grammar((Some(b'"'), None));
        for (text, wrong) in [
            ("a\"b,c\n", Wrong::StrayQuote),
            ("a, \"b\"\n", Wrong::StrayQuote),
            ("\"a\" ,b\n", Wrong::AfterQuote),
            ("\"say \\\"hi\\\"\",b\n", Wrong::AfterQuote),
            ("\"a,b\n", Wrong::OpenQuote),
            ("\"", Wrong::OpenQuote),
            ("a\rb\n", Wrong::BareReturn),
            ("a\r", Wrong::BareReturn),
            ("\"a\"\rb\n", Wrong::BareReturn),
        ] {
            assert_eq!(fields(&plain, text), Err(wrong), "{text:?}");
        }
        assert_eq!(fields(&grammar(SPARK), "\"a\"\"b\"\n"), Err(Wrong::AfterQuote));
    }

    proptest! {
        /// Whatever stands in fields is read as it was written, also if the bytes come one by one.
        #[test]
        fn what_is_written_is_read(
            texts in prop::collection::vec("[a\"\\\\,\r\n é]{0,6}", 1..4),
            form in prop::sample::select(vec![(Some(b'"'), None), SPARK, (Some(b'\''), None)]),
        ) {
            let grammar = grammar(form);
            let written: Vec<_> = texts.iter().map(|text| grammar.written(text).unwrap().into_owned()).collect();
            let line = format!("{}\n", written.join(","));
            prop_assert_eq!(fields(&grammar, &line).unwrap(), texts);
            let mut spans = Vec::new();
            for length in 0..line.len() {
                let part = grammar.scan(&line.as_bytes()[..length], false, &mut spans);
                prop_assert_eq!(part, Ok(Scan::Incomplete));
            }
        }
    }
}
