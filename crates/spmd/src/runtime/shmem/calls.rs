//! Calls without a type: from `shmem_init` to `shmem_finalize`, completion, locks, barriers, memory.

use super::super::abi::abi;
use super::super::objects::Comm;
use super::super::{local, start};
use super::{Call, Elements, Transfer, begin, context, made_context, symmetric, transfer};
use crate::event::{Action, Collective, Event, Flow};
use crate::ids::{Communicator, Context, Rank, Window};

/// Everybody, as the communicator that all barriers of everybody are on.
fn everybody<F>(call: &Call<F>) -> Option<(Comm, Collective)> {
    call.with(|state, _| state.collective(abi().world)).flatten()
}

/// Ranks `first`, `first + stride` …, `size` of them.
fn active_set<F>(call: &Call<F>, first: i32, log_stride: i32, size: i32) -> Option<(Comm, Collective)> {
    let handle = usize::MAX ^ (first as usize) << 40 ^ (log_stride as usize) << 32 ^ size as usize;
    call.with(|state, _| {
        let members = (0..size).map(|number| (first + (number << log_stride)) as u32).collect();
        let id = Communicator(1 << 63 | handle as u64);
        let comm = Comm { id, size: size as u32, members: Some(members), collectives: 0 };
        state.communicators.entry(abi().handle(handle)).or_insert(comm);
        state.collective(handle)
    })
    .flatten()
}

/// A call in which everybody of a set waits for everybody.
fn meeting<F>(call: &Call<F>, set: Option<(Comm, Collective)>, completes: bool, go: impl FnOnce()) {
    if completes {
        call.log(Event::Quiet { context: Context::DEFAULT, barrier: true });
    }
    if let Some((comm, collective)) = &set {
        let flow = Flow::All { contributors: comm.size };
        call.log(Event::Enter { collective: *collective, flow, contributes: true });
    }
    go();
    if let Some((_, collective)) = set {
        call.log(Event::Exit { collective });
    }
}

