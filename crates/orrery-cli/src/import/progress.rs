//! The progress line: bytes read, items, rate, time left. Silent when nobody watches.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::inputs::Inputs;
use super::tally::Tally;
use crate::report;

/// A progress line that refreshes itself.
pub struct Progress {
    bar: ProgressBar,
    done: Arc<AtomicBool>,
    ticker: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts the line; standard input has no length and so no time left.
    pub fn start(inputs: &Inputs, tally: Arc<Tally>) -> Self {
        let bar = match inputs.bytes() {
            Some(bytes) => ProgressBar::new(bytes).with_style(style(
                "{bar:30} {percent:>3}% {bytes}/{total_bytes} {msg} ETA {eta}",
            )),
            None => ProgressBar::no_length().with_style(style("{spinner} {bytes} {msg}")),
        };
        let done = Arc::new(AtomicBool::new(false));
        // indicatif hides itself when standard error is no terminal; then nothing ticks.
        let ticker = (!bar.is_hidden()).then(|| {
            let (bar, done) = (bar.clone(), Arc::clone(&done));
            std::thread::spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let items = tally.written();
                    let rate = items as f64 / tally.elapsed().as_secs_f64().max(1e-3);
                    bar.set_message(format!(
                        "{}, {}/s",
                        report::plural(items, "item"),
                        report::count(rate as u64)
                    ));
                    std::thread::sleep(Duration::from_millis(200));
                }
            })
        });
        Self { bar, done, ticker }
    }

    /// Counts what is read.
    pub fn watch<R: Read>(&self, input: R) -> impl Read + use<R> {
        self.bar.wrap_read(input)
    }

    /// Removes the line.
    pub fn finish(mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            let _ = ticker.join();
        }
        self.bar.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
