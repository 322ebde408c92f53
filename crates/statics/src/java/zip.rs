//! Jars: zip archives, as far as class files need it (stored and deflated entries, jars inside jars).
//!
//! Guarantee: no archive makes this panic, take more memory than [`Budget`] allows, or read outside of its bytes. What
//! is damaged is named and left out.

use std::io::Read;

use flate2::read::DeflateDecoder;

/// What may still be unpacked: archives can claim anything.
pub struct Budget {
    pub bytes: u64,
    pub entries: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 512 << 20, entries: 200_000 }
    }
}

/// A file of an archive.
pub struct Entry {
    pub name: String,
    pub bytes: Vec<u8>,
}

const END: u32 = 0x0605_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;

fn u2(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?)))
}

fn u4(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The files that `wanted` says yes to; what could not be read goes to `damage`.
pub fn read(
    bytes: &[u8],
    wanted: &dyn Fn(&str) -> bool,
    budget: &mut Budget,
    damage: &mut Vec<String>,
) -> Option<Vec<Entry>> {
    // The end record has a comment of at most 64 KiB behind it.
    let from = bytes.len().saturating_sub(22 + 65_535);
    let end = (from..=bytes.len().checked_sub(22)?).rev().find(|at| u4(bytes, *at) == Some(END))?;
    let mut at = u4(bytes, end + 16)? as usize;
    let count = u2(bytes, end + 10)?;
    let mut entries = Vec::new();
    for _ in 0..count {
        if u4(bytes, at) != Some(CENTRAL) {
            damage.push("its list of files ends early".to_owned());
            break;
        }
        let Some(next) = entry(bytes, at, wanted, budget, damage, &mut entries) else {
            damage.push("its list of files is cut off".to_owned());
            break;
        };
        at = next;
    }
    Some(entries)
}

/// One entry of the list of files; where the next one is.
fn entry(
    bytes: &[u8],
    at: usize,
    wanted: &dyn Fn(&str) -> bool,
    budget: &mut Budget,
    damage: &mut Vec<String>,
    entries: &mut Vec<Entry>,
) -> Option<usize> {
    let (flags, method) = (u2(bytes, at + 8)?, u2(bytes, at + 10)?);
    let packed = u4(bytes, at + 20)? as usize;
    let lengths = [u2(bytes, at + 28)?, u2(bytes, at + 30)?, u2(bytes, at + 32)?];
    let local = u4(bytes, at + 42)? as usize;
    let name = bytes.get(at + 46..at + 46 + lengths[0])?;
    let name = String::from_utf8_lossy(name).into_owned();
    let next = at + 46 + lengths.iter().sum::<usize>();
    if name.ends_with('/') || !wanted(&name) {
        return Some(next);
    }
    if budget.entries == 0 || budget.bytes == 0 {
        damage.push(format!("{name}: left out, there is too much to unpack"));
        return Some(next);
    }
    budget.entries -= 1;
    let content = (|| {
        if flags & 1 != 0 || u4(bytes, local)? != LOCAL {
            return None;
        }
        let from = local + 30 + u2(bytes, local + 26)? + u2(bytes, local + 28)?;
        let packed = bytes.get(from..from.checked_add(packed)?)?;
        let mut content = Vec::new();
        match method {
            0 => content.extend_from_slice(packed),
            8 => {
                let limit = budget.bytes.saturating_add(1);
                DeflateDecoder::new(packed).take(limit).read_to_end(&mut content).ok()?;
            }
            _ => return None,
        }
        Some(content)
    })();
    match content {
        Some(content) if content.len() as u64 <= budget.bytes => {
            budget.bytes -= content.len() as u64;
            entries.push(Entry { name, bytes: content });
        }
        Some(_) => {
            budget.bytes = 0;
            damage.push(format!("{name}: left out, there is too much to unpack"));
        }
        None => damage.push(format!("{name}: damaged, encrypted or packed in an unknown way")),
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one stored file.
    fn archive(name: &str, content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let sizes = |out: &mut Vec<u8>| {
            out.extend((content.len() as u32).to_le_bytes());
            out.extend((content.len() as u32).to_le_bytes());
            out.extend((name.len() as u16).to_le_bytes());
        };
        out.extend(LOCAL.to_le_bytes());
        out.extend([0; 14]);
        sizes(&mut out);
        out.extend([0; 2]);
        out.extend(name.as_bytes());
        out.extend(content);
        let central = out.len() as u32;
        out.extend(CENTRAL.to_le_bytes());
        out.extend([0; 16]);
        sizes(&mut out);
        out.extend([0; 12]);
        out.extend(0u32.to_le_bytes());
        out.extend(name.as_bytes());
        let size = out.len() as u32 - central;
        out.extend(END.to_le_bytes());
        out.extend([0, 0, 0, 0, 1, 0, 1, 0]);
        out.extend(size.to_le_bytes());
        out.extend(central.to_le_bytes());
        out.extend([0; 2]);
        out
    }

    #[test]
    fn a_file_comes_out_as_it_went_in() {
        let bytes = archive("A.class", b"hello");
        let entries = read(&bytes, &|_| true, &mut Budget::default(), &mut Vec::new()).unwrap();
        assert_eq!((entries[0].name.as_str(), &entries[0].bytes[..]), ("A.class", &b"hello"[..]));
    }

    #[test]
    fn what_is_cut_or_changed_is_no_panic() {
        let bytes = archive("A.class", b"hello");
        for len in 0..bytes.len() {
            read(&bytes[..len], &|_| true, &mut Budget::default(), &mut Vec::new());
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0xff;
            read(&bytes, &|_| true, &mut Budget::default(), &mut Vec::new());
        }
    }

    #[test]
    fn too_much_is_left_out_and_said() {
        let bytes = archive("A.class", b"hello");
        let mut damage = Vec::new();
        let entries = read(&bytes, &|_| true, &mut Budget { bytes: 4, entries: 9 }, &mut damage).unwrap();
        assert!(entries.is_empty() && damage.len() == 1);
    }
}
