//! Files of the large table of `benches.large`.
//!
//! Arguments: threads, users of a file, and the number and path of each file. Prints the path and the rows of each.

use std::error::Error;
use std::fs;
use std::io::{Write, stdout};
use std::path::Path;
use std::sync::Mutex;
use std::thread;

use dpsel_bench::large_table::write;

type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [threads, users, files @ ..] = arguments.as_slice() else {
        return Err("needs a number of threads, users of a file, and numbers and paths of files".into());
    };
    let (threads, users): (usize, u64) = (threads.parse()?, users.parse()?);
    let left = Mutex::new(files.chunks_exact(2));
    let next = || left.lock().ok()?.next();
    let work = || -> Result<(), Failed> {
        while let Some([number, path]) = next() {
            let (path, aside) = (Path::new(path), Path::new(path).with_extension("partial"));
            let rows = write(&aside, number.parse::<u64>()? * users, users)?;
            fs::rename(&aside, path)?;
            writeln!(stdout(), "{} {rows}", path.display())?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })
}
