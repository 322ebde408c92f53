//! Windows: making them, epochs, locks, completion.

use super::abi::{Handle, abi};
use super::local;
use super::objects::{Win, agree, world_ranks};
use super::{Call, online, steer, with};
use crate::event::{Accumulates, Event, Flow, Place};
use crate::ids::{Rank, Window};

struct Made {
    base: u64,
    size: i64,
    unit: i32,
    info: Handle,
    allocated: bool,
    dynamic: bool,
    shared: bool,
}

/// Everything about a new window, after the library made it.
fn made(call: &Call, comm: Handle, window: *mut u8, what: Made, result: i32) -> i32 {
    if result != 0 {
        return result;
    }
    // SAFETY: the library wrote a handle there.
    let handle = unsafe { abi().nth(window, 0) };
    let fresh = with(|state| state.fresh_window()).unwrap_or(0);
    let id = Window(agree(comm, fresh) as u32);
    let accumulates = accumulates(what.info);
    if !what.dynamic {
        steer::twin(handle, what.base, what.size, what.unit, comm);
    }
    call.with(|state, pc| {
        let Some((comm, collective)) = state.collective(comm) else { return };
        // Making a window waits for everybody (its agreeing on a name does, at least).
        let flow = Flow::All { contributors: comm.size };
        state.log(pc, Event::Enter { collective, flow, contributes: true });
        state.log(pc, Event::Exit { collective });
        let win = Win {
            id,
            comm,
            base: what.base,
            size: what.size.max(0) as u64,
            unit: what.unit.max(1) as u32,
            allocated: what.allocated,
        };
        state.log(pc, Event::WindowMade { window: id, base: win.base, unit: win.unit, accumulates });
        if what.shared {
            share(handle, &win);
        } else if !what.dynamic {
            local::watch(win.base, win.size, state.me, id);
        }
        state.windows.insert(handle, win);
        state.again.clear();
    });
    result
}

/// Parts of a shared window that other ranks own are reached by loads and stores of this one (R11).
fn share(handle: Handle, win: &Win) {
    for number in 0..win.comm.size as i32 {
        let (mut size, mut unit, mut base) = (0i64, 0i32, 0u64);
        pmpi!(PMPI_Win_shared_query(
            handle => Handle, number => i32, &mut size => *mut i64, &mut unit => *mut i32, &mut base => *mut u64,
        ));
        if size > 0 {
            local::watch(base, size as u64, win.comm.rank(number), win.id);
        }
    }
}

/// What the info keys promise (R9).
fn accumulates(info: Handle) -> Accumulates {
    let mut promises = Accumulates::default();
    if abi().handle(info) == abi().no_info {
        return promises;
    }
    let value = |key: &std::ffi::CStr| {
        let mut text = [0u8; 129];
        let mut there = 0i32;
        pmpi!(PMPI_Info_get(
            info => Handle, key.as_ptr() => *const libc::c_char, 128 => i32, text.as_mut_ptr() => *mut u8,
            &mut there => *mut i32,
        ));
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(0);
        (there != 0).then(|| String::from_utf8_lossy(&text[..end]).into_owned())
    };
    promises.ordered = value(c"accumulate_ordering").is_none_or(|value| value != "none");
    promises.same_operator = value(c"accumulate_ops").is_some_and(|value| value == "same_op");
    promises
}

/// Logs an event on a window.
fn on(call: &Call, window: Handle, event: impl FnOnce(&Win) -> Event) {
    call.with(|state, pc| {
        if let Some(win) = state.win(window) {
            state.log(pc, event(&win));
        }
    });
}

/// Operations on the window are over, on one target or on all: what they brought is there.
fn fetched(call: &Call, window: Handle, target: Option<i32>) {
    let window = abi().handle(window);
    call.with(|state, pc| {
        state.fetched(pc, |fetched| fetched.window == window && target.is_none_or(|target| target == fetched.target));
    });
}

/// Completes operations on one target or on all, everywhere or `local`ly.
fn flush(call: &Call, window: Handle, (target, local): (Option<i32>, bool), real: impl FnOnce() -> i32) -> i32 {
    if local {
        steer::completing_locally(window, target);
    } else {
        steer::completing(window, target);
    }
    let result = real();
    steer::completed(window);
    on(call, window, |win| {
        let target = target.map(|target| win.comm.rank(target));
        Event::Flush { window: win.id, target, local }
    });
    fetched(call, window, target);
    result
}

fn group(group: Handle) -> Vec<Rank> {
    world_ranks(group).into_iter().map(Rank).collect()
}

