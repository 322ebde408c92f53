//! OpenMP through libgomp, whose own synchronisation is inline system calls and atomics that no hook sees. Its entry
//! points are bracketed: a thread that may wait inside the library leaves control, and what the construct orders is
//! recorded as messages (region start, region end, barrier) or locks (critical sections).

use super::{Inside, enter, free, hold, locks, system};
use libc::{c_int, c_long, c_uint, c_void};
use reweave_conductor::Deadline;

// Channels; ids below any mapped address.
const REGION_START: u64 = 0x40;
const REGION_END: u64 = 0x41;
const BARRIER: u64 = 0x42;
/// The unnamed critical section, and the lock behind `atomic` constructs that need one.
const CRITICAL: u64 = 0x48;
const ATOMIC: u64 = 0x50;

type Body = unsafe extern "C-unwind" fn(*mut c_void);

/// The region's function and argument, handed through libgomp.
struct Region {
    body: Body,
    data: *mut c_void,
}

/// Waits in the library without the token, then is ordered after everybody who sent on `channel`.
fn bracket<R: Copy + Into<i64>>(inside: &mut Inside, pc: u64, channel: u64, wait: impl FnOnce() -> R) -> R {
    inside.send(pc, channel, 1);
    let result = system::blocking(inside, pc, libc::SYS_futex as u32, wait);
    inside.receive(pc, channel, None);
    result
}

/// One thread's share of a region, called by libgomp: by the thread that opened the region, which still holds the
/// token, and by pool threads, which come from outside. All go outside again, to wait inside the library.
unsafe extern "C-unwind" fn share(region: *mut c_void) {
    // SAFETY: made by GOMP_parallel below, alive until the region ends.
    let region = unsafe { &*region.cast::<Region>() };
    // SAFETY: libgomp calls this, or the program: no token of this thread is in use.
    let Some(mut token) = (unsafe { hold() }) else {
        // SAFETY: the program's own function.
        return unsafe { (region.body)(region.data) };
    };
    let pc = region.body as usize as u64;
    token.me().own.inside.set(1);
    free::catch_up(&mut token);
    token.receive(pc, REGION_START, None);
    token.run_free();
    // SAFETY: this thread's own row, of which a word is touched.
    unsafe { token.pointer().as_ref() }.own.inside.set(0);
    // SAFETY: the program's own function.
    unsafe { (region.body)(region.data) };
    // SAFETY: as above.
    unsafe { token.pointer().as_ref() }.own.inside.set(1);
    token.keep();
    free::catch_up(&mut token);
    token.send(pc, REGION_END, 1);
    let row = token.pointer();
    token.leave();
    // Work that comes by a way we do not know (a task) is still recorded: its first hook brings the thread back.
    // SAFETY: this thread's own row, of which a word is touched.
    unsafe { row.as_ref() }.own.inside.set(0);
}

/// Runs a parallel region; `start` is the library's entry point with our function in place of the program's.
fn region(pc: u64, body: Body, data: *mut c_void, start: impl FnOnce(Body, *mut c_void)) {
    let Some(mut inside) = enter() else { return start(body, data) };
    inside.send(pc, REGION_START, 1);
    let region = Region { body, data };
    // Threads that the library creates are recorded as this one's children.
    inside.me().own.inside.set(0);
    start(share, (&raw const region).cast_mut().cast());
    inside.me().own.inside.set(1);
    inside.keep();
    free::catch_up(&mut inside);
    inside.receive(pc, REGION_END, None);
}

type Parallel = unsafe extern "C-unwind" fn(Body, *mut c_void, c_uint, c_uint);

interpose! {
    fn GOMP_parallel(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint; pc) {
        region(pc, body, data, |body, data| real!(GOMP_parallel: Parallel)(body, data, threads, flags));
    }

    fn GOMP_parallel_sections(body: Body, data: *mut c_void, threads: c_uint, count: c_uint, flags: c_uint; pc) {
        type Sections = unsafe extern "C-unwind" fn(Body, *mut c_void, c_uint, c_uint, c_uint);
        region(pc, body, data, |body, data| real!(GOMP_parallel_sections: Sections)(body, data, threads, count, flags));
    }
}

/// Threads wait inside the library for all others, and go on together. (`GOMP_loop_end`: of a loop without `nowait`.)
macro_rules! barriers {
    ($($name:ident)*) => {
        interpose! {
            $(fn $name(; pc) {
                let wait = real!($name: unsafe extern "C-unwind" fn());
                match enter() {
                    Some(mut inside) => { bracket(&mut inside, pc, BARRIER, || { wait(); 0i64 }); }
                    None => wait(),
                }
            })*
        }
    };
}

barriers! { GOMP_barrier GOMP_loop_end GOMP_sections_end GOMP_taskwait }

/// Beginnings and ends of sections under a lock: one of the library's own, or the one that is named.
macro_rules! sections {
    ($($begin:ident $end:ident ($($argument:ident)?) $lock:expr;)*) => {
        interpose! {
            $(fn $begin($($argument: *mut c_void)?; pc) {
                match enter() {
                    Some(mut inside) => { locks::lock(&mut inside, pc, $lock, 0, Deadline::Never); }
                    None => real!($begin: unsafe extern "C-unwind" fn($(sections!(@ $argument))?))($($argument)?),
                }
            }

            fn $end($($argument: *mut c_void)?; pc) {
                match enter() {
                    Some(mut inside) => { locks::unlock(&mut inside, pc, $lock, false); }
                    None => real!($end: unsafe extern "C-unwind" fn($(sections!(@ $argument))?))($($argument)?),
                }
            })*
        }
    };
    (@ $argument:ident) => { *mut c_void };
}

sections! {
    GOMP_critical_start GOMP_critical_end () CRITICAL;
    GOMP_critical_name_start GOMP_critical_name_end (name) name as u64;
    GOMP_atomic_start GOMP_atomic_end () ATOMIC;
    omp_set_lock omp_unset_lock (lock) lock as u64;
}

interpose! {
    fn omp_test_lock(lock: *mut c_void; pc) -> c_int {
        match enter() {
            Some(mut inside) => (locks::lock(&mut inside, pc, lock as u64, 0, Deadline::Now) == 0).into(),
            None => real!(omp_test_lock: unsafe extern "C-unwind" fn(*mut c_void) -> c_int)(lock),
        }
    }
}

type Loop = unsafe extern "C-unwind" fn(Body, *mut c_void, c_uint, c_long, c_long, c_long, c_long, c_uint);

/// Parallel loops. Those without a chunk size pass their flags in its place and ignore what follows.
macro_rules! parallel_loops {
    ($($name:ident)*) => {$(
        /// # Safety
        /// As compiled code calls it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            body: Body,
            data: *mut c_void,
            threads: c_uint,
            start: c_long,
            end: c_long,
            step: c_long,
            chunk: c_long,
            flags: c_uint,
        ) {
            // SAFETY: the program's own call, with our function.
            region(body as usize as u64, body, data, |body, data| unsafe {
                real!($name: Loop)(body, data, threads, start, end, step, chunk, flags)
            });
        }
    )*};
}
parallel_loops! {
    GOMP_parallel_loop_static
    GOMP_parallel_loop_dynamic
    GOMP_parallel_loop_guided
    GOMP_parallel_loop_runtime
    GOMP_parallel_loop_nonmonotonic_dynamic
    GOMP_parallel_loop_nonmonotonic_guided
    GOMP_parallel_loop_nonmonotonic_runtime
    GOMP_parallel_loop_maybe_nonmonotonic_runtime
}
