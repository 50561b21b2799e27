//! Every kept input through its target: the corpus, which has to be accepted, and what the search once found; then some
//! seconds of blind changes. `nox -s fuzz` searches with a guide.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step fails the test")]

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dpsel_fuzz::{TARGETS, Target, mutated};

/// For all targets together; they run at the same time.
const SECONDS: u64 = 8;

fn folder(kind: &str, target: &Target) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(kind).join(target.name)
}

/// The files of a folder, which need not be there.
fn inputs(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn the_corpus_holds_its_promises() {
    for target in &TARGETS {
        let corpus = inputs(&folder("corpus", target));
        assert!(!corpus.is_empty(), "no corpus for {}", target.name);
        for input in &corpus {
            (target.run)(input);
        }
    }
}

#[test]
fn what_was_found_once_is_mended() {
    for target in &TARGETS {
        for input in &inputs(&folder("findings", target)) {
            (target.run)(input);
        }
    }
}

/// Other inputs in every run: a failure names the file that it wrote, which belongs into `findings/` once it is mended.
#[test]
fn a_short_search_finds_nothing() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    // A single table of a curve can take long: those are left to `nox -s fuzz`.
    let quick = TARGETS.into_iter().filter(|target| target.name != "curves");
    let searches: Vec<_> =
        quick.map(|target| std::thread::spawn(move || search(&target, now.as_secs() << 24))).collect();
    let found: Vec<_> = searches.into_iter().filter_map(|search| search.join().unwrap()).collect();
    assert!(found.is_empty(), "{found:?}");
}

fn search(target: &Target, first: u64) -> Option<PathBuf> {
    let corpus = inputs(&folder("corpus", target));
    let (start, mut seed) = (SystemTime::now(), first);
    while start.elapsed().unwrap_or_default() < Duration::from_secs(SECONDS) {
        let [input, other] = [seed, seed / 7].map(|n| &corpus[usize::try_from(n).unwrap() % corpus.len()]);
        let bytes = mutated(input, other, seed);
        let run = target.run;
        if catch_unwind(|| run(&bytes)).is_err() {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{seed}", target.name));
            fs::write(&path, bytes).unwrap();
            return Some(path);
        }
        seed += 1;
    }
    None
}
