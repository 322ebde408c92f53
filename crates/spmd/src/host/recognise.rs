//! Which commands start programs of many ranks.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// Programs that start ranks; Debian adds which library they belong to, behind a dot.
const LAUNCHERS: [&str; 10] =
    ["mpirun", "mpiexec", "orterun", "oshrun", "shmemrun", "srun", "prterun", "prun", "aprun", "jsrun"];
/// Libraries of programs that are a rank by themselves.
const LIBRARIES: [&[u8]; 5] = [b"libmpi.so", b"libmpich.so", b"liboshmem.so", b"libsma.so", b"libmpi_usempif08.so"];
/// Programs larger than that are not looked into.
const LARGEST: u64 = 256 << 20;

/// Does the command start ranks: a launcher, a script that mentions one, or a program that is linked to a library
/// of ranks?
pub fn is_spmd(command: &[OsString], cwd: &Path) -> bool {
    let launches = |word: &OsString| {
        let text = word.to_string_lossy();
        is_launcher(&text) || (text.contains(char::is_whitespace) && text.split_whitespace().any(is_launcher))
    };
    // `timeout 60 mpirun …`, `sh -c 'mpirun …'`
    if command.iter().take(6).any(launches) {
        return true;
    }
    let Some(path) = command.first().and_then(|name| look_up(name, cwd)) else { return false };
    if fs::metadata(&path).is_ok_and(|about| about.len() > LARGEST) {
        return false;
    }
    let bytes = fs::read(path).unwrap_or_default();
    if bytes.starts_with(b"#!") {
        let text = String::from_utf8_lossy(&bytes);
        return text.split(|c: char| c.is_whitespace() || "\"'`();&|".contains(c)).any(is_launcher);
    }
    bytes.starts_with(b"\x7fELF") && LIBRARIES.iter().any(|name| contains(&bytes, name))
}

fn is_launcher(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.split('.').next().unwrap_or(name);
    LAUNCHERS.contains(&name)
}

fn contains(bytes: &[u8], name: &[u8]) -> bool {
    bytes.windows(name.len()).any(|window| window == name)
}

/// The file of a program, as a shell would find it.
fn look_up(name: &OsStr, cwd: &Path) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(cwd.join(name)).filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| cwd.join(folder).join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(words: &[&str]) -> bool {
        is_spmd(&words.iter().map(OsString::from).collect::<Vec<_>>(), Path::new("/"))
    }

    #[test]
    fn launchers_are_known_wherever_they_stand() {
        assert!(starts(&["mpirun", "-n", "2", "./halo"]));
        assert!(starts(&["/usr/bin/mpiexec.mpich", "-n", "2", "./halo"]));
        assert!(starts(&["timeout", "60", "oshrun", "-n", "2", "./halo"]));
        assert!(starts(&["sh", "-c", "mpirun -n 2 ./halo"]));
        assert!(!starts(&["./bank", "mpirunner"]));
        assert!(!starts(&["/bin/sh", "-c", "true"]));
    }
}
