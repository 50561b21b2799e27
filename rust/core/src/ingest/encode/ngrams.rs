//! N-grams of a text: the tokeniser behind `ngrams=`.
//!
//! The whole text is lower-cased (Unicode `to_lowercase`, no locale) and split at the Unicode word boundaries (UAX
//! #29). Segments without a letter or digit are not words. An n-gram is n consecutive words, joined by one space,
//! whatever stood between them. A text of fewer than `min` words has no n-grams.

use unicode_segmentation::UnicodeSegmentation;

use crate::ingest::columns::{ByteColumn, Packed};
use crate::ingest::names::NGrams;
use crate::{Error, Result};

/// Append the n-grams of every text of a column, and the number of n-grams of each text to `counts`.
///
/// # Errors
/// [`Error::Internal`] for text that is not UTF-8, which was refused when the rows came in, and for 2^32 n-grams of one
/// text.
pub(super) fn push_ngrams(
    texts: &impl ByteColumn,
    ngrams: NGrams,
    out: &mut Packed,
    counts: &mut Vec<u32>,
) -> Result<()> {
    let mut scratch = Scratch::default();
    for row in 0..texts.rows() {
        let before = out.ends.len();
        let text =
            std::str::from_utf8(texts.get(row)).map_err(|_| Error::Internal("text that is not UTF-8"))?;
        push_text(text, ngrams, &mut scratch, out);
        let count = u32::try_from(out.ends.len() - before);
        counts.push(count.map_err(|_| Error::Internal("a text of more than 2^32 n-grams"))?);
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Scratch {
    /// The words, each followed by one space.
    words: String,
    /// Where each word starts and ends.
    spans: Vec<(usize, usize)>,
}

fn push_text(text: &str, ngrams: NGrams, scratch: &mut Scratch, out: &mut Packed) {
    scratch.words.clear();
    scratch.spans.clear();
    for word in text.to_lowercase().unicode_words() {
        let start = scratch.words.len();
        scratch.words.push_str(word);
        scratch.spans.push((start, scratch.words.len()));
        scratch.words.push(' ');
    }
    for n in usize::from(ngrams.min)..=usize::from(ngrams.max) {
        for gram in scratch.spans.windows(n) {
            if let (Some(first), Some(last)) = (gram.first(), gram.last()) {
                out.data.extend_from_slice(&scratch.words.as_bytes()[first.0..last.1]);
                out.end();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::BinaryArray;

    fn grams(text: &str, min: u8, max: u8) -> Vec<String> {
        let (mut out, mut counts) = (Packed::default(), Vec::new());
        let texts = BinaryArray::from(vec![text.as_bytes()]);
        push_ngrams(&texts, NGrams { min, max }, &mut out, &mut counts).unwrap();
        assert_eq!(counts, [u32::try_from(out.rows()).unwrap()]);
        (0..out.rows()).map(|r| String::from_utf8(out.get(r).to_vec()).unwrap()).collect()
    }

    #[test]
    fn words_and_pairs() {
        assert_eq!(grams("The quick,  brown", 1, 2), ["the", "quick", "brown", "the quick", "quick brown"]);
        assert_eq!(grams("can't 3.14 ÜBER 你好", 1, 1), ["can't", "3.14", "über", "你", "好"]);
    }

    #[test]
    fn short_texts_have_no_long_ngrams() {
        assert_eq!(grams("one two", 3, 4), Vec::<String>::new());
        assert_eq!(grams(" -- !? ", 1, 2), Vec::<String>::new());
        assert_eq!(grams("", 1, 1), Vec::<String>::new());
    }
}
