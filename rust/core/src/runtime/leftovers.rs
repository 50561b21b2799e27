//! What a job no longer needs, kept until the caller has its answer.

use std::sync::{Mutex, PoisonError};

/// Values to be freed: by [`Leftovers::free`], or with the last [`Control`](super::Control) of the job.
#[derive(Default)]
pub struct Leftovers(Mutex<Vec<Box<dyn Send>>>);

/// They may hold keys: they are not shown.
impl std::fmt::Debug for Leftovers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Leftovers(..)")
    }
}

impl Leftovers {
    /// Keep a value.
    pub(super) fn add(&self, value: Box<dyn Send>) {
        // Nothing panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }

    /// Free all values that are kept.
    pub fn free(&self) {
        // The lock is not held while they are freed.
        let values = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(values);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::runtime::Control;

    #[test]
    fn values_stay_until_they_are_freed_and_do_not_stay_at_all_with_a_limit_of_memory() {
        let value = Arc::new(());
        let others = || Arc::strong_count(&value) - 1;
        let control = Control::default();
        control.clone().leave(Arc::clone(&value));
        assert_eq!(others(), 1);
        control.leftovers().free();
        assert_eq!(others(), 0);
        control.leave(Arc::clone(&value));
        assert_eq!(others(), 1);
        drop(control);
        assert_eq!(others(), 0);
        let limited = Control::new(None, Some(u64::MAX));
        limited.leave(Arc::clone(&value));
        assert_eq!(others(), 0);
    }
}