interpose! { "P"
    fn MPI_Win_create(base: *mut u8, size: i64, unit: i32, info: Handle, comm: Handle, win: *mut u8) -> i32 { |call| {
        let result = (call.real)(base, size, unit, info, comm, win);
        let what = Made { base: base as u64, size, unit, info, allocated: false, dynamic: false, shared: false };
        made(&call, comm, win, what, result)
    } }
    fn MPI_Win_allocate(size: i64, unit: i32, info: Handle, comm: Handle, base: *mut u64, win: *mut u8) -> i32 { |call| {
        let result = (call.real)(size, unit, info, comm, base, win);
        // The call's own pointer: MPICH 4.0.2's attribute is wrong on odd ranks.
        let what = Made { base: *base, size, unit, info, allocated: true, dynamic: false, shared: false };
        made(&call, comm, win, what, result)
    } }
    fn MPI_Win_allocate_shared(size: i64, unit: i32, info: Handle, comm: Handle, base: *mut u64, win: *mut u8) -> i32 { |call| {
        let result = (call.real)(size, unit, info, comm, base, win);
        let what = Made { base: *base, size, unit, info, allocated: true, dynamic: false, shared: true };
        made(&call, comm, win, what, result)
    } }
    fn MPI_Win_create_dynamic(info: Handle, comm: Handle, win: *mut u8) -> i32 { |call| {
        let result = (call.real)(info, comm, win);
        let what = Made { base: 0, size: 0, unit: 1, info, allocated: false, dynamic: true, shared: false };
        made(&call, comm, win, what, result)
    } }
    fn MPI_Win_attach(win: Handle, base: *mut u8, size: i64) -> i32 { |call| {
        call.with(|state, _| {
            if let Some(win) = state.win(win) {
                local::watch(base as u64, size.max(0) as u64, state.me, win.id);
            }
        });
        (call.real)(win, base, size)
    } }
    fn MPI_Win_detach(win: Handle, base: *mut u8) -> i32 { |call| {
        let size = local::forget(base as u64);
        call.log(Event::Gone { place: Place::Address(base as u64), len: size });
        (call.real)(win, base)
    } }
    fn MPI_Win_free(win: *mut u8) -> i32 { |call| {
        let handle = abi().nth(win, 0);
        on(&call, handle, |win| Event::Fence { window: win.id, no_precede: false, members: win.comm.size });
        steer::forget(handle);
        let result = (call.real)(win);
        on(&call, handle, |win| Event::FenceDone { window: win.id });
        call.with(|state, pc| {
            state.again.clear();
            let Some(win) = state.windows.remove(&handle) else { return };
            if win.allocated && win.size > 0 {
                state.log(pc, Event::Gone { place: Place::Address(win.base), len: win.size });
            }
            local::forget(win.base);
        });
        result
    } }
    fn MPI_Win_fence(assert: i32, win: Handle) -> i32 { |call| {
        let no_precede = assert & abi().no_precede != 0;
        on(&call, win, |win| Event::Fence { window: win.id, no_precede, members: win.comm.size });
        if !no_precede {
            let members = call.with(|state, _| state.win(win).map_or(0, |win| win.comm.size)).unwrap_or(0);
            online::boundary(members);
        }
        steer::completing(win, None);
        let result = (call.real)(assert, win);
        steer::completed(win);
        on(&call, win, |win| Event::FenceDone { window: win.id });
        fetched(&call, win, None);
        result
    } }
    fn MPI_Win_lock(kind: i32, target: i32, assert: i32, win: Handle) -> i32 { |call| {
        let result = (call.real)(kind, target, assert, win);
        let exclusive = kind == abi().lock_exclusive;
        on(&call, win, |win| Event::Lock { window: win.id, target: win.comm.rank(target), exclusive });
        with(|state| state.locked.insert((abi().handle(win), Some(target))));
        result
    } }
    fn MPI_Win_unlock(target: i32, win: Handle) -> i32 { |call| {
        steer::completing(win, Some(target));
        let result = (call.real)(target, win);
        steer::completed(win);
        with(|state| state.locked.remove(&(abi().handle(win), Some(target))));
        on(&call, win, |win| Event::Unlock { window: win.id, target: win.comm.rank(target) });
        fetched(&call, win, Some(target));
        result
    } }
    fn MPI_Win_lock_all(assert: i32, win: Handle) -> i32 { |call| {
        let result = (call.real)(assert, win);
        on(&call, win, |win| Event::LockAll { window: win.id });
        with(|state| state.locked.insert((abi().handle(win), None)));
        result
    } }
    fn MPI_Win_unlock_all(win: Handle) -> i32 { |call| {
        steer::completing(win, None);
        let result = (call.real)(win);
        steer::completed(win);
        with(|state| state.locked.remove(&(abi().handle(win), None)));
        on(&call, win, |win| Event::UnlockAll { window: win.id });
        fetched(&call, win, None);
        result
    } }
    fn MPI_Win_flush(target: i32, win: Handle) -> i32 { |call| {
        flush(&call, win, (Some(target), false), || (call.real)(target, win))
    } }
    fn MPI_Win_flush_all(win: Handle) -> i32 { |call| {
        flush(&call, win, (None, false), || (call.real)(win))
    } }
    fn MPI_Win_flush_local(target: i32, win: Handle) -> i32 { |call| {
        flush(&call, win, (Some(target), true), || (call.real)(target, win))
    } }
    fn MPI_Win_flush_local_all(win: Handle) -> i32 { |call| {
        flush(&call, win, (None, true), || (call.real)(win))
    } }
    fn MPI_Win_post(origins: Handle, assert: i32, win: Handle) -> i32 { |call| {
        let ranks = group(origins);
        on(&call, win, |win| Event::Post { window: win.id, origins: ranks });
        (call.real)(origins, assert, win)
    } }
    fn MPI_Win_start(targets: Handle, assert: i32, win: Handle) -> i32 { |call| {
        let result = (call.real)(targets, assert, win);
        let ranks = group(targets);
        on(&call, win, |win| Event::Start { window: win.id, targets: ranks });
        result
    } }
    fn MPI_Win_complete(win: Handle) -> i32 { |call| {
        on(&call, win, |win| Event::Complete { window: win.id });
        steer::completing(win, None);
        let result = (call.real)(win);
        steer::completed(win);
        fetched(&call, win, None);
        result
    } }
    fn MPI_Win_wait(win: Handle) -> i32 { |call| {
        let result = (call.real)(win);
        steer::completed(win);
        on(&call, win, |win| Event::Waited { window: win.id });
        result
    } }
    fn MPI_Win_test(win: Handle, flag: *mut i32) -> i32 { |call| {
        let result = (call.real)(win, flag);
        if *flag != 0 {
            on(&call, win, |win| Event::Waited { window: win.id });
        }
        result
    } }
}
