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

    /// A copy of the folder as it is now: what a crash would leave. The store is not asked, so the
    /// durable mark may lag; `raise_mark_from` takes it from a folder that was closed.
    pub fn crash_image(&self) -> Self {
        let image = Self::new();
        copy(&self.0, &image.0);
        image
    }

    pub fn raise_mark_from(&self, closed: &Self) {
        fs::copy(closed.0.join("durable"), self.0.join("durable")).expect("the mark is there");
    }

    /// Cuts the journal behind its last byte (it is created with room to spare), and `more`
    /// bytes before that; answers its length.
    pub fn cut_journal(&self, more: usize) -> u64 {
        let path = self.active_journal();
        let bytes = fs::read(&path).expect("the journal can be read");
        let end = bytes
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        let length = (end - more) as u64;
        let file = fs::OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.set_len(length))
            .expect("the journal can be cut");
        length
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

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target).expect("a new folder");
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).expect("a copy");
        }
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
