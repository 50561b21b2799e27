//! N-grams of a text: the tokeniser behind `ngrams=`.
//!
//! The whole text is lower-cased (Unicode `to_lowercase`, no locale) and split at the Unicode word boundaries (UAX
//! #29). Segments without a letter or digit are not words. An n-gram is n consecutive words, joined by one space,
//! whatever stood between them. A text of fewer than `min` words has no n-grams.
//!
//! N-grams of characters are n consecutive Unicode scalar values of the lower-cased text, in which two or more
//! characters of white space in a row are one space. That is `analyzer="char"` of scikit-learn's `CountVectorizer`.
//!
//! Sub-words are such n-grams of one word with a space before and after it, where words are what stands between white
//! space. A word that is not longer than n, with its spaces, is one n-gram, and longer n make nothing more of it. That
//! is `analyzer="char_wb"`.

use dpsel_exact::{Error, Result};
use unicode_segmentation::UnicodeSegmentation;

use crate::ingest::columns::{ByteColumn, PackedBytes};
use crate::ingest::names::{NGrams, Unit};

/// Append the n-grams of every text of a column, and the number of n-grams of each text to `counts`.
///
/// # Errors
/// [`Error::Internal`] for text that is not UTF-8, which was refused when the rows came in, and for 2^32 n-grams of one
/// text.
pub(super) fn push_ngrams(
    texts: &impl ByteColumn,
    ngrams: NGrams,
    out: &mut PackedBytes,
    counts: &mut Vec<u32>,
) -> Result<()> {
    let mut scratch = NgramBuffers::default();
    for row in 0..texts.rows() {
        let before = out.ends.len();
        let text =
            std::str::from_utf8(texts.get(row)).map_err(|_| Error::Internal("text that is not UTF-8"))?;
        match ngrams.unit {
            Unit::Words => {
                scratch.set_words(text);
                scratch.push_ngrams(ngrams, out);
            }
            Unit::Chars => {
                scratch.set_chars(text);
                scratch.push_ngrams(ngrams, out);
            }
            Unit::Subwords => scratch.push_subwords(text, ngrams, out),
        }
        let count = u32::try_from(out.ends.len() - before);
        counts.push(count.map_err(|_| Error::Internal("a text of more than 2^32 n-grams"))?);
    }
    Ok(())
}

impl NGrams {
    /// The number of words or characters of the n-gram with this key; `None` for bytes that are no text.
    pub(crate) fn units(self, key: &[u8]) -> Option<usize> {
        let text = std::str::from_utf8(key).ok()?;
        Some(match self.unit {
            Unit::Words => 1 + between_words(text).count(),
            Unit::Chars | Unit::Subwords => text.chars().count(),
        })
    }

    /// The keys of the n-grams directly above the one with this key, which are those without its last and without its first
    /// word or character, unless these are too short to be items.
    pub(crate) fn above(self, key: &[u8]) -> [Option<&[u8]>; 2] {
        if self.units(key).is_none_or(|units| units <= usize::from(self.min)) {
            return [None; 2];
        }
        // Otherwise: no text, which has no units.
        let text = std::str::from_utf8(key).unwrap_or_default();
        let (end, start) = match self.unit {
            Unit::Words => (between_words(text).last(), between_words(text).next().map(|at| at + 1)),
            Unit::Chars | Unit::Subwords => {
                let mut starts = text.char_indices().map(|(at, _)| at).skip(1);
                (text.char_indices().next_back().map(|(at, _)| at), starts.next())
            }
        };
        [end.map(|end| &key[..end]), start.map(|start| &key[start..])]
    }
}

/// Where the spaces between the words of an n-gram are. A word may begin with spaces, of several kinds, to which a mark
/// belongs, but it does not end with one.
fn between_words(text: &str) -> impl Iterator<Item = usize> + '_ {
    let pairs = text.chars().zip(text.char_indices().skip(1));
    pairs.filter(|(before, (_, after))| *after == ' ' && !is_joined_space(*before)).map(|(_, (at, _))| at)
}

/// Whether no word ends between this character and a space: those of the class `WSegSpace` of UAX 29, rule `WB3d`.
const fn is_joined_space(before: char) -> bool {
    matches!(
        before,
        ' ' | '\u{1680}' | '\u{2000}'..='\u{2006}' | '\u{2008}'..='\u{200a}' | '\u{205f}' | '\u{3000}'
    )
}

