//! Calls without a type: from `shmem_init` to `shmem_finalize`, completion, locks, barriers, memory.

use super::super::objects::Comm;
use super::super::{local, online, start, steer};
use super::collective::{Set, members};
use super::{begin, context, domain_of, made_context, quiet, symmetric, team_split};
use crate::event::{Collective, Event, Flow};
use crate::ids::{Context, Rank, Window};
use crate::runtime::Call;

/// A call in which everybody of a set waits for everybody.
fn meeting(call: &Call, set: Option<(Comm, Collective)>, completes: bool, go: impl FnOnce()) {
    if completes {
        steer::shmem_completing(None);
        quiet(call, Context::DEFAULT, true);
    }
    if let Some((comm, collective)) = &set {
        let flow = Flow::All { contributors: comm.size };
        call.log(Event::Enter { collective: *collective, flow, contributes: true });
        online::boundary(comm.size);
    }
    go();
    if let Some((_, collective)) = set {
        call.log(Event::Exit { collective });
    }
}

/// # Safety
/// As the library has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmem_init() {
    start::quietly(|| {
        let real = real!("pshmem_init", unsafe extern "C" fn());
        // SAFETY: the program's own call.
        unsafe { real() };
        started();
    });
}

/// # Safety
/// As the library has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shmem_init_thread(wanted: i32, provided: *mut i32) -> i32 {
    start::quietly(|| {
        let real = real!("pshmem_init_thread", unsafe extern "C" fn(i32, *mut i32) -> i32);
        // SAFETY: the program's own call.
        let result = unsafe { real(wanted, provided) };
        started();
        result
    })
}

/// As it was called before version 1.2.
///
/// # Safety
/// As the library has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn start_pes(count: i32) {
    start::quietly(|| {
        let real = real!("pstart_pes", unsafe extern "C" fn(i32));
        // SAFETY: the program's own call.
        unsafe { real(count) };
        started();
    });
}

fn started() {
    let rank = real!("pshmem_my_pe", unsafe extern "C" fn() -> i32);
    let ranks = real!("pshmem_n_pes", unsafe extern "C" fn() -> i32);
    // SAFETY: SHMEM is there. The library is kept: Debian's crashes in shmem_finalize, which unloads it.
    unsafe {
        libc::dlopen(c"libmca_common_ucx.so.40".as_ptr(), libc::RTLD_NOW | libc::RTLD_NODELETE);
        if start::listen(rank() as u32, ranks() as u32) {
            start::take_up_plan(rank() as u32);
        }
    }
    begin();
}

