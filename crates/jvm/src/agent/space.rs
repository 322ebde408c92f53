//! The made-up address space, and the words that the hook class works on.
//!
//! An object is a block with an address that is never used again and does not depend on where the collector moves it. A
//! field lies at twice its real offset (so that references, which take four bytes in the machine, have eight), a static
//! field in the block of its class, an element at its index times its size.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where blocks start.
const FIRST_BLOCK: u64 = 0x1000_0000_0000;
/// Where code starts: a class is a unit, its methods follow each other as their original code is long.
pub const FIRST_CODE: u64 = 0x0100_0000_0000;
/// Room for an object that is no array; as in the hook class.
pub const OBJECT_SIZE: u64 = 4096;
/// Where static fields of classes without hooks lie, by their names.
pub const FIRST_BY_NAME: u64 = 0x0c00_0000_0000;

const SITES: usize = 1 << 26;
const HASHES: usize = 1 << 31;
const CLASS_WORDS: usize = 1 << 32;

/// What the hook class reads, in its order.
#[repr(C)]
pub struct Hot {
    /// Addresses of words of the thread that holds the token: steps left, the stack last shown, the stack to be shown.
    pub budget: AtomicU64,
    pub shown: AtomicU64,
    pub wanted: AtomicU64,
    /// Addresses of the recorder's words: where the next record goes, from where on the chunk is full, and how much of
    /// it the launcher sees.
    pub cursor: AtomicU64,
    pub limit: AtomicU64,
    pub visible: AtomicU64,
    pub sites: *mut Site,
    pub by_hash: *mut u64,
    pub by_class: *mut i32,
    pub next: AtomicU64,
    /// 1: threads say what they are about to access, and stop there; 0: they stop after the last access of their slice.
    pub announces: AtomicU64,
    /// Address of a word of the thread that holds the token: the stack of its last call to a collection or a lock.
    pub called: AtomicU64,
    /// The agent's own: whose words these are, and whether something of it is recorded now.
    pub quiet: AtomicBool,
}

const _: () = assert!(std::mem::offset_of!(Hot, next) == 72 && std::mem::offset_of!(Hot, called) == 88);

/// What the hook class knows of a site.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Site {
    /// First word of its records: 0 not known yet, negative nothing is recorded there. A volatile field has a kind that
    /// is no plain access, and bit 8 if it is written. In a collection the kind has [`COLLECTION`], too.
    pub head: u64,
    /// Of a call: the stack it was last made from. Of a static field: with `b` the address.
    pub a: u32,
    /// Of a call: the stack it then led to. Of a field: where it lies in its block.
    pub b: u32,
}

const _: () = assert!(size_of::<Site>() == 16);

pub const NOTHING_RECORDED: u64 = 1 << 63;
/// Added to the kind of an access within a collection; alone as long as nothing else is known.
pub const COLLECTION: u64 = 0x80;

/// Whether the first word of a site's records is that of a place within a collection.
pub const fn is_in_collection(head: u64) -> bool {
    head & 0xf0 == COLLECTION && head & NOTHING_RECORDED == 0
}

pub const VOLATILE_READ: u64 = 0xff;
pub const VOLATILE_WRITE: u64 = 0x1ff;

// SAFETY: shared by design; each word has one writer at a time, the holder of the token.
unsafe impl Send for Hot {}
// SAFETY: as above.
unsafe impl Sync for Hot {}

/// Memory of zeros that takes no room until it is touched.
fn reserve(bytes: usize) -> Option<*mut u8> {
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a new mapping, anywhere.
    let at = unsafe { libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0) };
    (at != libc::MAP_FAILED).then_some(at.cast())
}

impl Hot {
    /// `None` if the system does not allow that much address space.
    pub fn new() -> Option<Box<Self>> {
        Some(Box::new(Self {
            budget: AtomicU64::new(0),
            shown: AtomicU64::new(0),
            wanted: AtomicU64::new(0),
            cursor: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            visible: AtomicU64::new(0),
            sites: reserve(SITES * size_of::<Site>())?.cast(),
            by_hash: reserve(HASHES * 8)?.cast(),
            by_class: reserve(CLASS_WORDS * 4)?.cast(),
            next: AtomicU64::new(FIRST_BLOCK),
            announces: AtomicU64::new(0),
            called: AtomicU64::new(0),
            quiet: AtomicBool::new(false),
        }))
    }

    /// See [`Hot::announces`].
    pub fn announces(&self) -> bool {
        self.announces.load(Ordering::Relaxed) != 0
    }

    /// A block of at least that size.
    pub fn block(&self, size: u64) -> u64 {
        let size = size.next_multiple_of(64);
        self.next.fetch_add(size, Ordering::Relaxed)
    }

    /// The entry of a site.
    #[expect(clippy::mut_from_ref, reason = "words that the hook class shares; one writer at a time")]
    pub fn site(&self, number: u32) -> &mut Site {
        assert!((number as usize) < SITES, "more sites than there is room for");
        // SAFETY: inside the table; written by the thread that loads the class, later by the holder of the token.
        unsafe { &mut *self.sites.add(number as usize) }
    }

    /// The address of the object with that identity hash; 0 if it has none.
    #[expect(clippy::mut_from_ref, reason = "words that the hook class shares; one writer at a time")]
    pub fn by_hash(&self, hash: i32) -> &mut u64 {
        // SAFETY: hashes have 31 bits.
        unsafe { &mut *self.by_hash.add((hash & i32::MAX) as usize) }
    }

    #[expect(clippy::mut_from_ref, reason = "words that the hook class shares; one writer at a time")]
    pub fn by_class(&self, word: u32) -> &mut i32 {
        // SAFETY: the table has an entry for every word.
        unsafe { &mut *self.by_class.add(word as usize) }
    }
}
