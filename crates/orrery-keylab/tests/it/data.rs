//! Data for tests.

use orrery_keylab::profile::{Profile, Profiler};

/// The profile of items, all of which are kept.
pub fn profile(items: impl IntoIterator<Item = String>) -> Profile {
    let mut profiler = Profiler::new(200_000, 200_000, 100 << 20);
    for (index, item) in items.into_iter().enumerate() {
        profiler.item(index as u64, item.as_bytes()).unwrap();
    }
    profiler.finish()
}
