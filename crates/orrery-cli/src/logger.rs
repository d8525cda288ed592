//! The sink of the `log` facade: one line each to standard error.

use std::io::Write as _;

use log::{LevelFilter, Log, Metadata, Record};

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let now = httpdate::fmt_http_date(std::time::SystemTime::now());
            // A closed standard error is no reason to stop serving.
            let _ = writeln!(
                std::io::stderr().lock(),
                "{now} {:<5} {}: {}",
                record.level(),
                record.target(),
                record.args()
            );
        }
    }

    fn flush(&self) {}
}

/// Starts logging at a level; a second call only changes the level.
pub fn start(level: LevelFilter) {
    static SINK: StandardError = StandardError;
    let _ = log::set_logger(&SINK);
    log::set_max_level(level);
}
