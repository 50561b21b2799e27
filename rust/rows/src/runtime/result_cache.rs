//! The last few results of a function of public parameters.

use std::collections::VecDeque;
use std::sync::Mutex;

use dpsel_exact::Result;

/// Results that are remembered, the latest first.
#[derive(Debug)]
pub struct Remembered<K, V> {
    most: usize,
    recent: Mutex<VecDeque<(K, V)>>,
}

impl<K: PartialEq, V: Clone> Remembered<K, V> {
    /// Remember up to `most` results.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { most, recent: Mutex::new(VecDeque::new()) }
    }

    /// The result for these parameters, made now if it is not known.
    ///
    /// # Errors
    /// Those of `make`. They are not remembered.
    pub fn get(&self, parameters: K, make: impl FnOnce() -> Result<V>) -> Result<V> {
        // A lock that is held (in a forked child perhaps for ever) is not waited for.
        if let Ok(recent) = self.recent.try_lock()
            && let Some((_, known)) = recent.iter().find(|(other, _)| *other == parameters)
        {
            return Ok(known.clone());
        }
        let result = make()?;
        if let Ok(mut recent) = self.recent.try_lock() {
            recent.truncate(self.most - 1);
            recent.push_front((parameters, result.clone()));
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use dpsel_exact::Error;

    use super::*;

    #[test]
    fn the_last_results_are_made_once_and_errors_each_time() {
        let remembered = Remembered::new(2);
        let of = |number: u64, result: u64| remembered.get(number, || Ok(result)).unwrap();
        assert_eq!([of(1, 10), of(2, 20), of(1, 11), of(2, 21)], [10, 20, 10, 20]);
        // A third one takes the place of the oldest.
        assert_eq!([of(3, 30), of(2, 22), of(1, 12)], [30, 20, 12]);
        assert!(remembered.get(7, || Err(Error::Internal("none"))).is_err());
        assert_eq!(of(7, 70), 70);
        // Who holds the lock keeps nobody waiting.
        let _held = remembered.recent.lock().unwrap();
        assert_eq!(of(7, 71), 71);
    }
}
