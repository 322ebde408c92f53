//! Collects the distinct code addresses of a run.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use reweave_model::Pc;

use super::{MIX, boxed};
use reweave_model::wire::kind::has_pc;

/// A direct-mapped filter in front of a hash set: most addresses were seen a moment ago.
pub(crate) struct Pcs {
    recent: Box<[u64; 1 << 12]>,
    all: HashSet<u64, BuildHasherDefault<PcHasher>>,
}

/// Code addresses are no attack: one multiplication mixes them well enough.
#[derive(Default)]
pub(crate) struct PcHasher(u64);

impl Hasher for PcHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(MIX).rotate_left(26);
    }
}

impl Default for Pcs {
    fn default() -> Self {
        Self { recent: boxed(0), all: HashSet::default() }
    }
}

impl Pcs {
    #[inline]
    pub fn see(&mut self, head: u64) {
        let pc = head >> 16;
        let slot = &mut self.recent[(pc.wrapping_mul(MIX) >> (64 - 12)) as usize];
        if *slot != pc && has_pc(head as u8) {
            *slot = pc;
            self.all.insert(pc);
        }
    }

    pub fn sorted(&self) -> Vec<Pc> {
        let mut pcs: Vec<_> = self.all.iter().copied().filter(|&pc| pc != 0).map(Pc).collect();
        pcs.sort_unstable();
        pcs
    }
}
