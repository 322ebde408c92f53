//! What a program accesses next, foreseen from what it did before, so that only what was not foreseen is written.
//!
//! Writer and reader of a chunk run the same model over the same accesses. An access that is as the model says takes no
//! record of its own: a record of kind [`FORESEEN`](super::kind::FORESEEN) stands for a run of them and holds how many
//! there are and the values that the model does not know. The model forgets everything at the start of a chunk.
//!
//! - A place (code address, kind, size, call stack) has a *slot*: where it goes next, in which stride, and which slot
//!   followed it last time.
//! - The *mirror* is what memory holds as far as accesses have shown, byte by byte, one address in front of others. A
//!   read has the mirror's value. Where that fails again and again, values of the place are spelled out.
//! - A write's value is always spelled out. It is *late*: it reaches the mirror before the next access, but after a
//!   read of as many bytes elsewhere by code that comes right behind, because a copy may announce its write before its
//!   read.
//!
//! invariant: both sides call [`Foresight::is_due`] and [`Foresight::settle`] before each access, then either
//! [`Foresight::pass`] (it was foreseen) or [`Foresight::note`] (it was not), and [`Foresight::switch`] where another
//! thread comes.

const SLOT_BITS: u32 = 13;
const MIRROR: usize = 1 << 20;
/// A place whose reads were not foreseen so often has its values spelled out, until so many in a row are foreseen.
const STRANGE: u32 = 2;
const FAMILIAR: u32 = 16;
/// Bytes of code between the two halves of a copy at most.
const COPY: u64 = 256;
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a run of no accesses says, in place of the values that are reads': accesses are not noted in the rest of the
/// chunk.
pub const RESTS: u64 = 1;

/// Set in [`Slot::addr`]: values are spelled out. No address has it, so that a glance tells.
pub const SPELLED: u64 = 1 << 63;

/// A place in the code, and what it does next.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C, align(64))]
pub struct Slot {
    /// First word of the record; 0: nobody's.
    pub head: u64,
    /// Its call stack, and above it whatever tells chunks apart.
    pub context: u64,
    /// Where it goes next.
    pub addr: u64,
    pub stride: u64,
    /// What it was to access next when it last went elsewhere.
    missed: u64,
    /// Which slot followed.
    pub next: u32,
    /// Reads in a row that were not foreseen, or, spelled out, would have been.
    count: u32,
}

impl Slot {
    /// Nothing is like it.
    pub const fn nobody() -> Self {
        Self { head: 0, context: 0, addr: 0, stride: 0, missed: 0, next: 0, count: 0 }
    }
}

/// The model. Slot 0 stands for nobody.
pub struct Foresight {
    pub slots: Box<[Slot]>,
    pub mirror: Box<[u8]>,
    /// The slot that is expected next, and that of the last access.
    pub expected: u32,
    pub last: u32,
    late: Late,
    /// Something is in the mirror.
    used: bool,
}

/// A write that is not in the mirror yet.
#[derive(Clone, Copy, Default)]
struct Late {
    /// First word of its record; 0: there is none.
    head: u64,
    /// With [`FRESH`] if no access has come since.
    addr: u64,
}

const FRESH: u64 = 1 << 63;

/// An access that the model knows.
#[derive(Clone, Copy, Debug)]
pub struct Foreseeable {
    pub head: u64,
    pub context: u64,
    pub addr: u64,
}

impl Foreseeable {
    #[inline(always)]
    pub const fn size(&self) -> u32 {
        (self.head >> 8 & 15) as u32
    }

    #[inline(always)]
    pub const fn is_write(&self) -> bool {
        self.head as u8 == super::kind::WRITE
    }
}

impl Default for Foresight {
    fn default() -> Self {
        let slots = vec![Slot::default(); (1 << SLOT_BITS) + 1].into_boxed_slice();
        let mirror = vec![0; MIRROR + 8].into_boxed_slice();
        Self { slots, mirror, expected: 0, last: 0, late: Late::default(), used: false }
    }
}

impl Foresight {
    /// One that is never asked.
    pub fn blind() -> Self {
        let slots = vec![Slot::nobody()].into_boxed_slice();
        Self { slots, mirror: Box::default(), expected: 0, last: 0, late: Late::default(), used: false }
    }

    /// Whether an access of so many bytes is one for the model.
    #[inline(always)]
    pub const fn knows_size(size: u32) -> bool {
        matches!(size, 1 | 2 | 4 | 8)
    }

    /// Where the mirror shows what is at an address.
    #[inline(always)]
    pub const fn place(addr: u64) -> usize {
        addr as usize & (MIRROR - 1)
    }

    /// Forgets everything but the slots: those of earlier chunks are told by their context.
    pub fn start(&mut self) {
        if std::mem::take(&mut self.used) {
            self.mirror.fill(0);
        }
        (self.expected, self.last, self.late) = (0, 0, Late::default());
    }

    /// What the mirror shows.
    #[inline(always)]
    pub fn load(&self, addr: u64, size: u32) -> u64 {
        let at = Self::place(addr);
        let word = u64::from_le_bytes(self.mirror[at..at + 8].try_into().expect("eight bytes"));
        word & u64::MAX >> (64 - 8 * size)
    }

    #[inline(always)]
    pub fn store(&mut self, addr: u64, size: u32, value: u64) {
        let at = Self::place(addr);
        self.mirror[at..at + size as usize].copy_from_slice(&value.to_le_bytes()[..size as usize]);
    }