interpose! { "p"
    fn shmem_finalize() -> () { |call| {
        let set = members(&call, Set::Everybody);
        meeting(&call, set, true, online::end);
        steer::end();
        start::finish(true);
        (call.real)()
    } }
    fn shmem_global_exit(status: i32) -> () { |call| {
        start::finish(status == 0);
        (call.real)(status)
    } }
    fn shmem_malloc(size: usize) -> *mut u8 { |call| allocate(&call, size, || (call.real)(size)) }
    fn shmem_align(alignment: usize, size: usize) -> *mut u8 { |call| allocate(&call, size, || (call.real)(alignment, size)) }
    fn shmem_calloc(count: usize, size: usize) -> *mut u8 { |call| allocate(&call, count * size, || (call.real)(count, size)) }
    fn shmalloc(size: usize) -> *mut u8 { |call| allocate(&call, size, || (call.real)(size)) }
    fn shmem_free(address: *mut u8) -> () { |call| {
        freed(&call, address);
        (call.real)(address)
    } }
    fn shfree(address: *mut u8) -> () { |call| {
        freed(&call, address);
        (call.real)(address)
    } }
    fn shmem_realloc(address: *mut u8, size: usize) -> *mut u8 { |call| {
        freed(&call, address);
        allocate(&call, size, || (call.real)(address, size))
    } }
    fn shrealloc(address: *mut u8, size: usize) -> *mut u8 { |call| {
        freed(&call, address);
        allocate(&call, size, || (call.real)(address, size))
    } }
    fn shmemx_malloc_with_hint(size: usize, hint: i64) -> *mut u8 { |call| allocate(&call, size, || (call.real)(size, hint)) }
    fn shmem_malloc_with_hints(size: usize, hints: i64) -> *mut u8 { |call| allocate(&call, size, || (call.real)(size, hints)) }
    fn shmem_ptr(address: *mut u8, pe: i32) -> *mut u8 { |call| {
        let mapped = (call.real)(address, pe);
        let size = local::size_around(address as u64);
        let own = call.with(|state, _| state.me == Rank(pe as u32)).unwrap_or(true);
        if !mapped.is_null() && !own && let Some((before, after)) = size {
            local::watch_other(mapped as u64 - before, before + after, Rank(pe as u32), Window::SYMMETRIC, address as u64 - before);
        }
        mapped
    } }
    fn shmem_barrier_all() -> () { |call| {
        let set = members(&call, Set::Everybody);
        meeting(&call, set, true, || (call.real)())
    } }
    fn shmem_sync_all() -> () { |call| {
        let set = members(&call, Set::Everybody);
        meeting(&call, set, false, || (call.real)())
    } }
    fn shmem_barrier(first: i32, stride: i32, size: i32, sync: *mut i64) -> () { |call| {
        let set = members(&call, Set::Ranks(first, stride, size));
        meeting(&call, set, true, || (call.real)(first, stride, size, sync))
    } }
    fn shmem_sync(first: i32, stride: i32, size: i32, sync: *mut i64) -> () { |call| {
        let set = members(&call, Set::Ranks(first, stride, size));
        meeting(&call, set, false, || (call.real)(first, stride, size, sync))
    } }
    fn shmem_quiet() -> () { |call| {
        steer::shmem_completing(Some(Context::DEFAULT));
        (call.real)();
        quiet(&call, Context::DEFAULT, false);
    } }
    fn shmem_fence() -> () { |call| {
        steer::shmem_fenced();
        (call.real)();
        call.log(Event::ContextFence { context: Context::DEFAULT });
    } }
    fn shmem_ctx_quiet(handle: usize) -> () { |call| {
        steer::shmem_completing(Some(context(handle)));
        (call.real)(handle);
        quiet(&call, context(handle), false);
    } }
    fn shmem_ctx_fence(handle: usize) -> () { |call| {
        steer::shmem_fenced();
        (call.real)(handle);
        call.log(Event::ContextFence { context: context(handle) });
    } }
    fn shmem_ctx_create(options: i64, made: *mut usize) -> i32 { |call| {
        let result = (call.real)(options, made);
        if result == 0 {
            made_context(*made, 0);
        }
        result
    } }
    fn shmem_team_create_ctx(team: usize, options: i64, made: *mut usize) -> i32 { |call| {
        let result = (call.real)(team, options, made);
        if result == 0 {
            made_context(*made, domain_of(team));
        }
        result
    } }
    fn shmem_team_sync(team: usize) -> i32 { |call| {
        let set = members(&call, Set::Team(team));
        let mut result = 0;
        meeting(&call, set, false, || result = (call.real)(team));
        result
    } }
    fn shmem_team_split_strided(parent: usize, first: i32, stride: i32, size: i32, config: u64, mask: i64, made: *mut usize) -> i32 { |call| {
        let set = members(&call, Set::Team(parent));
        let mut result = 0;
        meeting(&call, set, false, || result = (call.real)(parent, first, stride, size, config, mask, made));
        team_split(parent, *made);
        result
    } }
    fn shmem_team_split_2d(parent: usize, range: i32, x: u64, x_mask: i64, x_made: *mut usize, y: u64, y_mask: i64, y_made: *mut usize) -> i32 { |call| {
        let set = members(&call, Set::Team(parent));
        let mut result = 0;
        meeting(&call, set, false, || result = (call.real)(parent, range, x, x_mask, x_made, y, y_mask, y_made));
        team_split(parent, *x_made);
        team_split(parent, *y_made);
        result
    } }
    fn shmem_ctx_destroy(handle: usize) -> () { |call| {
        steer::shmem_completing(None);
        quiet(&call, context(handle), false);
        (call.real)(handle)
    } }
    fn shmem_set_lock(lock: *mut i64) -> () { |call| {
        steer::shmem_completing(None);
        (call.real)(lock);
        call.log(Event::SetLock { word: lock as u64 });
    } }
    fn shmem_test_lock(lock: *mut i64) -> i32 { |call| {
        let result = (call.real)(lock);
        if result == 0 {
            call.log(Event::SetLock { word: lock as u64 });
        }
        result
    } }
    fn shmem_clear_lock(lock: *mut i64) -> () { |call| {
        steer::shmem_completing(None);
        (call.real)(lock);
        quiet(&call, Context::DEFAULT, false);
        call.log(Event::ClearLock { word: lock as u64 });
    } }
}

/// Symmetric memory is given back: that begins with a barrier of everybody, which completes what they issued; then it is
/// gone (R12).
fn freed(call: &Call, address: *mut u8) {
    let set = members(call, Set::Everybody);
    meeting(call, set, true, || ());
    let len = local::forget(address as u64);
    if len > 0 {
        call.log(Event::Gone { place: symmetric(address as u64), len });
    }
}

/// Symmetric memory is made: that ends with a barrier of everybody, which completes what they issued.
fn allocate(call: &Call, size: usize, go: impl FnOnce() -> *mut u8) -> *mut u8 {
    let set = members(call, Set::Everybody);
    let mut made = std::ptr::null_mut();
    meeting(call, set, true, || made = go());
    if !made.is_null() {
        let me = call.with(|state, _| state.me).unwrap_or(Rank(0));
        local::watch(made as u64, size as u64, me, Window::SYMMETRIC);
    }
    made
}