/// Reductions, collects, all-to-alls: a meeting that reads `source` and fills `dest` (R21).
fn moving<F>(call: &Call<F>, set: Option<(Comm, Collective)>, flow: Option<Flow>, go: impl FnOnce()) {
    if let Some((comm, collective)) = &set {
        let flow = flow.unwrap_or(Flow::All { contributors: comm.size });
        call.log(Event::Enter { collective: *collective, flow, contributes: true });
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

fn started() {
    let rank = real!("pshmem_my_pe", unsafe extern "C" fn() -> i32);
    let ranks = real!("pshmem_n_pes", unsafe extern "C" fn() -> i32);
    // SAFETY: SHMEM is there. The library is kept: Debian's crashes in shmem_finalize, which unloads it.
    unsafe {
        libc::dlopen(c"libmca_common_ucx.so.40".as_ptr(), libc::RTLD_NOW | libc::RTLD_NODELETE);
        start::listen(rank() as u32, ranks() as u32);
    }
    begin();
}

interpose! { "p"
    fn shmem_finalize() -> () { |call| {
        let set = everybody(&call);
        meeting(&call, set, true, || ());
        start::finish();
        (call.real)()
    } }
    fn shmem_global_exit(status: i32) -> () { |call| {
        start::finish();
        (call.real)(status)
    } }
    fn shmem_malloc(size: usize) -> *mut u8 { |call| allocate(&call, size, || (call.real)(size)) }
    fn shmem_align(alignment: usize, size: usize) -> *mut u8 { |call| allocate(&call, size, || (call.real)(alignment, size)) }
    fn shmem_calloc(count: usize, size: usize) -> *mut u8 { |call| allocate(&call, count * size, || (call.real)(count, size)) }
    fn shmalloc(size: usize) -> *mut u8 { |call| allocate(&call, size, || (call.real)(size)) }
    fn shmem_free(address: *mut u8) -> () { |call| {
        let set = everybody(&call);
        meeting(&call, set, false, || ());
        let len = local::forget(address as u64);
        if len > 0 {
            call.log(Event::Gone { place: symmetric(address as u64), len });
        }
        (call.real)(address)
    } }
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
        let set = everybody(&call);
        meeting(&call, set, true, || (call.real)())
    } }
    fn shmem_sync_all() -> () { |call| {
        let set = everybody(&call);
        meeting(&call, set, false, || (call.real)())
    } }
    fn shmem_barrier(first: i32, stride: i32, size: i32, sync: *mut i64) -> () { |call| {
        let set = active_set(&call, first, stride, size);
        meeting(&call, set, true, || (call.real)(first, stride, size, sync))
    } }
    fn shmem_sync(first: i32, stride: i32, size: i32, sync: *mut i64) -> () { |call| {
        let set = active_set(&call, first, stride, size);
        meeting(&call, set, false, || (call.real)(first, stride, size, sync))
    } }
    fn shmem_quiet() -> () { |call| {
        (call.real)();
        call.log(Event::Quiet { context: Context::DEFAULT, barrier: false });
    } }
    fn shmem_fence() -> () { |call| {
        (call.real)();
        call.log(Event::ContextFence { context: Context::DEFAULT });
    } }
    fn shmem_ctx_quiet(handle: usize) -> () { |call| {
        (call.real)(handle);
        call.log(Event::Quiet { context: context(handle), barrier: false });
    } }
    fn shmem_ctx_fence(handle: usize) -> () { |call| {
        (call.real)(handle);
        call.log(Event::ContextFence { context: context(handle) });
    } }
    fn shmem_ctx_create(options: i64, made: *mut usize) -> i32 { |call| {
        let result = (call.real)(options, made);
        if result == 0 {
            made_context(*made);
        }
        result
    } }
    fn shmem_ctx_destroy(handle: usize) -> () { |call| {
        call.log(Event::Quiet { context: context(handle), barrier: false });
        (call.real)(handle)
    } }
    fn shmem_set_lock(lock: *mut i64) -> () { |call| {
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
        (call.real)(lock);
        call.log(Event::ClearLock { word: lock as u64 });
    } }
}

fn allocate<F>(call: &Call<F>, size: usize, go: impl FnOnce() -> *mut u8) -> *mut u8 {
    let set = everybody(call);
    let mut made = std::ptr::null_mut();
    meeting(call, set, false, || made = go());
    if !made.is_null() {
        let me = call.with(|state, _| state.me).unwrap_or(Rank(0));
        local::watch(made as u64, size as u64, me, Window::SYMMETRIC);
    }
    made
}

macro_rules! untyped {
    ($($put:ident $get:ident $put_nbi:ident $get_nbi:ident $size:literal;)*) => {$(
        interpose! { "p"
            fn $put(to: u64, from: u64, count: u64, pe: i32) -> () { |call| {
                let (there, here, elements) = ((to, 1), (from, 1), Elements::named(stringify!($put), $size));
                transfer(&call, Transfer { action: Action::Put, pe, there, here, count, elements, context: 0, blocking: true, value: None });
                (call.real)(to, from, count, pe)
            } }
            fn $get(to: u64, from: u64, count: u64, pe: i32) -> () { |call| {
                let (there, here, elements) = ((from, 1), (to, 1), Elements::named(stringify!($put), $size));
                transfer(&call, Transfer { action: Action::Get, pe, there, here, count, elements, context: 0, blocking: true, value: None });
                (call.real)(to, from, count, pe)
            } }
            fn $put_nbi(to: u64, from: u64, count: u64, pe: i32) -> () { |call| {
                let (there, here, elements) = ((to, 1), (from, 1), Elements::named(stringify!($put), $size));
                transfer(&call, Transfer { action: Action::Put, pe, there, here, count, elements, context: 0, blocking: false, value: None });
                (call.real)(to, from, count, pe)
            } }
            fn $get_nbi(to: u64, from: u64, count: u64, pe: i32) -> () { |call| {
                let (there, here, elements) = ((from, 1), (to, 1), Elements::named(stringify!($put), $size));
                transfer(&call, Transfer { action: Action::Get, pe, there, here, count, elements, context: 0, blocking: false, value: None });
                (call.real)(to, from, count, pe)
            } }
        }
    )*};
}
untyped! {
    shmem_putmem shmem_getmem shmem_putmem_nbi shmem_getmem_nbi 1;
    shmem_put8 shmem_get8 shmem_put8_nbi shmem_get8_nbi 1;
    shmem_put16 shmem_get16 shmem_put16_nbi shmem_get16_nbi 2;
    shmem_put32 shmem_get32 shmem_put32_nbi shmem_get32_nbi 4;
    shmem_put64 shmem_get64 shmem_put64_nbi shmem_get64_nbi 8;
    shmem_put128 shmem_get128 shmem_put128_nbi shmem_get128_nbi 16;
}

