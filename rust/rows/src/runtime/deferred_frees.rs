//! Large arrays that a job no longer needs. Giving them back to the system takes a while, so the caller may have its answer
//! first.

use std::sync::{Mutex, PoisonError};

/// Values that wait to be freed.
#[derive(Default)]
pub struct DeferredFrees(Mutex<Vec<Box<dyn Send>>>);

/// They may hold keys: they are not shown.
impl std::fmt::Debug for DeferredFrees {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeferredFrees(..)")
    }
}

impl DeferredFrees {
    /// Put values away.
    pub(super) fn add(&self, values: Vec<Box<dyn Send>>) {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(values);
    }

    /// Free all of them.
    pub fn free(&self) {
        // The lock is not held while they are freed.
        let values = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(values);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::runtime::{Control, parallel};

    /// Who asks for the values that wait frees them. Without asking, and with a limit of memory, nothing is put away.
    #[test]
    fn values_wait_only_where_someone_frees_them() {
        let value = Arc::new(());
        let others = || Arc::strong_count(&value) - 1;
        let free_later =
            |control: &Control| parallel::free_later(control, 1, vec![Box::new(Arc::clone(&value))]);
        let (control, deferred_frees) = Control::default().with_deferred_frees();
        free_later(&control.clone());
        free_later(&control.with_at_most(1));
        assert_eq!(others(), 2);
        deferred_frees.free();
        assert_eq!(others(), 0);
        free_later(&Control::default());
        assert_eq!(others(), 0);
        let (limited, _deferred_frees) = Control::new(None, Some(u64::MAX)).with_deferred_frees();
        free_later(&limited);
        assert_eq!(others(), 0);
    }
}
