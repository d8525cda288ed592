//! The data folder around an engine: one process at a time, one format, and the durable mark.
//!
//! What lies in it is described in `docs/format.md`.

mod mark;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

pub(crate) use mark::Mark;

/// The format that this version of the program reads and writes.
const FORMAT: &str = "orrery data format 3\n";
const FORMAT_FILE: &str = "FORMAT";
const LOCK_FILE: &str = "LOCK";
const ENGINE_FOLDER: &str = "fjall";
const PROBE_FILE: &str = "probe";

/// A locked data folder of the right format. The lock ends with the value, and with the process.
pub(crate) struct Folder {
    path: PathBuf,
    /// Held for its lock.
    _lock: File,
}

impl Folder {
    /// Locks the folder, creating it if needed, and checks its format. A folder that holds
    /// nothing but an interrupted creation is cleaned.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let refused = |doing| move |source| refusal(path, doing, source);
        fs::create_dir_all(path).map_err(refused("creating the data folder"))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK_FILE))
            .map_err(refused("opening the lock of the data folder"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked {
                    folder: path.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => {
                return Err(refusal(path, "locking the data folder", source));
            }
        }
        let folder = Self {
            path: path.to_owned(),
            _lock: lock,
        };
        if folder.check_format()? {
            folder.check_writable()?;
        } else {
            folder.discard_interrupted_creation()?;
        }
        Ok(folder)
    }

    /// Where the engine keeps its files.
    pub(crate) fn engine_path(&self) -> PathBuf {
        self.path.join(ENGINE_FOLDER)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the durable mark, creating it if needed.
    pub(crate) fn durable_mark(&self) -> Result<Mark, StoreError> {
        Mark::open(&self.path, mark::DURABLE_FILE)
    }

    /// Opens the flushed mark, creating it if needed.
    pub(crate) fn flushed_mark(&self) -> Result<Mark, StoreError> {
        Mark::open(&self.path, mark::FLUSHED_FILE)
    }

    /// Names the format, durably. The last step of a creation: from here on the folder's content
    /// counts.
    pub(crate) fn seal_creation(&self) -> Result<(), StoreError> {
        let path = self.path.join(FORMAT_FILE);
        if path.exists() {
            return Ok(());
        }
        let write = || {
            let new = self.path.join("FORMAT.new");
            let mut file = File::create(&new)?;
            file.write_all(FORMAT.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            sync_folder(&self.path)
        };
        write()
            .map_err(|source| refusal(&self.path, "writing the format of the data folder", source))
    }

    /// True if the disk has no room for a megabyte: tells a full disk from other failures of a
    /// background thread, whose error does not reach us.
    pub(crate) fn is_full(&self) -> bool {
        let path = self.path.join(PROBE_FILE);
        let probe = || {
            let mut file = File::create(&path)?;
            file.write_all(&vec![1; 1 << 20])?;
            file.sync_data()
        };
        let full = probe().is_err_and(|error| means_full(&error));
        // A leftover is harmless and overwritten by the next probe.
        let _ = fs::remove_file(&path);
        full
    }

    pub(crate) fn damaged(&self, problem: String) -> StoreError {
        StoreError::Damaged {
            folder: self.path.clone(),
            problem,
        }
    }

    /// True if the folder has the right format, false if it has none yet.
    fn check_format(&self) -> Result<bool, StoreError> {
        let wrong = |problem| StoreError::Format {
            folder: self.path.clone(),
            problem,
        };
        match fs::read(self.path.join(FORMAT_FILE)) {
            Ok(bytes) if bytes == FORMAT.as_bytes() => Ok(true),
            Ok(bytes) => {
                let start = bytes.get(..64).unwrap_or(&bytes);
                Err(wrong(format!(
                    "its format is \"{}\", this version of the program reads \"{}\"; \
                     open it with the version that wrote it",
                    String::from_utf8_lossy(start).trim_end(),
                    FORMAT.trim_end(),
                )))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if mark::value_in(&self.path).is_some_and(|mark| mark > 0) {
                    return Err(wrong(format!(
                        "it holds data but its file {FORMAT_FILE} is missing"
                    )));
                }
                Ok(false)
            }
            Err(source) => Err(refusal(&self.path, "reading the format", source)),
        }
    }

    /// The engine would find out in the middle of its recovery, with a worse message.
    fn check_writable(&self) -> Result<(), StoreError> {
        let path = self.path.join(PROBE_FILE);
        let result = File::create(&path).map(drop);
        let _ = fs::remove_file(&path);
        match result {
            Err(source) if means_read_only(&source) => Err(StoreError::ReadOnly {
                folder: self.path.clone(),
                source,
            }),
            // A full disk may still be read; writes will say so.
            _ => Ok(()),
        }
    }

    fn discard_interrupted_creation(&self) -> Result<(), StoreError> {
        // The mark first: it must never speak of another engine's numbers.
        for removed in [
            fs::remove_file(self.path.join(mark::FLUSHED_FILE)),
            fs::remove_dir_all(self.engine_path()),
        ] {
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(refusal(
                        &self.path,
                        "removing the rest of an interrupted creation",
                        error,
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The operating system's refusal, as the error that tells the reader what to do.
pub(crate) fn refusal(folder: &Path, doing: &'static str, source: io::Error) -> StoreError {
    if means_read_only(&source) {
        StoreError::ReadOnly {
            folder: folder.to_owned(),
            source,
        }
    } else if means_full(&source) {
        StoreError::DiskFull
    } else {
        StoreError::Io { doing, source }
    }
}

pub(crate) fn means_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

fn means_read_only(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// Makes names in a folder durable. Windows does so by itself and cannot open folders.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    File::open(path)?.sync_all()
}
