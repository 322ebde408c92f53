//! mem* and str* functions, which record the bytes they read and write as ranges.
//!
//! Reads are exact: `strcmp` reads up to the first difference, not to the end. Each range is a step of its own, and the
//! scheduler may put another thread between two of them; what was read before is then used from a copy ([`BytesRead`]), so
//! that the call's effect always follows from what the trace says it read.
//!
//! Three kinds of callers come here and must not be recorded: a process that is not under control, for which the stub
//! jumps on to libc; code that runs before libraries are relocated (ifunc resolvers), for which [`plain`] needs
//! nothing; and this library itself, whose loops and moves the compiler turns into calls of these very symbols
//! ([`own_code`]).

#[macro_use]
mod stub;

mod bytes;
mod compares;
mod copies;
mod fortified;
mod plain;
mod searches;
mod tokens;
mod wide;

pub use bytes::{memcpy, memmove, memset};
pub use searches::{strlen, strnlen};

use super::{Inside, Token, enter, ranges};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A libc function: where its address is kept, and its zero-terminated name.
type LibcFunction = (&'static AtomicPtr<()>, &'static str);

/// Finds all functions when the library is loaded: later the program may be anywhere, and the look-up allocates and
/// changes what `dlerror` says.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = {
    extern "C" fn loaded() {
        let lists =
            [bytes::LIST, compares::LIST, copies::LIST, fortified::LIST, searches::LIST, tokens::LIST, wide::LIST];
        for (cell, name) in lists.into_iter().flatten() {
            // SAFETY: a zero-terminated name.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast()) };
            cell.store(found.cast(), Ordering::Relaxed);
        }
    }
    loaded
};

/// Whether `pc` lies in this library.
#[inline(always)]
fn own_code(pc: u64) -> bool {
    let (start, end): (u64, u64);
    // SAFETY: takes addresses that the linker defines.
    unsafe {
        std::arch::asm!(
            ".hidden __ehdr_start",
            ".hidden _etext",
            "lea {start}, [rip + __ehdr_start]",
            "lea {end}, [rip + _etext]",
            start = out(reg) start, end = out(reg) end,
            options(nostack, nomem, pure, preserves_flags)
        );
    }
    pc.wrapping_sub(start) < end - start
}

/// Enters the runtime on behalf of the program.
#[inline(always)]
fn recorded(pc: u64) -> Option<Inside> {
    if own_code(pc) { None } else { enter() }
}

/// What a read returned: the bytes themselves while nobody else can run, otherwise a copy.
struct BytesRead {
    at: *const u8,
    _copy: Vec<u8>,
}

/// Reads `size` bytes that a later step of the same call uses.
fn see(token: &mut Token<'_>, at: *const u8, size: usize, pc: u64) -> BytesRead {
    ranges::reads(token, at, size, pc);
    // The slice is used up: others run before the next step.
    if token.me().own.budget.get() == 0 && size > 0 { copied(at, size) } else { BytesRead { at, _copy: Vec::new() } }
}

fn copied(at: *const u8, size: usize) -> BytesRead {
    let mut copy = Vec::<u8>::with_capacity(size);
    // SAFETY: there is room, and the caller may read `size` bytes.
    unsafe {
        memmove::real()(copy.as_mut_ptr(), at, size);
        copy.set_len(size);
    }
    BytesRead { at: copy.as_ptr(), _copy: copy }
}

/// Looks at memory: `look` gives its answer and the bytes it took to find it.
fn look<R>(token: &mut Token<'_>, pc: u64, look: impl FnOnce() -> (R, *const u8, usize)) -> R {
    // Afterwards the thread has at least this step, so nobody runs between the look and its record.
    token.point();
    let (answer, at, size) = look();
    ranges::reads(token, at, size, pc);
    answer
}

/// Writes `size` bytes by `write`; they are recorded at once, before code that has no hooks can change them.
fn put(token: &mut Token<'_>, at: *mut u8, size: usize, pc: u64, write: impl FnOnce()) {
    ranges::writes(token, at, size, pc);
    write();
    token.fill_pending_write();
}
