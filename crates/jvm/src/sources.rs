//! Where the source of a class is: a class file names only the file, and its package says the folders above it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where builds have sources, below the folder of a project or of a part of it.
const USUAL: [&str; 3] = ["src/main/java", "src/test/java", "src"];

/// Folders that the user named.
static NAMED: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Sources are looked for in these folders first. Counts once in a process.
pub fn look_for_sources_in(folders: Vec<PathBuf>) {
    let _ = NAMED.set(folders);
}

/// Folders of sources.
pub struct Sources {
    // invariant: all of them exist
    folders: Vec<PathBuf>,
}

impl Sources {
    /// Those that the user named, and those that are usual below the current folder and the folders in it.
    pub fn new() -> Self {
        let mut parts = vec![PathBuf::new()];
        let entries = fs::read_dir(".").into_iter().flatten().flatten();
        let mut inner: Vec<PathBuf> = entries.map(|entry| PathBuf::from(entry.file_name())).collect();
        inner.sort();
        parts.append(&mut inner);
        let usual = parts.iter().flat_map(|part| USUAL.map(|folder| part.join(folder)));
        let named = NAMED.get().into_iter().flatten().cloned();
        Self { folders: named.chain(usual).filter(|folder| folder.is_dir()).collect() }
    }

    /// The file of this path below a folder of sources; the path itself if there is none.
    pub fn find(&self, path: String) -> String {
        if Path::new(&path).is_file() {
            return path;
        }
        let found = self.folders.iter().map(|folder| folder.join(&path)).find(|file| file.is_file());
        found.map_or(path, |file| file.display().to_string())
    }
}
