//! The data folder as the commands see it: opened by one process at a time; whoever serves it
//! leaves a note of its endpoint, so that the others find the server.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use orrery_storage::{Durability, FjallStore, Options, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::client::Endpoint;

const NOTE: &str = "server.json";

/// What the process that serves a folder says about itself. The key is in it, so only the
/// folder's owner may read it.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    endpoint: String,
    key: Option<String>,
    pid: u32,
}

/// The note of a server; taken away when dropped.
#[derive(Debug)]
pub struct EndpointNote(PathBuf);

impl EndpointNote {
    /// Leaves the note. The folder is locked by us, so there is no other writer.
    pub fn write(folder: &Path, endpoint: &str, key: Option<&str>) -> Result<Self> {
        let note = Note {
            endpoint: endpoint.to_owned(),
            key: key.map(str::to_owned),
            pid: std::process::id(),
        };
        let path = folder.join(NOTE);
        let new = folder.join("server.json.new");
        let _ = fs::remove_file(&new);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options
            .open(&new)
            .and_then(|mut file| file.write_all(&serde_json::to_vec_pretty(&note)?))
            .and_then(|()| fs::rename(&new, &path));
        written.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for EndpointNote {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A folder, opened or held by a server.
pub enum Opened {
    /// Ours: nobody else can open it now.
    Ours(Arc<dyn Store>),
    /// Held by a server that says where it is.
    Served(Endpoint),
}

/// Opens a data folder, or finds the server that holds it.
pub fn open_or_find(folder: &Path, durability: Durability) -> Result<Opened> {
    let options = Options {
        durability,
        ..Options::default()
    };
    match open_store(folder, options)? {
        Ok(store) => Ok(Opened::Ours(store)),
        Err(locked) => server_of(folder)?.map(Opened::Served).context(locked),
    }
}

/// Opens a data folder for serving it.
pub fn open(folder: &Path, options: Options) -> Result<Arc<dyn Store>> {
    open_store(folder, options)?.map_err(|locked| match note_in(folder) {
        Some(note) => anyhow::anyhow!(
            "{locked} (process {} serves it at {})",
            note.pid,
            note.endpoint
        ),
        None => anyhow::anyhow!(locked),
    })
}

/// Opens the store; the inner error is that another process holds the folder.
fn open_store(folder: &Path, options: Options) -> Result<Result<Arc<dyn Store>, String>> {
    if folder.exists() && !folder.is_dir() {
        bail!(
            "{} is a file, not a folder; name another with --data",
            folder.display()
        );
    }
    match FjallStore::open(folder, options) {
        Ok(store) => Ok(Ok(Arc::new(store))),
        Err(error @ StoreError::Locked { .. }) => Ok(Err(error.to_string())),
        // The message holds its causes already.
        Err(error @ StoreError::Io { .. }) => {
            bail!(
                "the data folder {} cannot be opened: {error}",
                folder.display()
            )
        }
        Err(error) => bail!("{error}"),
    }
}

/// The server that holds a folder, by the note that it left.
fn server_of(folder: &Path) -> Result<Option<Endpoint>> {
    note_in(folder)
        .map(|note| Endpoint::parse(&note.endpoint, note.key.as_deref()))
        .transpose()
}

fn note_in(folder: &Path) -> Option<Note> {
    serde_json::from_slice(&fs::read(folder.join(NOTE)).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_comes_and_goes() {
        let folder = std::env::temp_dir().join(format!("orrery-note-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let note = EndpointNote::write(
            &folder,
            "http://127.0.0.1:1/",
            Some(crate::client::PUBLISHED_KEY),
        )
        .unwrap();
        assert_eq!(server_of(&folder).unwrap().unwrap().port, 1);
        drop(note);
        assert!(server_of(&folder).unwrap().is_none());
        fs::write(folder.join(NOTE), "not json").unwrap();
        assert!(server_of(&folder).unwrap().is_none());
        fs::remove_dir_all(&folder).unwrap();
    }
}
