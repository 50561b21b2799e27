//! Publication: fresh columns with the released items alone, and files that hold all of them or nothing.

mod publish;
mod write;

pub(crate) use publish::{
    Beside, Numbers, PublicItems, exactly, has_values, publish_columns, with_column, with_public,
};
pub use publish::{PUBLIC_COLUMN, WEIGHT_COLUMN};
pub use write::{
    OutputFormat, check_table_path, create_text, write_rows, write_table, write_table_to,
    write_text_atomically,
};
