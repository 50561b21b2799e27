//! Panics that become errors, without a message on standard error.
//!
//! Decoders of other crates panic on some malformed files, and the message of a panic can quote the data. Catching the
//! panic is not enough, because the process-wide hook prints the message first. So the hook is replaced once. The new
//! hook is silent for threads inside [`caught`] and calls the previous hook for all others.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread's panics are caught, so that they must not be printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. A panic in it gives `None` and prints nothing.
///
/// Values that `work` was changing when it panicked must not be used afterwards.
///
/// # Contract
/// The message of the panic does not leave this function, unless a hook that was installed after the first call prints
/// it. Threads that `work` starts are not covered.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    install();
    let _quiet = Quiet::set(true);
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Whether this thread is inside [`caught`]. It passes the answer to the threads that it starts.
pub(crate) fn are_caught() -> bool {
    QUIET.get()
}

/// Runs `work` on a thread whose panics are rethrown on the thread that started it. With `caught`, that thread is
/// inside [`caught()`], so nothing is printed here.
pub(crate) fn rethrown<T>(caught: bool, work: impl FnOnce() -> T) -> T {
    let _quiet = Quiet::set(caught);
    work()
}

fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            // Otherwise: the locals of the thread are dropped, so it runs no code of this crate any more.
            if !QUIET.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
}

/// Sets this thread's flag, and restores it when dropped.
struct Quiet {
    before: bool,
}

impl Quiet {
    fn set(quiet: bool) -> Self {
        Self { before: QUIET.replace(quiet) }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        QUIET.set(self.before);
    }
}
