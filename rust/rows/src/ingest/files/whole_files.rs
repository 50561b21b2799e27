//! Files of columns whose rows another library copies. Its reader is laxer, so all are read here first.

use std::path::PathBuf;

use bytes::Bytes;
use dpsel_exact::Result;

use super::file_list::{FileList, Files, FolderValues};
use crate::ingest::names::{Columns, UserColumns};
use crate::runtime::Control;

/// A file that was read to its end.
#[derive(Debug)]
pub struct WholeFile {
    /// The path, as errors show it.
    pub path: PathBuf,
    /// All bytes, if they came through a pipe.
    pub bytes: Option<Bytes>,
    /// The columns that its folders tell.
    pub folders: FolderValues,
}

/// Read the item columns of all files to their ends, as a selection reads them. What it refuses is refused.
pub(in crate::ingest) fn whole(
    list: FileList<'_>,
    items: Vec<String>,
    control: &Control,
) -> Result<Vec<WholeFile>> {
    let columns = Columns { user: UserColumns::Several(Vec::new()), items, ngrams: None, levels: None };
    let (mut found, mut files) = (Vec::new(), Vec::new());
    for (place, (input, format)) in list.placed(control)? {
        let input = input.held(control)?;
        let folders = list.folders(&input, place, format, |_| true)?.into_values();
        found.push(WholeFile { path: input.name().to_owned(), bytes: input.in_memory(), folders });
        files.push((place, (input, format)));
    }
    if let Some(files) = Files::merged(list, files, &columns, control)? {
        files.read_through(control)?;
    }
    Ok(found)
}
