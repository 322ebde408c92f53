//! Where the memory of a plan lies in this run, and what it holds.
//!
//! Windows and buffers may lie elsewhere than in the recorded run: the library allocates between the program's own
//! allocations, now more and now less. A plan says what its addresses are measured from; where that lies is learnt when
//! the window is made, or the call with the buffer.

use super::{Source, Steering, active, steering};
use crate::event::Event;
use crate::plan::{Anchor, Memory, Plan, Said, What};

impl Steering {
    /// Learns where memory lies in this run: what `there` says of an anchor, now and in the plan.
    pub(super) fn shift(&mut self, there: impl Fn(Anchor) -> Option<(u64, u64)>) {
        let Plan { first, second, memory, .. } = self.plan;
        let all = [(first.rank, first.anchor), (second.rank, second.anchor), (memory.rank, memory.anchor)];
        for (shift, (rank, anchor)) in self.shifts.iter_mut().zip(all) {
            if let (true, Some((now, then))) = (rank == self.me, there(anchor)) {
                *shift = now.wrapping_sub(then) as i64;
            }
        }
    }

    /// What an operation that is about to be issued reads of the place in question, if that is its origin.
    pub(super) fn reads(&self, source: &Source) -> Option<String> {
        let Memory { rank, address, len, .. } = self.plan.memory;
        let place = address.wrapping_add_signed(self.shifts[2]);
        (rank == self.me).then(|| source.now(place)).flatten().map(|at| text(at, len))
    }

    /// What a call that is about to be made reads of the place in question, if that is its message's buffer.
    pub(super) fn sends(&self, first: bool) -> Option<String> {
        let step = if first { self.plan.first } else { self.plan.second };
        let Memory { rank, address, len, .. } = self.plan.memory;
        let reads = step.what == What::BufferRead && rank == self.me;
        reads.then(|| text(address.wrapping_add_signed(self.shifts[2]), len))
    }

    /// What lies at the place in question, on the rank that owns it.
    pub(super) fn say_left(&mut self) {
        let Memory { rank, address, len, .. } = self.plan.memory;
        if rank == self.me && !self.gone {
            let bytes = text(address.wrapping_add_signed(self.shifts[2]), len);
            self.say(Said::Left { bytes });
        }
    }
}

/// Memory is about to be given back: what it holds then is not the program's doing any more.
pub fn gone(start: u64, len: u64) {
    if !active() {
        return;
    }
    let Some(mut steering) = steering() else { return };
    let Memory { rank, address, .. } = steering.plan.memory;
    if rank == steering.me && address.wrapping_add_signed(steering.shifts[2]).wrapping_sub(start) < len {
        steering.say_left();
        steering.gone = true;
    }
}

/// A call was logged.
pub fn logged(event: &Event) {
    let Some(mut steering) = steering() else { return };
    match event {
        Event::Operation(operation) => {
            steering.buffers = operation.reads.iter().chain(&operation.writes).map(|buffer| buffer.address).collect();
        }
        Event::Buffer { buffer, .. } => steering.buffers = vec![buffer.address],
        Event::WindowMade { window: made, base, .. } => steering.shift(|anchor| match anchor {
            Anchor::Window(window, then) if window == *made => Some((*base, then)),
            _ => None,
        }),
        _ => {}
    }
}

/// Bytes of this process, at most 16; empty if there are none.
pub(super) fn text(address: u64, len: u64) -> String {
    let mut bytes = [0u8; 16];
    let len = len.min(16) as usize;
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: len };
    let there = libc::iovec { iov_base: address as *mut _, iov_len: len };
    // SAFETY: the kernel checks both. Reading like this cannot fault.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    bytes[..read.max(0) as usize].iter().map(|byte| format!("{byte:02x}")).collect()
}
