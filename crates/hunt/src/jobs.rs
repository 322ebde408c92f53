//! Several runs at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Does something with every item, `jobs` at a time, and returns the results in the order of the items. `done` hears
/// how many are through.
pub fn side_by_side<T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    done: &mut dyn FnMut(usize),
) -> Vec<R> {
    if jobs <= 1 || items.len() <= 1 {
        let one = |(number, item)| {
            done(number);
            work(item)
        };
        return items.iter().enumerate().map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let worker = || {
            while let Some((number, item)) = {
                let number = next.fetch_add(1, Ordering::Relaxed);
                items.get(number).map(|item| (number, item))
            } {
                let result = work(item);
                results.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
            }
        };
        let workers: Vec<_> = (0..jobs.min(items.len())).map(|_| scope.spawn(worker)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            done(results.lock().unwrap_or_else(PoisonError::into_inner).len());
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order() {
        let items: Vec<u64> = (0..50).collect();
        for jobs in [1, 4] {
            assert_eq!(
                side_by_side(jobs, &items, |item| item * 2, &mut |_| {}),
                (0..100).step_by(2).collect::<Vec<_>>()
            );
        }
    }
}
