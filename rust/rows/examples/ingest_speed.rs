//! Rows per second of reading a Parquet file into contributions.
//!
//! `cargo run --release -p dpsel-core --example ingest_speed -- FILE USER ITEM [THREADS]`

use std::error::Error;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use dpsel_exact::random::ReleaseKey;
use dpsel_rows::contributions::read;
use dpsel_rows::ingest::{Columns, Source};
use dpsel_rows::runtime::Control;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, user, item, rest @ ..] = arguments.as_slice() else {
        return Err("arguments: FILE USER ITEM [THREADS]".into());
    };
    let threads = rest.first().map(|n| n.parse::<NonZeroUsize>()).transpose()?;
    let columns =
        Columns { user: user.as_str().into(), items: vec![item.clone()], ngrams: None, levels: None };
    let metadata = SerializedFileReader::new(std::fs::File::open(file)?)?;
    let rows = metadata.metadata().file_metadata().num_rows();
    for _ in 0..3 {
        let start = Instant::now();
        let control = Control::new(threads, None);
        let key = ReleaseKey::from_system()?;
        let contributions =
            read(Source::Files(vec![PathBuf::from(file)], None), &columns, None, &key, &control)?;
        let seconds = start.elapsed().as_secs_f64();
        let rate = rows as f64 / seconds / 1e6;
        writeln!(std::io::stdout(), "{seconds:.3} s, {rate:.1} M rows/s, {} threads", control.threads())?;
        drop(contributions);
    }
    Ok(())
}
