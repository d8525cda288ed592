//! Work that is shared out to every core, with results that do not tell.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What `work` makes of each entry, in their order.
pub(crate) fn map<T: Sync, R: Send>(entries: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = cores.min(entries.len());
    if threads < 2 {
        return entries.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = entries.get(at) else {
                return done;
            };
            done.push((at, work(entry)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::map;

    #[test]
    fn results_keep_their_order() {
        let entries: Vec<u64> = (0..1_000).collect();
        let expected: Vec<u64> = entries.iter().map(|entry| entry * 2).collect();
        assert_eq!(map(&entries, |entry| entry * 2), expected);
        assert!(map(&[] as &[u64], |entry| *entry).is_empty());
    }
}