#[derive(Debug, Default)]
struct NgramBuffers {
    /// The words, each followed by one space, or the characters.
    text: String,
    /// Where each word or character starts and ends.
    spans: Vec<(usize, usize)>,
}

impl NgramBuffers {
    fn set_words(&mut self, text: &str) {
        self.text.clear();
        self.spans.clear();
        for word in text.to_lowercase().unicode_words() {
            let start = self.text.len();
            self.text.push_str(word);
            self.spans.push((start, self.text.len()));
            self.text.push(' ');
        }
    }

    fn set_chars(&mut self, text: &str) {
        self.text.clear();
        self.spans.clear();
        // White space is pushed once it is known whether more follows.
        let mut space: Option<(char, usize)> = None;
        let lowered = text.to_lowercase();
        for character in lowered.chars().map(Some).chain([None]) {
            if let Some(white) = character.filter(|character| is_space(*character)) {
                space = Some(space.map_or((white, 1), |(first, count)| (first, count + 1)));
                continue;
            }
            if let Some((first, count)) = space.take() {
                self.push_char(if count == 1 { first } else { ' ' });
            }
            if let Some(character) = character {
                self.push_char(character);
            }
        }
    }

    fn push_subwords(&mut self, text: &str, ngrams: NGrams, out: &mut PackedBytes) {
        let lowered = text.to_lowercase();
        for word in lowered.split(is_space).filter(|word| !word.is_empty()) {
            self.text.clear();
            self.spans.clear();
            for character in [' '].into_iter().chain(word.chars()).chain([' ']) {
                self.push_char(character);
            }
            // A longer n-gram would be the same whole word once more.
            // Otherwise: the word has more characters than any n-gram.
            let longest = ngrams.max.min(u8::try_from(self.spans.len()).unwrap_or(u8::MAX));
            if longest < ngrams.min {
                out.data.extend_from_slice(self.text.as_bytes());
                out.end();
            }
            self.push_ngrams(NGrams { max: longest, ..ngrams }, out);
        }
    }

    fn push_char(&mut self, character: char) {
        let start = self.text.len();
        self.text.push(character);
        self.spans.push((start, self.text.len()));
    }

    fn push_ngrams(&self, ngrams: NGrams, out: &mut PackedBytes) {
        for n in usize::from(ngrams.min)..=usize::from(ngrams.max) {
            for gram in self.spans.windows(n) {
                if let (Some(first), Some(last)) = (gram.first(), gram.last()) {
                    out.data.extend_from_slice(&self.text.as_bytes()[first.0..last.1]);
                    out.end();
                }
            }
        }
    }
}

