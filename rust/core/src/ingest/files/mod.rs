//! Files in: paths and patterns are expanded, schemas merged, and each part of a file becomes one task.

mod csv;
mod expand;
mod file_list;
mod input;
mod ipc;
mod ndjson;
mod open_file;
mod parquet;
mod pipe;
mod reason;
mod text;

pub(super) use file_list::{FileList, Files};
pub use input::STANDARD_INPUT_NAME;
