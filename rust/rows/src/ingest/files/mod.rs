//! Files in: paths and patterns are expanded, schemas merged, and each part of a file becomes one task.

mod compressed;
mod concatenated_files;
mod csv;
mod expand;
mod file_list;
mod filter;
mod hive;
mod input;
mod ipc;
mod magic;
mod ndjson;
mod open_file;
mod parquet;
mod pipe;
mod reason;
mod tables;
mod text;
mod unicode;
mod whole_files;

pub use csv::csv_field;
pub use file_list::FolderValues;
pub(super) use file_list::{FileList, Files};
pub use filter::RowFilter;
pub(super) use filter::filter;
pub use whole_files::WholeFile;
pub(super) use whole_files::whole;