/// White space as Python's regular expressions know it: that of Unicode, and four separators of ASCII.
fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\x1c'..='\x1f').contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::BinaryArray;
    use proptest::prelude::*;

    fn grams(text: &str, min: u8, max: u8) -> Vec<String> {
        grams_of(text, NGrams { min, max, unit: Unit::Words })
    }

    fn grams_of(text: &str, ngrams: NGrams) -> Vec<String> {
        let (mut out, mut counts) = (PackedBytes::default(), Vec::new());
        let texts = BinaryArray::from(vec![text.as_bytes()]);
        push_ngrams(&texts, ngrams, &mut out, &mut counts).unwrap();
        assert_eq!(counts, [u32::try_from(out.rows()).unwrap()]);
        (0..out.rows()).map(|r| String::from_utf8(out.get(r).to_vec()).unwrap()).collect()
    }

    #[test]
    fn words_and_pairs() {
        assert_eq!(grams("The quick,  brown", 1, 2), ["the", "quick", "brown", "the quick", "quick brown"]);
        assert_eq!(grams("can't 3.14 ÜBER 你好", 1, 1), ["can't", "3.14", "über", "你", "好"]);
    }

    #[test]
    fn characters_with_runs_of_white_space_as_one() {
        let chars = |text, min, max| grams_of(text, NGrams { min, max, unit: Unit::Chars });
        assert_eq!(chars("aÜ b", 1, 2), ["a", "ü", " ", "b", "aü", "ü ", " b"]);
        assert_eq!(chars("a \n\tb", 3, 3), ["a b"]);
        assert_eq!(chars("a\tb\x1f\x1f", 2, 2), ["a\t", "\tb", "b "]);
        assert_eq!(chars("ab", 3, 4), Vec::<String>::new());
        assert_eq!(chars("", 1, 8), Vec::<String>::new());
    }

    #[test]
    fn subwords_stay_within_a_word_and_show_its_ends() {
        let pieces = |text, min, max| grams_of(text, NGrams { min, max, unit: Unit::Subwords });
        assert_eq!(pieces("Tea\tü!", 3, 3), [" te", "tea", "ea ", " ü!", "ü! "]);
        assert_eq!(pieces("a tea", 3, 5), [" a ", " te", "tea", "ea ", " tea", "tea ", " tea "]);
        assert_eq!(pieces("a  b", 4, 8), [" a ", " b "]);
        assert_eq!(pieces("ab", 1, 1), [" ", "a", "b", " "]);
        assert_eq!(pieces(" \n", 1, 8), Vec::<String>::new());
    }

    #[test]
    fn what_is_inside_a_word_that_begins_with_spaces_is_found() {
        let text = "a \u{93e}b  \u{93e} c";
        assert_eq!(grams(text, 1, 1), ["a", " \u{93e}", "b", "  \u{93e}", "c"]);
        let ngrams = NGrams { min: 1, max: 3, unit: Unit::Words };
        let above = |text: &str| {
            ngrams.above(text.as_bytes()).map(|key| key.map(|key| str::from_utf8(key).unwrap().to_owned()))
        };
        assert_eq!(above("a  \u{93e}"), [Some("a".into()), Some(" \u{93e}".into())]);
        assert_eq!(above(" \u{93e} b   \u{93e}"), [Some(" \u{93e} b".into()), Some("b   \u{93e}".into())]);
        assert_eq!(above("  \u{93e}"), [None, None]);
        for space in ['\u{1680}', '\u{2003}', '\u{205f}', '\u{3000}'] {
            let word = format!("{space} \u{93e}");
            assert_eq!(grams(&word, 1, 1), [word.as_str()]);
            assert_eq!(above(&word), [None, None]);
            assert_eq!(above(&format!("a {word}")), [Some("a".into()), Some(word)]);
        }
        // No word ends before this one, and it is a word's end.
        assert_eq!(above("a\u{202f} b"), [Some("a\u{202f}".into()), Some("b".into())]);
    }

    proptest! {
        /// Whoever has an n-gram has those inside it: the proof of lines of descent needs that.
        #[test]
        fn what_stands_above_an_ngram_is_in_the_same_text(
            text in "([a-c ]|[ \u{93e}\u{301}\u{200d}\u{2060}'.,0-9_ßΣİ\r\n\u{a0}\u{1f1e6}\u{202f}\u{3000}\u{2003}\u{205f}]|\\PC){0,14}",
            min in 1_u8..4, more in 0_u8..3,
        ) {
            for unit in [Unit::Words, Unit::Chars, Unit::Subwords] {
                let ngrams = NGrams { min, max: min + more, unit };
                let all = grams_of(&text, ngrams);
                for gram in &all {
                    let units = ngrams.units(gram.as_bytes()).unwrap();
                    prop_assert!(units <= usize::from(ngrams.max) || units == 0, "{gram:?}");
                    let above = ngrams.above(gram.as_bytes());
                    prop_assert_eq!(above.iter().flatten().count(), if units > usize::from(min) { 2 } else { 0 });
                    for part in above.into_iter().flatten() {
                        let part = str::from_utf8(part).unwrap();
                        prop_assert!(all.iter().any(|other| other == part), "{part:?} of {gram:?} in {text:?}");
                        prop_assert_eq!(ngrams.units(part.as_bytes()), Some(units - 1));
                    }
                }
            }
        }
    }

    #[test]
    fn short_texts_have_no_long_ngrams() {
        assert_eq!(grams("one two", 3, 4), Vec::<String>::new());
        assert_eq!(grams(" -- !? ", 1, 2), Vec::<String>::new());
        assert_eq!(grams("", 1, 1), Vec::<String>::new());
    }
}
