//! Records the commit of a release build from a clone; `dpsel --version` says it.
//!
//! `DPSEL_COMMIT` goes before. Development builds record none, because each commit would build the module again.

use std::env;
use std::path::Path;
use std::process::Command;

const COMMIT: &str = "DPSEL_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={COMMIT}");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if env::var_os(COMMIT).is_some() || !is_release || !is_our_clone() {
        return;
    }
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git(&["rev-parse", "HEAD"]) {
        println!("cargo::rustc-env={COMMIT}={commit}");
    }
}

/// Whether the repository around is this project's own: sources may also lie within somebody else's.
fn is_our_clone() -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize();
    let top = git(&["rev-parse", "--show-toplevel"]).and_then(|top| Path::new(&top).canonicalize().ok());
    root.is_ok_and(|root| top.is_some_and(|top| top == root))
}

/// What git prints, if there is a git and a repository.
fn git(words: &[&str]) -> Option<String> {
    let done = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| text.trim().to_owned())
}
