//! Output files. An atomic file is written to a temporary file in the same folder, flushed to disk, and then renamed:
//! its path never holds a part of it.

mod atomic;
mod encode;
mod format;
mod instants;
mod refusal;
mod table;
#[cfg(test)]
mod tests;

pub use format::OutputFormat;
pub use table::{
    check_table_path, create_text, write_rows, write_table, write_table_to, write_text_atomically,
};
