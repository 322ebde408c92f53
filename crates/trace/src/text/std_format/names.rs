//! Names and code addresses of an STD text, each looked up once per event: quick for those that were used lately.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use crate::Result;

/// Names numbered in order of appearance.
pub struct Names {
    ids: HashMap<Box<[u8]>, u32, BuildHasherDefault<NameHasher>>,
    // invariant: by id
    pub all: Vec<String>,
    /// Short names used lately, as one number, and their ids. No name is 0.
    recent: Box<[(u64, u32); RECENT]>,
}

const RECENT: usize = 2048;

impl Default for Names {
    fn default() -> Self {
        Self { ids: HashMap::default(), all: Vec::new(), recent: Box::new([(0, 0); RECENT]) }
    }
}

/// Up to eight bytes as one number; different names give different numbers, since no byte is zero.
#[inline]
fn packed(name: &[u8]) -> Option<u64> {
    let number = match name.len() {
        1..=3 => name.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)),
        4..=8 => {
            let (start, end) = (name.first_chunk::<4>()?, name.last_chunk::<4>()?);
            let (start, end) = (u32::from_le_bytes(*start), u32::from_le_bytes(*end));
            u64::from(start) | u64::from(end) << (8 * (name.len() - 4))
        }
        _ => return None,
    };
    // A zero byte anywhere (nobody has them in names) would make shorter names look alike.
    const ONES: u64 = 0x0101_0101_0101_0101;
    let used = number | u64::MAX.checked_shl(8 * name.len() as u32).unwrap_or(0);
    (used.wrapping_sub(ONES) & !used & (ONES << 7) == 0).then_some(number)
}

impl Names {
    #[inline]
    pub fn id(&mut self, name: &[u8]) -> Result<u32, String> {
        let Some(number) = packed(name) else { return self.any_id(name) };
        let place = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as usize % RECENT;
        if self.recent[place].0 == number {
            return Ok(self.recent[place].1);
        }
        let id = self.any_id(name)?;
        self.recent[place] = (number, id);
        Ok(id)
    }

    fn any_id(&mut self, name: &[u8]) -> Result<u32, String> {
        match self.ids.get(name) {
            Some(&id) => Ok(id),
            None => self.new_name(name),
        }
    }

    #[cold]
    fn new_name(&mut self, name: &[u8]) -> Result<u32, String> {
        let text = std::str::from_utf8(name).map_err(|_| "not text")?;
        let id = self.all.len() as u32;
        self.all.push(text.to_owned());
        self.ids.insert(name.into(), id);
        Ok(id)
    }
}

/// Eight bytes at a time: names are short, and nobody attacks a trace.
#[derive(Default)]
pub struct NameHasher(u64);

impl Hasher for NameHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            self.write_u64(u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        }
        let rest = chunks.remainder().iter().fold(0, |rest, &byte| rest << 8 | u64::from(byte));
        self.write_u64(rest);
    }
    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// The code addresses that were used.
pub struct PcSet {
    pub all: HashSet<u64, BuildHasherDefault<NameHasher>>,
    /// By the low bits, those seen lately.
    recent: Box<[u64; 4096]>,
}

impl Default for PcSet {
    fn default() -> Self {
        // No location is at the last address.
        Self { all: HashSet::default(), recent: Box::new([u64::MAX; 4096]) }
    }
}

impl PcSet {
    #[inline]
    pub fn insert(&mut self, pc: u64) {
        let recent = &mut self.recent[pc as usize % 4096];
        if *recent != pc {
            *recent = pc;
            self.all.insert(pc);
        }
    }
}
