//! The records of one text file, one by one.

use std::borrow::Cow;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use dpsel_exact::{Error, Result};

use super::grammar::{Grammar, Scan, Span, Wrong};
use crate::ingest::files::input::{ByteReader, Input};
use crate::ingest::files::reason::io_failed;
use crate::ingest::files::text::Text;
use crate::ingest::files::unicode::mark;
use crate::ingest::source::Dialect;

/// Bytes read at a time, at least.
const PIECE: usize = 256 * 1024;
/// The most bytes of one record. An open quote swallows the following rows, which must not fill the memory.
const LONGEST: usize = 256 * 1024 * 1024;

/// How to mend quotes.
macro_rules! quotes {
    () => {
        "write the field in quotes with every quote inside doubled; if a backslash stands before quotes, as Spark \
         writes them, set file_format=dpsel.Csv(escape=) to it, and if quotes are characters like others, set \
         file_format=dpsel.Csv(quote=) to an empty text"
    };
}

/// The records of a file. Blank lines are none.
pub(super) struct CsvRecords {
    text: Text,
    path: PathBuf,
    source: Arc<str>,
    grammar: Grammar,
    /// Bytes that are read, from the current record on.
    buffer: Vec<u8>,
    /// Where the current record starts and ends.
    start: usize,
    end: usize,
    begun: bool,
    ended: bool,
    fields: Vec<Span>,
    /// Fields of the first record.
    width: Option<usize>,
    /// Records and blank lines so far.
    line: u64,
}

/// One record: its text with the line end, and its fields.
pub(super) struct CsvRecord<'a> {
    pub(super) text: &'a str,
    pub(super) fields: &'a [Span],
    grammar: &'a Grammar,
}

impl CsvRecord<'_> {
    /// The text of a field.
    pub(super) fn value(&self, at: usize) -> Result<Cow<'_, str>> {
        let field = self.fields.get(at).and_then(|&field| self.grammar.value(self.text, field));
        field.ok_or(Error::Internal("a record has not the field that was found in it"))
    }
}

impl CsvRecords {
    pub(super) fn new(bytes: ByteReader, input: &Input, source: &Arc<str>, dialect: Dialect) -> Result<Self> {
        let (path, text) = (input.name().to_owned(), Text::new(bytes, input.name())?);
        Ok(Self {
            text,
            path,
            source: Arc::clone(source),
            grammar: Grammar::new(dialect),
            buffer: Vec::new(),
            start: 0,
            end: 0,
            begun: false,
            ended: false,
            fields: Vec::new(),
            width: None,
            line: 0,
        })
    }

    /// Bytes read since the last call, counted before decompression.
    pub(super) fn work(&mut self) -> u64 {
        self.text.work()
    }

    /// Go to the next record; false at the end of the file.
    pub(super) fn advance(&mut self) -> Result<bool> {
        loop {
            self.start = self.end;
            if self.start == self.buffer.len() && !self.fill()? {
                return Ok(false);
            }
            self.line += 1;
            self.scan()?;
            if let [field] = self.fields[..]
                && field.start == field.end
            {
                continue;
            }
            let width = *self.width.get_or_insert(self.fields.len());
            return if self.fields.len() == width { Ok(true) } else { Err(self.uneven()) };
        }
    }

    fn scan(&mut self) -> Result<()> {
        loop {
            match self.grammar.scan(&self.buffer[self.start..], self.ended, &mut self.fields) {
                Ok(Scan::Record(length)) => {
                    self.end = self.start + length;
                    return Ok(());
                }
                Ok(Scan::Incomplete) if self.buffer.len() - self.start > LONGEST => {
                    return Err(self.endless());
                }
                Ok(Scan::Incomplete) => self.fill().map(drop)?,
                Err(wrong) => return Err(self.wrong(wrong)),
            }
        }
    }

    /// Read on, behind what is left of the buffer; false if nothing is left and nothing comes.
    fn fill(&mut self) -> Result<bool> {
        let left = self.buffer.len() - self.start;
        self.buffer.copy_within(self.start.., 0);
        // Twice as much as there is, so that a long record is not scanned too often.
        self.buffer.resize(left + left.max(PIECE), 0);
        (self.start, self.end) = (0, 0);
        let mut filled = left;
        while filled < self.buffer.len() {
            let read =
                self.text.reader.read(&mut self.buffer[filled..]).map_err(|e| io_failed(&self.path, &e))?;
            filled += read;
            if read == 0 {
                self.ended = true;
                break;
            }
        }
        self.buffer.truncate(filled);
        if !std::mem::replace(&mut self.begun, true) {
            self.start = mark(&self.buffer, &self.source)?;
        }
        Ok(self.start < filled)
    }

    /// The current record.
    pub(super) fn record(&self) -> Result<CsvRecord<'_>> {
        let text = simdutf8::basic::from_utf8(&self.buffer[self.start..self.end]);
        let text = text.map_err(|_| Error::Data {
            source_name: self.source.to_string(),
            what: format!("{} is not valid UTF-8", self.place()),
            fix: "convert the file to UTF-8, for example with iconv",
        })?;
        Ok(CsvRecord { text, fields: &self.fields, grammar: &self.grammar })
    }

    fn place(&self) -> String {
        format!("line {} (quoted line breaks not counted)", self.line)
    }

    fn data(&self, what: String, fix: &'static str) -> Error {
        Error::Data { source_name: self.source.to_string(), what, fix }
    }

    fn uneven(&self) -> Error {
        let what = format!("{} does not have as many fields as the first line", self.place());
        self.data(what, "mend the line; fields with delimiters or line breaks need double quotes")
    }

    fn endless(&self) -> Error {
        let what = format!("{} is endless, most likely because a quote in it is not closed", self.place());
        self.data(what, "close it, or write the field in quotes with every quote inside doubled")
    }

    fn wrong(&self, wrong: Wrong) -> Error {
        // What is not closed, and what is closed too early.
        const OPEN: &str = concat!("close it, or ", quotes!());
        const EARLY: &str = quotes!();
        let place = self.place();
        match wrong {
            Wrong::OpenQuote => self.data(format!("a quote opened in {place} is not closed"), OPEN),
            Wrong::StrayQuote => {
                self.data(format!("{place} has a quote within a field, which readers take differently"), EARLY)
            }
            Wrong::AfterQuote => {
                self.data(format!("{place} has text after a closing quote, which readers take differently"), EARLY)
            }
            Wrong::BareReturn => self.data(
                format!("{place} has a carriage return without a line feed, which ends a line for some readers only"),
                "end lines with line feeds, and put a field with carriage returns in quotes",
            ),
        }
    }
}
