//! Response files (`@file` on the command line), read as gcc and clang read them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// gcc gives up on files that include themselves after some thousand; nobody nests deeper.
const DEEPEST: u32 = 64;

/// The arguments that `argument` stands for, if it names a response file that can be read. A
/// name without a file is an ordinary argument, for gcc as for us.
pub fn expand(argument: &OsStr) -> Option<Vec<OsString>> {
    let mut words = Vec::new();
    expand_into(argument, DEEPEST, &mut words).then_some(words)
}

fn expand_into(argument: &OsStr, depth: u32, words: &mut Vec<OsString>) -> bool {
    let Some(name) = argument.as_bytes().strip_prefix(b"@") else {
        return false;
    };
    if depth == 0 {
        return false;
    }
    let Ok(content) = fs::read(Path::new(OsStr::from_bytes(name))) else {
        return false;
    };
    for word in split(&content) {
        if !expand_into(&word, depth - 1, words) {
            words.push(word);
        }
    }
    true
}

/// Splits at white space; quotes group, a backslash takes the next byte as it is.
pub fn split(content: &[u8]) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = content.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => word.get_or_insert_default().extend(bytes.next()),
            (_, Some(open)) if byte == open => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(byte),
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c, None) => words.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes() {
        let words = split(br#"-DA="x y" 'b c'd e\ f "" g"#);
        assert_eq!(words, ["-DA=x y", "b cd", "e f", "", "g"].map(OsString::from));
    }

    #[test]
    fn a_missing_file_is_an_ordinary_argument() {
        assert_eq!(expand(OsStr::new("@no/such/file")), None);
        assert_eq!(expand(OsStr::new("main.c")), None);
    }
}