macro_rules! collects {
    ($($name:ident)*) => {$(
        interpose! { "p"
            fn $name(to: u64, from: u64, count: u64, first: i32, stride: i32, size: i32, sync: *mut i64) -> () { |call| {
                let set = active_set(&call, first, stride, size);
                moving(&call, set, None, || (call.real)(to, from, count, first, stride, size, sync))
            } }
        }
    )*};
}
collects! { shmem_collect32 shmem_collect64 shmem_fcollect32 shmem_fcollect64 shmem_alltoall32 shmem_alltoall64 }

macro_rules! broadcasts {
    ($($name:ident)*) => {$(
        interpose! { "p"
            fn $name(to: u64, from: u64, count: u64, root: i32, first: i32, stride: i32, size: i32, sync: *mut i64) -> () { |call| {
                let set = active_set(&call, first, stride, size);
                let flow = set.as_ref().map(|(comm, _)| Flow::FromRoot { root: comm.rank(root) });
                moving(&call, set, flow, || (call.real)(to, from, count, root, first, stride, size, sync))
            } }
        }
    )*};
}
broadcasts! { shmem_broadcast32 shmem_broadcast64 }

macro_rules! reductions {
    ($($name:ident)*) => {$(
        interpose! { "p"
            fn $name(to: u64, from: u64, count: i32, first: i32, stride: i32, size: i32, work: u64, sync: *mut i64) -> () { |call| {
                let set = active_set(&call, first, stride, size);
                moving(&call, set, None, || (call.real)(to, from, count, first, stride, size, work, sync))
            } }
        }
    )*};
}
reductions! {
    shmem_short_and_to_all shmem_int_and_to_all shmem_long_and_to_all shmem_longlong_and_to_all
    shmem_short_or_to_all shmem_int_or_to_all shmem_long_or_to_all shmem_longlong_or_to_all
    shmem_short_xor_to_all shmem_int_xor_to_all shmem_long_xor_to_all shmem_longlong_xor_to_all
    shmem_short_max_to_all shmem_int_max_to_all shmem_long_max_to_all shmem_longlong_max_to_all
    shmem_float_max_to_all shmem_double_max_to_all shmem_longdouble_max_to_all
    shmem_short_min_to_all shmem_int_min_to_all shmem_long_min_to_all shmem_longlong_min_to_all
    shmem_float_min_to_all shmem_double_min_to_all shmem_longdouble_min_to_all
    shmem_short_sum_to_all shmem_int_sum_to_all shmem_long_sum_to_all shmem_longlong_sum_to_all
    shmem_float_sum_to_all shmem_double_sum_to_all shmem_longdouble_sum_to_all
    shmem_short_prod_to_all shmem_int_prod_to_all shmem_long_prod_to_all shmem_longlong_prod_to_all
    shmem_float_prod_to_all shmem_double_prod_to_all shmem_longdouble_prod_to_all
}
