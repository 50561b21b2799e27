//! The nodes of a tree: each row has the node that it names, and all nodes above it.
//!
//! Nodes of a row stand from the top down, and the last one is the row's own.

use arrow_buffer::NullBuffer;
use dpsel_exact::{Error, Result};

use crate::ingest::columns::{ByteColumn, Flat, PackedBytes};
use crate::ingest::items::push_component;
use crate::ingest::names::MOST_LEVELS;

const EMPTY: Error = Error::Values {
    what: "has a path with an empty part, so that a node would have no name",
    fix: "strip the separator at both ends of each path and write it once between two parts, or make such paths null",
};
const TOO_DEEP: Error = Error::Values {
    what: "has a path of more than 32 levels",
    fix: "cut paths off before the call; of a user's limit each level takes one item",
};

/// Append the nodes of every path of a column, and the number of nodes of each path to `counts`.
///
/// # Errors
/// [`Error::Values`] for an empty part, and for more than [`MOST_LEVELS`].
pub(super) fn push_paths(
    paths: &impl ByteColumn,
    separator: &[u8],
    out: &mut PackedBytes,
    counts: &mut Vec<u32>,
) -> Result<()> {
    for row in 0..paths.rows() {
        let path = paths.get(row);
        let (mut first, mut levels) = (0, 0_u32);
        loop {
            let rest = &path[first..];
            let len = rest.windows(separator.len()).position(|text| text == separator).unwrap_or(rest.len()); // Otherwise: the last part.
            if len == 0 {
                return Err(EMPTY);
            }
            out.data.extend_from_slice(&path[..first + len]);
            out.end();
            levels += 1;
            if levels as usize > MOST_LEVELS {
                return Err(TOO_DEEP);
            }
            if len == rest.len() {
                break;
            }
            first += len + separator.len();
        }
        counts.push(levels);
    }
    Ok(())
}

/// Append the nodes of every row of several columns, and the number of nodes of each row to `counts`. A null ends a path.
///
/// # Errors
/// [`Error::Data`] for a value right of a null, naming the columns.
pub(super) fn push_nodes(
    columns: &[(Flat, Option<NullBuffer>)],
    (names, source, rows): (&[&str], &str, usize),
    out: &mut PackedBytes,
    counts: &mut Vec<u32>,
) -> Result<()> {
    let mut key = Vec::new();
    for row in 0..rows {
        let is_null = |nulls: &Option<NullBuffer>| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let mut levels = 0;
        key.clear();
        for (at, (column, nulls)) in columns.iter().enumerate() {
            if is_null(nulls) {
                continue;
            }
            if at > levels {
                return Err(Error::Data {
                    source_name: source.to_owned(),
                    what: format!(
                        "a row has a value in item column '{}' and a null in '{}', which is a level above it",
                        names[at], names[levels]
                    ),
                    fix: "order item= from the top of the tree, and fill in what is missing above a value",
                });
            }
            push_component(column, row, &mut key);
            out.data.extend_from_slice(&key);
            out.end();
            levels += 1;
        }
        // At most the number of columns, which is checked.
        counts.push(u32::try_from(levels).map_err(|_| TOO_DEEP)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use arrow_array::BinaryArray;

    use super::*;

    fn nodes(path: &str, separator: &str) -> Result<Vec<String>> {
        let (mut out, mut counts) = (PackedBytes::default(), Vec::new());
        let paths = BinaryArray::from(vec![path.as_bytes()]);
        push_paths(&paths, separator.as_bytes(), &mut out, &mut counts)?;
        assert_eq!(counts, [u32::try_from(out.rows()).unwrap()]);
        Ok((0..out.rows()).map(|row| String::from_utf8(out.get(row).to_vec()).unwrap()).collect())
    }

    #[test]
    fn a_path_has_all_nodes_above_it() {
        assert_eq!(nodes("a/b c/ü", "/").unwrap(), ["a", "a/b c", "a/b c/ü"]);
        assert_eq!(nodes("a", "/").unwrap(), ["a"]);
        assert_eq!(nodes("a::b:c", "::").unwrap(), ["a", "a::b:c"]);
    }

    #[test]
    fn empty_parts_and_deep_paths_are_refused() {
        for path in ["", "/", "/a", "a/", "a//b", "//"] {
            assert!(matches!(nodes(path, "/"), Err(Error::Values { .. })), "{path}");
        }
        let deep = |levels| vec!["x"; levels].join("/");
        assert_eq!(nodes(&deep(MOST_LEVELS), "/").unwrap().len(), MOST_LEVELS);
        assert!(matches!(nodes(&deep(MOST_LEVELS + 1), "/"), Err(Error::Values { .. })));
    }
}
