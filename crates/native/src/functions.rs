//! Where the functions of a running process lie: by the symbol tables of the files that are mapped into it.

use std::fs;
use std::path::Path;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::binary::Bytes;
use crate::symbols::demangle;

/// Begin and end of each piece of code that the functions of this name have in a process: C++ functions of one name may
/// be many, and compilers cut functions into pieces (`f.part.0`, `f.cold`).
pub fn code_of(pid: u32, function: &str) -> Vec<[u64; 2]> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut all = Vec::new();
    for (path, base) in files(&maps) {
        let bytes = Bytes::of(Path::new(path));
        let Ok(file) = object::File::parse(&*bytes) else { continue };
        // The first mapping of a file is that of its first segment.
        let first = file.segments().map(|segment| segment.address()).min().unwrap_or(0);
        let bias = base.wrapping_sub(first / PAGE * PAGE);
        let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
        all.extend(functions.filter(|symbol| symbol.name().is_ok_and(|name| is_named(name, function))).map(|symbol| {
            let begin = symbol.address().wrapping_add(bias);
            [begin, begin + symbol.size()]
        }));
    }
    all.sort_unstable();
    all.dedup();
    all
}

const PAGE: u64 = 4096;

/// The files that are mapped, each with its lowest address.
fn files(maps: &str) -> Vec<(&str, u64)> {
    let mut files: Vec<(&str, u64)> = Vec::new();
    for line in maps.lines() {
        // `begin-end flags offset device inode path`; the path may hold spaces.
        let Some(at) = line.find('/') else { continue };
        let Some(begin) = line.split('-').next().and_then(|begin| u64::from_str_radix(begin, 16).ok()) else {
            continue;
        };
        let path = &line[at..];
        if files.iter().all(|(known, _)| *known != path) {
            files.push((path, begin));
        }
    }
    files
}

fn is_named(symbol: &str, function: &str) -> bool {
    let whole = symbol.split('.').next().unwrap_or(symbol);
    whole == function || demangle(whole) == function
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_a_function_have_its_name() {
        for name in ["hot", "hot.part.0", "hot.cold", "hot.constprop.1"] {
            assert!(is_named(name, "hot"), "{name}");
        }
        assert!(is_named("_ZN4bank7depositEi", "bank::deposit"));
        assert!(!is_named("hotter", "hot") && !is_named("hot", "hotter"));
    }

    #[test]
    fn files_are_taken_at_their_first_mapping() {
        let maps = "555555554000-555555555000 r--p 00000000 08:01 1 /tmp/a b\n\
                    555555555000-555555556000 r-xp 00001000 08:01 1 /tmp/a b\n\
                    7ffff7fc0000-7ffff7fc4000 r--p 00000000 00:00 0 [vvar]\n";
        assert_eq!(files(maps), [("/tmp/a b", 0x5555_5555_4000)]);
    }
}
