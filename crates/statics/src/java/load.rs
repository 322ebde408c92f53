//! Class files from directories, jars and single files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::zip::{self, Budget};

/// Everything that was found.
#[derive(Default)]
pub struct Loaded {
    /// Bytes of class files and where they come from; the first of a name wins, as it does for a machine.
    pub classes: Vec<(String, Vec<u8>)>,
    /// What the manifest of a jar names.
    pub main: Option<String>,
    /// What could not be read.
    pub damage: Vec<String>,
}

const DEPTH: u32 = 3;

/// Reads what the paths name. An error says what cannot be opened at all.
pub fn load(paths: &[PathBuf]) -> Result<Loaded, String> {
    let mut loaded = Loaded::default();
    let mut budget = Budget::default();
    for path in paths {
        let about = |error: std::io::Error| format!("{}: {error}", path.display());
        if fs::metadata(path).map_err(about)?.is_dir() {
            folder(path, &mut loaded, &mut budget, 0);
        } else {
            let bytes = fs::read(path).map_err(about)?;
            file(&path.display().to_string(), bytes, &mut loaded, &mut budget, 0);
        }
    }
    Ok(loaded)
}

fn folder(path: &Path, loaded: &mut Loaded, budget: &mut Budget, depth: u32) {
    let Ok(all) = fs::read_dir(path) else {
        loaded.damage.push(format!("{}: cannot be listed", path.display()));
        return;
    };
    let mut all: Vec<PathBuf> = all.flatten().map(|entry| entry.path()).collect();
    all.sort();
    for path in all {
        if path.is_dir() && !path.is_symlink() {
            if depth < 64 && path.file_name().is_none_or(|name| name != "META-INF") {
                folder(&path, loaded, budget, depth + 1);
            }
        } else if path.extension().is_some_and(|ending| ending == "class" || ending == "jar") {
            match fs::read(&path) {
                Ok(bytes) => file(&path.display().to_string(), bytes, loaded, budget, 0),
                Err(error) => loaded.damage.push(format!("{}: {error}", path.display())),
            }
        }
    }
}

fn file(name: &str, bytes: Vec<u8>, loaded: &mut Loaded, budget: &mut Budget, depth: u32) {
    if bytes.starts_with(&[0xca, 0xfe, 0xba, 0xbe]) {
        loaded.classes.push((name.to_owned(), bytes));
        return;
    }
    let wanted = |name: &str| {
        let is_version = name.starts_with("META-INF/versions/");
        let ending = name.rsplit('.').next().unwrap_or_default();
        !is_version && matches!(ending, "class" | "jar") || name == "META-INF/MANIFEST.MF"
    };
    let mut damage = Vec::new();
    let Some(entries) = zip::read(&bytes, &wanted, budget, &mut damage) else {
        loaded.damage.push(format!("{name}: neither a class file nor a jar"));
        return;
    };
    loaded.damage.extend(damage.into_iter().map(|damage| format!("{name}: {damage}")));
    for entry in entries {
        let inner = format!("{name}!{}", entry.name);
        if entry.name == "META-INF/MANIFEST.MF" {
            let text = String::from_utf8_lossy(&entry.bytes).replace("\r\n ", "").replace("\n ", "");
            let main = text.lines().find_map(|line| line.strip_prefix("Main-Class:"));
            loaded.main = loaded.main.take().or(main.map(|main| main.trim().to_owned()));
        } else if entry.name.ends_with(".jar") {
            if depth < DEPTH {
                file(&inner, entry.bytes, loaded, budget, depth + 1);
            }
        } else {
            loaded.classes.push((inner, entry.bytes));
        }
    }
}

/// Class files by the name of their class; the first wins.
pub fn by_name<T>(all: impl IntoIterator<Item = (String, T)>) -> BTreeMap<String, T> {
    let mut map = BTreeMap::new();
    for (name, class) in all {
        map.entry(name).or_insert(class);
    }
    map
}
