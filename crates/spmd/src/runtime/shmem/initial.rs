//! What words of symmetric memory hold without the help of another rank: what they began with, or what their owner
//! has stored last. A wait that this satisfies has waited for nobody (R17).

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stores that are longer are forgotten: flags are short.
const LONGEST: usize = 4096;
/// Global variables beyond that are taken to begin with zeros.
const LARGEST: u64 = 16 << 20;

#[derive(Default)]
struct Known {
    /// Global variables as they were in the beginning.
    first: Vec<(u64, Vec<u8>)>,
    /// By address: what the owner has stored.
    stored: BTreeMap<u64, Vec<u8>>,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
static ACTIVE: AtomicBool = AtomicBool::new(false);

fn known<T>(body: impl FnOnce(&mut Known) -> T) -> T {
    let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    body(known.get_or_insert_default())
}

pub(super) fn begin() {
    ACTIVE.store(true, Ordering::Release);
}

/// Global variables lie here; they are what they began with.
pub(super) fn remember(start: u64, size: u64) {
    if size <= LARGEST {
        // SAFETY: a writable part of the program that is loaded.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, size as usize) }.to_vec();
        known(|known| known.first.push((start, bytes)));
    }
}

/// The owner has stored something there by now.
pub fn touched(address: u64, len: u64) {
    if ACTIVE.load(Ordering::Acquire) && len as usize <= LONGEST {
        // SAFETY: memory that the program has just written.
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, len as usize) }.to_vec();
        stored(address, &bytes);
    }
}

/// The owner has stored this.
pub(super) fn stored(address: u64, bytes: &[u8]) {
    known(|known| {
        let end = address + bytes.len() as u64;
        // What begins inside is overwritten; what began before and reaches in stays for its first part.
        let inside: Vec<u64> = known.stored.range(address..end).map(|(start, _)| *start).collect();
        for start in inside {
            let Some(old) = known.stored.remove(&start) else { continue };
            if start + old.len() as u64 > end {
                known.stored.insert(end, old[(end - start) as usize..].to_vec());
            }
        }
        if let Some((&start, old)) = known.stored.range_mut(..address).next_back()
            && start + old.len() as u64 > address
        {
            let rest = old.get((end - start) as usize..).map(<[u8]>::to_vec);
            old.truncate((address - start) as usize);
            if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
                known.stored.insert(end, rest);
            }
        }
        known.stored.insert(address, bytes.to_vec());
    });
}

/// The word, as waits compare it.
pub(super) fn value(address: u64, size: u32) -> i64 {
    let bytes = known(|known| {
        let within = |start: u64, bytes: &[u8]| {
            let from = address.checked_sub(start)? as usize;
            bytes.get(from..from + size as usize).map(<[u8]>::to_vec)
        };
        let stored = known.stored.range(..=address).next_back().and_then(|(start, bytes)| within(*start, bytes));
        stored.or_else(|| known.first.iter().find_map(|(start, bytes)| within(*start, bytes)))
    });
    match bytes.as_deref() {
        Some(&[a]) => i64::from(a as i8),
        Some(&[a, b]) => i64::from(i16::from_le_bytes([a, b])),
        Some(&[a, b, c, d]) => i64::from(i32::from_le_bytes([a, b, c, d])),
        Some(bytes) if bytes.len() == 8 => bytes.try_into().map_or(0, i64::from_le_bytes),
        // Memory that was allocated begins with zeros, as far as anybody knows.
        _ => 0,
    }
}
