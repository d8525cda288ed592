//! A word to whoever waits for something that usually takes no time.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Speaks up unless it is dropped in time.
#[derive(Debug)]
pub struct Patience {
    done: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

impl Patience {
    /// Calls `speak` after this time. Where the system has no thread to spare, nothing is said.
    pub fn new(time: Duration, speak: impl FnOnce() + Send + 'static) -> Self {
        let (done, ended) = channel();
        let wait = move || {
            if ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                speak();
            }
        };
        Self {
            done: Some(done),
            waiting: thread::Builder::new().spawn(wait).ok(),
        }
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        self.done = None;
        if let Some(waiting) = self.waiting.take() {
            let _ = waiting.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speaks_only_when_the_wait_is_long() {
        let (said, hear) = channel();
        let other = said.clone();
        let patience = Patience::new(Duration::from_secs(3600), move || {
            let _ = other.send("too early");
        });
        drop(patience);
        let patience = Patience::new(Duration::ZERO, move || {
            let _ = said.send("at last");
        });
        assert_eq!(hear.recv(), Ok("at last"));
        drop(patience);
        assert!(hear.recv().is_err(), "everything was said");
    }
}
