//! Panics that become errors, without a word on standard error.
//!
//! Decoders of other crates panic on some malformed files, and the message of a panic can quote what they stumbled over.
//! Catching the panic is not enough: the process-wide hook prints the message before anything is caught. So the hook is
//! replaced, once, by one that is silent for threads inside [`caught`] and calls the hook before it for all others.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread's panics are caught, and so not to be printed.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Run `work`; a panic in it, which is not printed, gives `None`.
///
/// What `work` was changing when it panicked must not be used afterwards.
///
/// # Contract
/// Nothing that the panic says leaves this function, unless a hook that was installed after the first call prints it.
/// Threads that `work` starts are their own affair.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    install();
    let _quiet = Quiet::set(true);
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Whether this thread is inside [`caught`]; to be handed to the threads it starts.
pub(crate) fn are_caught() -> bool {
    QUIET.get()
}

/// Run `work` on a thread whose panics are rethrown on the thread that started it, where `caught` says who catches them.
pub(crate) fn rethrown<T>(caught: bool, work: impl FnOnce() -> T) -> T {
    let _quiet = Quiet::set(caught);
    work()
}

fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            // Otherwise: a thread whose locals are gone is past all work of this crate.
            if !QUIET.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
}

/// Sets the mark of this thread, and sets it back at the end.
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
