//! Syncing fjall's journal without holding its lock.
//!
//! `Database::persist` holds the journal's lock over the sync, so nothing can be appended
//! meanwhile. A sync through a second handle of the same file is as good (it is the file that is
//! synced, not the handle) and lets appending go on.
//!
//! It leans on two facts about fjall 3: the active journal is the file `<n>.jnl` with the highest
//! number in its folder, and a journal is synced before its successor is created. Every commit
//! appended before the look for the highest number is therefore either in that file or in one
//! that is synced already. Where the files do not look like that, the store falls back to
//! `Database::persist`.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Looks for the active journal before giving up; a second one is rarely needed.
const ATTEMPTS: usize = 10;

/// A second handle on the active journal.
pub(super) struct Journal {
    folder: PathBuf,
    active: Option<(u64, File)>,
}

impl Journal {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            active: None,
        }
    }

    /// Makes everything that reached the operating system durable. False if the journal was not
    /// found.
    pub(super) fn sync(&mut self) -> io::Result<bool> {
        self.find_active()?;
        let Some((_, file)) = &self.active else {
            return Ok(false);
        };
        file.sync_data()?;
        Ok(true)
    }

    /// The active journal's path, if there is one.
    pub(super) fn active_path(&self) -> io::Result<Option<PathBuf>> {
        Ok(self.highest_number()?.map(|number| self.path(number)))
    }

    fn find_active(&mut self) -> io::Result<()> {
        if let Some((number, _)) = &self.active
            && !self.path(number + 1).try_exists()?
        {
            return Ok(());
        }
        self.active = None;
        for _ in 0..ATTEMPTS {
            let Some(number) = self.highest_number()? else {
                return Ok(());
            };
            // Windows syncs only through a handle that may write.
            match OpenOptions::new().write(true).open(self.path(number)) {
                Ok(file) => {
                    self.active = Some((number, file));
                    return Ok(());
                }
                // Sealed, flushed and removed since the look.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn highest_number(&self) -> io::Result<Option<u64>> {
        let mut highest = None;
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let number = name
                .to_str()
                .and_then(|name| name.strip_suffix(".jnl"))
                .and_then(|number| number.parse::<u64>().ok());
            highest = highest.max(number);
        }
        Ok(highest)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.jnl"))
    }
}
