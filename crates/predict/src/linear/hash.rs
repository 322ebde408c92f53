//! Hashing for keys that are numbers: one multiplication, since nobody attacks a trace.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;
pub type FastSet<K> = HashSet<K, BuildHasherDefault<NumberHasher>>;

#[derive(Default, Clone, Copy)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    #[inline]
    fn finish(&self) -> u64 {
        // Tables take the low bits for the place and the high ones for the tag.
        self.0 ^ self.0 >> 32
    }
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }
    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }
    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
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