    /// Whether the late write must be [settled](Self::settle) before this access.
    #[inline(always)]
    pub fn is_due(&self, access: &Foreseeable) -> bool {
        self.late.head != 0 && !self.may_copy(access)
    }

    /// Whether an access with this first word may be the other half of the late write: a glance, not sure.
    #[inline(always)]
    pub const fn is_near(&self, head: u64) -> bool {
        // Kind, size and flags of a read are those of the write, less one.
        head.wrapping_add(1).wrapping_sub(self.late.head).rotate_right(16) < COPY
    }

    /// Whether the late write and this access may be the halves of a copy.
    #[inline(always)]
    fn may_copy(&self, access: &Foreseeable) -> bool {
        let Late { head, addr } = self.late;
        // Kind and size of a read for that write.
        let same = (access.head ^ head ^ u64::from(super::kind::READ ^ super::kind::WRITE)) & 0xfff == 0;
        let behind = (access.head >> 16).wrapping_sub(head >> 16);
        same && behind < COPY && addr & FRESH != 0 && access.addr != addr & !FRESH
    }

    /// Whether a write is late.
    #[inline(always)]
    pub const fn has_late(&self) -> bool {
        self.late.head != 0
    }

    /// Whether a write is late and an access has come since.
    pub const fn write_is_past(&self) -> bool {
        self.late.head != 0 && self.late.addr & FRESH == 0
    }

    /// First word and address of the late write.
    pub const fn late_write(&self) -> [u64; 2] {
        [self.late.head, self.late.addr & !FRESH]
    }

    /// The late write has reached the mirror.
    #[inline(always)]
    pub const fn is_settled(&mut self) {
        self.late.head = 0;
    }

    /// The late write's value.
    #[inline(always)]
    pub fn settle(&mut self, value: u64) {
        let Late { head, addr } = self.late;
        self.late.head = 0;
        self.store(addr & !FRESH, (head >> 8 & 15) as u32, value);
    }

    /// A write has come.
    #[inline(always)]
    pub fn write_is_late(&mut self, head: u64, addr: u64) {
        self.late = Late { head, addr: addr | FRESH };
    }

    #[inline(always)]
    fn came(&mut self, access: &Foreseeable) {
        if access.is_write() {
            self.write_is_late(access.head, access.addr);
        } else {
            self.late.addr &= !FRESH;
        }
    }

    /// Whether this access is the expected one; its value is another question.
    #[inline(always)]
    pub fn expects(&self, access: &Foreseeable) -> bool {
        let slot = &self.slots[self.expected as usize];
        slot.head == access.head && slot.context == access.context && slot.addr & !SPELLED == access.addr
    }

    /// Whether values of the expected place are spelled out.
    #[inline(always)]
    pub fn spells_out(&self) -> bool {
        self.slots[self.expected as usize].addr & SPELLED != 0
    }

    /// The expected access has come. `read`: the value of a read that was spelled out.
    #[inline(always)]
    pub fn pass(&mut self, access: &Foreseeable, read: Option<u64>) {
        let familiar = read.is_some_and(|value| {
            let known = self.load(access.addr, access.size()) == value;
            self.store(access.addr, access.size(), value);
            known
        });
        let slot = &mut self.slots[self.expected as usize];
        let mut spelled = slot.addr & SPELLED;
        if read.is_some() {
            slot.count = if familiar { slot.count + 1 } else { 0 };
            if slot.count == FAMILIAR {
                (spelled, slot.count) = (0, 0);
            }
        }
        slot.addr = access.addr.wrapping_add(slot.stride) & !SPELLED | spelled;
        self.last = self.expected;
        self.expected = slot.next;
        self.came(access);
    }

    /// Another access than the expected one has come. `value`: a read's.
    pub fn note(&mut self, access: &Foreseeable, value: u64) {
        self.used = true;
        let stack = u64::from(access.context as u32);
        let at = 1 + ((access.head ^ stack.rotate_left(40)).wrapping_mul(MIX) >> (64 - SLOT_BITS)) as u32;
        let &Foreseeable { head, context, addr } = access;
        let strange = !access.is_write() && self.load(addr, access.size()) != value;
        if strange {
            self.store(addr, access.size(), value);
        }
        let slot = &mut self.slots[at as usize];
        if slot.head != head || slot.context != context {
            *slot = Slot { head, context, addr: addr & !SPELLED, missed: addr, ..Slot::default() };
        } else {
            let mut spelled = slot.addr & SPELLED;
            let next = slot.addr & !SPELLED;
            if strange && spelled == 0 {
                slot.count += 1;
                if slot.count >= STRANGE {
                    (spelled, slot.count) = (SPELLED, 0);
                }
            }
            // The end of an inner loop is no reason to take its stride for another: only two in a row are.
            if next != addr && next == slot.missed {
                slot.stride = addr.wrapping_sub(next.wrapping_sub(slot.stride));
            }
            let after = addr.wrapping_add(slot.stride) & !SPELLED;
            if next != addr {
                slot.missed = after;
            }
            slot.addr = after | spelled;
        }
        if self.last != 0 {
            self.slots[self.last as usize].next = at;
        }
        self.last = at;
        self.expected = self.slots[at as usize].next;
        self.came(access);
    }

    /// Another thread goes on. No write may be late.
    pub fn switch(&mut self) {
        (self.expected, self.last) = (0, 0);
    }
}
