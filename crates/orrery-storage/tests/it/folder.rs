//! A folder for one test, removed afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub struct TestFolder(PathBuf);

impl TestFolder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "orrery-storage-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("the temporary folder can be written");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The journal that is written now: the one with the highest number.
    pub fn active_journal(&self) -> PathBuf {
        let engine = self.0.join("fjall");
        fs::read_dir(&engine)
            .expect("the engine's folder exists")
            .filter_map(|entry| entry.ok()?.path().into_os_string().into_string().ok())
            .filter(|path| {
                Path::new(path)
                    .extension()
                    .is_some_and(|kind| kind == "jnl")
            })
            .map(PathBuf::from)
            .max_by_key(|path| path.file_stem().map(|stem| (stem.len(), stem.to_owned())))
            .expect("there is a journal")
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
