//! Class files from directories, jars and single files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::zip::{self, Budget, Entry};

/// Everything that was found.
#[derive(Default)]
pub struct Loaded {
    /// Bytes of class files and where they come from; the first of a name wins, as it does for a machine.
    pub classes: Vec<(String, Vec<u8>)>,
    /// What the manifest of a jar names.
    pub main: Option<String>,
    /// What could not be read.
    pub damage: Vec<String>,
    /// The newest version of Java that a jar has classes for besides the usual ones.
    pub version: Option<u32>,
}

const DEPTH: u32 = 3;
const VERSIONS: &str = "META-INF/versions/";
/// Classes for newer machines than this are left alone.
const NEWEST: u32 = 25;

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
        let ending = name.rsplit('.').next().unwrap_or_default();
        matches!(ending, "class" | "jar") || name == "META-INF/MANIFEST.MF"
    };
    let mut damage = Vec::new();
    let Some(entries) = zip::read(&bytes, &wanted, budget, &mut damage) else {
        loaded.damage.push(format!("{name}: neither a class file nor a jar"));
        return;
    };
    loaded.damage.extend(damage.into_iter().map(|damage| format!("{name}: {damage}")));
    for entry in of_one_version(entries, &mut loaded.version) {
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

/// Of a jar for several versions of Java every class as the newest machine has it; of others what lies elsewhere.
fn of_one_version(entries: Vec<Entry>, newest: &mut Option<u32>) -> Vec<Entry> {
    let manifest = entries.iter().find(|entry| entry.name == "META-INF/MANIFEST.MF");
    let is_for_many = manifest.is_some_and(|entry| {
        let text = String::from_utf8_lossy(&entry.bytes).to_lowercase();
        text.lines().any(|line| line.trim().replace(' ', "") == "multi-release:true")
    });
    let mut chosen: BTreeMap<String, (u32, Entry)> = BTreeMap::new();
    for entry in entries {
        let versioned = entry.name.strip_prefix(VERSIONS).and_then(|rest| {
            let (version, name) = rest.split_once('/')?;
            Some((version.parse().ok()?, name.to_owned()))
        });
        let (version, name) = match versioned {
            Some((version, _)) if !is_for_many || version > NEWEST => continue,
            Some(versioned) => versioned,
            None if entry.name.starts_with(VERSIONS) => continue,
            None => (0, entry.name.clone()),
        };
        if version > 0 {
            *newest = (*newest).max(Some(version));
        }
        if chosen.get(&name).is_none_or(|(known, _)| *known < version) {
            chosen.insert(name, (version, entry));
        }
    }
    chosen.into_values().map(|(_, entry)| entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, text: &str) -> Entry {
        Entry { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
    }

    #[test]
    fn the_newest_version_of_a_class_counts() {
        let jar = |manifest: &str| {
            let all = vec![
                entry("META-INF/MANIFEST.MF", manifest),
                entry("A.class", "8"),
                entry("B.class", "8"),
                entry("META-INF/versions/11/A.class", "11"),
                entry("META-INF/versions/17/A.class", "17"),
                entry("META-INF/versions/99/A.class", "99"),
            ];
            let mut version = None;
            let classes = of_one_version(all, &mut version).into_iter().filter(|entry| entry.name.ends_with("class"));
            let texts: Vec<String> = classes.map(|entry| String::from_utf8_lossy(&entry.bytes).into_owned()).collect();
            (texts, version)
        };
        assert_eq!(jar("Multi-Release: true\r\n"), (vec!["17".to_owned(), "8".to_owned()], Some(17)));
        assert_eq!(jar("Main-Class: A\n"), (vec!["8".to_owned(), "8".to_owned()], None));
    }
}
