//! The data directory around RocksDB: who uses it, and which format it has.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    path::{Path, PathBuf},
};

use crate::{Error, Result};

const LOCK_FILE: &str = "LOCK";
const FORMAT_FILE: &str = "FORMAT";
const DB_DIRECTORY: &str = "db";
const FORMAT_TITLE: &str = "trine store format ";

/// The version of everything below the data directory that this program reads and writes.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// A data directory that belongs to this process until it is dropped.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    /// Holds the lock; the operating system lets go of it when the process dies.
    _lock: File,
}

impl Directory {
    /// Creates the directory where needed, locks it and checks its format.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(|error| Error::io("cannot create data directory", path, error))?;
        let lock = lock(path)?;
        let directory = Self { path: path.to_owned(), _lock: lock };
        directory.check_format()?;
        Ok(directory)
    }

    /// The data directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where RocksDB's files are.
    pub(crate) fn db_path(&self) -> PathBuf {
        self.path.join(DB_DIRECTORY)
    }

    fn check_format(&self) -> Result<()> {
        let path = self.path.join(FORMAT_FILE);
        let wrong = |found: String| Err(Error::FormatVersion { path: self.path.clone(), found, supported: FORMAT_VERSION });
        match fs::read(&path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                match text.strip_prefix(FORMAT_TITLE).map(str::trim_end) {
                    Some(version) if version == FORMAT_VERSION.to_string() => Ok(()),
                    Some(version) => wrong(version.to_owned()),
                    None => wrong(format!("{:?}", text.chars().take(40).collect::<String>())),
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if self.db_path().exists() {
                    return wrong("(the FORMAT file is missing)".to_owned());
                }
                self.write_format(&path)
            }
            Err(error) => Err(Error::io("cannot read", path, error)),
        }
    }

    /// Written beside and renamed, so that a crash leaves no half of it.
    fn write_format(&self, path: &Path) -> Result<()> {
        let beside = path.with_extension("new");
        let write = || {
            let mut file = File::create(&beside)?;
            writeln!(file, "{FORMAT_TITLE}{FORMAT_VERSION}")?;
            file.sync_all()?;
            fs::rename(&beside, path)?;
            File::open(&self.path)?.sync_all()
        };
        write().map_err(|error| Error::io("cannot write", path, error))
    }
}

fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(LOCK_FILE);
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = open.map_err(|error| Error::io("cannot open", &path, error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Who holds it is told when it can be read; that it is held is certain.
            let pid = file.read_to_string(&mut holder).ok().and_then(|_| holder.trim().parse().ok());
            return Err(Error::InUse { path: directory.to_owned(), pid });
        }
        Err(TryLockError::Error(error)) => return Err(Error::io("cannot lock", path, error)),
    }
    let note = (|| {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    })();
    note.map_err(|error| Error::io("cannot write", path, error))?;
    Ok(file)
}
