//! Call stacks, interned as a tree: entering a function costs one table look-up, and records carry a small id.
//!
//! A frame remembers the stack pointer of its entry, so that frames skipped by longjmp or an exception are dropped at the
//! next entry.

use super::guarded::Guarded;
use super::register::Hook;
use super::{active, alloc, conductor, hold, threads, tls};
use reweave_conductor::Thread;
use reweave_model::wire::Record;
use reweave_model::{Pc, StackId};
use std::ptr::null_mut;

#[derive(Clone, Copy)]
struct Frame {
    sp: u64,
    /// Stack of the caller.
    before: u32,
}

/// Frames a thread can have; deeper ones are not distinguished. The memory is reserved, not used.
const FRAMES: usize = 1 << 20;

/// Shadow stack of one thread, at `Thread::user`.
pub struct Shadow {
    frames: *mut Frame,
    depth: usize,
}

impl Shadow {
    pub fn new() -> *mut Self {
        let frames = alloc::map(FRAMES * size_of::<Frame>()).cast();
        Box::into_raw(Box::new(Self { frames, depth: 0 }))
    }

    /// # Safety
    /// The thread has ended.
    pub unsafe fn free(shadow: *mut Self) {
        if !shadow.is_null() {
            // SAFETY: made by `new`.
            let shadow = unsafe { Box::from_raw(shadow) };
            alloc::unmap(shadow.frames.cast(), FRAMES * size_of::<Frame>());
        }
    }
}

/// The tree: an open-addressing table from (parent, pc) to id. Touched by the holder of the token only.
struct Tree {
    slots: Vec<(u64, u32, u32)>,
    next: u32,
}

static TREE: Guarded<Tree> = Guarded::new(Tree { slots: Vec::new(), next: 1 });

impl Tree {
    fn child(&mut self, parent: u32, pc: u64) -> (u32, bool) {
        if self.slots.len() < 2 * self.next as usize {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(parent, pc) & mask;
        loop {
            let (known_pc, known_parent, id) = self.slots[at];
            if id == 0 {
                self.slots[at] = (pc, parent, self.next);
                self.next += 1;
                return (self.next - 1, true);
            }
            if known_pc == pc && known_parent == parent {
                return (id, false);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(4096);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0, 0); size]);
        for (pc, parent, id) in old {
            if id != 0 {
                let mut at = hash(parent, pc) & (size - 1);
                while self.slots[at].2 != 0 {
                    at = (at + 1) & (size - 1);
                }
                self.slots[at] = (pc, parent, id);
            }
        }
    }
}

fn hash(parent: u32, pc: u64) -> usize {
    let mixed = (pc ^ u64::from(parent) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize
}

/// After a fork the child's trace starts without definitions.
pub fn forget() {
    *TREE.get() = Tree { slots: Vec::new(), next: 1 };
}

#[unsafe(naked)]
unsafe extern "C" fn func_entry() {
    std::arch::naked_asm!("lea rsi, [rsp + 8]", "jmp {body}", body = sym entered)
}

extern "C" fn entered(caller: u64, sp: u64) {
    if !active() {
        return;
    }
    let thread = tls::thread();
    // SAFETY: the row of this very thread.
    let thread = match unsafe { thread.as_mut() } {
        Some(thread) => thread,
        None => match threads::adopt() {
            Some(thread) => thread,
            None => return,
        },
    };
    if thread.inside != 0 {
        return;
    }
    hold(thread);
    // The last write's slot may be reused by calls that no hook sees.
    conductor().recorder.settle(thread);
    // SAFETY: the shadow stack belongs to this thread.
    unsafe {
        let shadow = &mut *thread.user.cast::<Shadow>();
        let mut stack = thread.stack_wanted as u32;
        // Frames below the current stack pointer were left without an exit.
        while shadow.depth > 0 && (*shadow.frames.add(shadow.depth - 1)).sp < sp {
            shadow.depth -= 1;
            stack = (*shadow.frames.add(shadow.depth)).before;
        }
        if shadow.depth < FRAMES {
            *shadow.frames.add(shadow.depth) = Frame { sp, before: stack };
        }
        shadow.depth += 1;
        enter_frame(thread, stack, caller);
    }
}

fn enter_frame(thread: &mut Thread, stack: u32, caller: u64) {
    let recorder = &mut conductor().recorder;
    let (id, new) = TREE.get().child(stack, caller);
    if new {
        // Nothing else may come between the settled write and this.
        let record = Record::StackDef { stack: StackId(id), parent: StackId(stack), pc: Pc(caller) };
        let inside = std::mem::replace(&mut thread.inside, 1);
        recorder.record(thread, &record);
        thread.inside = inside;
    }
    recorder.set_stack(thread, id);
}

extern "C" fn func_exit() {
    let thread = tls::thread();
    // SAFETY: the row of this very thread.
    if let Some(thread) = unsafe { thread.as_mut() }
        && thread.inside == 0
    {
        hold(thread);
        conductor().recorder.settle(thread);
        // SAFETY: the shadow stack belongs to this thread.
        unsafe {
            let shadow = &mut *thread.user.cast::<Shadow>();
            if shadow.depth > 0 {
                shadow.depth -= 1;
                if shadow.depth < FRAMES {
                    let before = (*shadow.frames.add(shadow.depth)).before;
                    conductor().recorder.set_stack(thread, before);
                }
            }
        }
    }
}

/// A new thread's empty stack.
pub fn attach(thread: &mut Thread) {
    if thread.user.is_null() {
        thread.user = Shadow::new().cast();
    }
}

pub fn detach(thread: &mut Thread) {
    // SAFETY: called once, at the end of the thread.
    unsafe { Shadow::free(thread.user.cast()) };
    thread.user = null_mut();
}

pub const HOOKS: &[Hook] =
    &[("__tsan_func_entry", func_entry as *const ()), ("__tsan_func_exit", func_exit as *const ())];
