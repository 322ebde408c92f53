//! Collectives: of a team since version 1.5, of ranks at equal distances before (R20, R21).
//!
//! Source and destination of every member are touched between its own entering and leaving.

use std::ffi::c_void;

use super::super::abi::abi;
use super::super::objects::Comm;
use super::super::{local, steer};
use super::Elements;
use super::typed::{Typed, elements};
use crate::event::{Buffer, Collective, Event, Flow};
use crate::ids::Communicator;
use crate::runtime::Call;

/// Who takes part.
#[derive(Clone, Copy)]
pub(super) enum Set {
    Everybody,
    /// First rank, distance (as its logarithm), how many.
    Ranks(i32, i32, i32),
    Team(usize),
}

/// The members, and which of their collectives this is.
pub(super) fn members(call: &Call, set: Set) -> Option<(Comm, Collective)> {
    let members: Vec<u32> = match set {
        Set::Everybody => return call.with(|state, _| state.collective(abi().world)).flatten(),
        Set::Ranks(first, log_stride, size) => {
            (0..size).map(|number| (first + (number << log_stride)) as u32).collect()
        }
        Set::Team(team) => of_team(team),
    };
    // Ranks that are the same have one communicator: they call its collectives in one order.
    let name = members
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, member| (hash ^ u64::from(*member)).wrapping_mul(0x100_0000_01b3));
    let handle = (name >> 1) as usize | 1 << 62;
    call.with(|state, _| {
        let id = Communicator(1 << 63 | name >> 1);
        let comm = Comm { id, size: members.len() as u32, members: Some(members), collectives: 0 };
        state.communicators.entry(abi().handle(handle)).or_insert(comm);
        state.collective(handle)
    })
    .flatten()
}

/// The ranks of a team, by their numbers in the world.
fn of_team(team: usize) -> Vec<u32> {
    let size = real!("pshmem_team_n_pes", unsafe extern "C" fn(usize) -> i32);
    let translate = real!("pshmem_team_translate_pe", unsafe extern "C" fn(usize, i32, usize) -> i32);
    // SAFETY: the program's own team.
    unsafe { (0..size(team)).map(|number| translate(team, number, world()) as u32).collect() }
}

/// The team of everybody: a variable of the library.
pub(super) fn world() -> usize {
    predefined(c"SHMEM_TEAM_WORLD")
}

pub(super) fn predefined(name: &std::ffi::CStr) -> usize {
    // SAFETY: a zero-terminated name; the variable holds a handle.
    unsafe {
        let variable = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast::<usize>();
        if variable.is_null() { 0 } else { variable.read() }
    }
}

/// Memory of this rank that a collective touches: address, elements, written or read.
pub(super) type Touched = (u64, u64, bool);

/// A collective: everybody waits for everybody, or for the root.
pub(super) fn collective<R>(
    call: &Call,
    set: Set,
    root: Option<i32>,
    elements: Elements,
    touched: &[Touched],
    go: impl FnOnce() -> R,
) -> R {
    let entered = members(call, set).and_then(|(comm, collective)| {
        let flow = match root {
            Some(root) => Flow::FromRoot { root: comm.rank(root) },
            None => Flow::All { contributors: comm.size },
        };
        call.with(|state, pc| {
            let request = state.fresh_request();
            state.log(pc, Event::Enter { collective, flow, contributes: true });
            for &(address, count, write) in touched.iter().filter(|touched| touched.0 != 0 && touched.1 > 0) {
                let buffer = Buffer { address, pieces: vec![elements.piece(count, 1)] };
                local::pending(&buffer);
                state.log(pc, Event::Buffer { buffer, write, request: Some(request) });
                if steer::active() {
                    steer::buffer(state.site(pc), write);
                }
            }
            (collective, request)
        })
    });
    steer::shmem_completing(None);
    let result = steer::blocking(go);
    if let Some((collective, request)) = entered {
        call.with(|state, pc| {
            state.log(pc, Event::Exit { collective });
            state.log(pc, Event::RequestDone { request });
        });
    }
    result
}

fn size(call: &Call, set: Set) -> u64 {
    match set {
        Set::Ranks(_, _, size) => size.max(0) as u64,
        Set::Team(team) => of_team(team).len() as u64,
        Set::Everybody => {
            call.with(|state, _| state.comm(abi().world).map_or(1, |comm| u64::from(comm.size))).unwrap_or(1)
        }
    }
}

/// Collects and all-to-alls. `known`: how much every member brings is known to all.
fn gathering<R>(
    call: &Call,
    set: Set,
    elements: Elements,
    (to, from, n): (u64, u64, u64),
    (sends, known): (u64, bool),
    go: impl FnOnce() -> R,
) -> R {
    let all = if known { n * size(call, set) } else { n };
    collective(call, set, None, elements, &[(from, n * sends, false), (to, all, true)], go)
}

/// Calls of one kind.
macro_rules! kinds {
    ($($kind:ident($($arg:ident: $of:ty),*) -> $result:ty; |$call:ident, $elements:ident, $go:ident| $body:expr;)*) => {$(
        #[allow(clippy::too_many_arguments, reason = "those of the call")]
        pub unsafe fn $kind(typed: &'static Typed, pc: u64, $($arg: $of),*) -> $result {
            let real = typed.real();
            // SAFETY: the program's own call; the standard has these arguments.
            let $go = || unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($of),*) -> $result>(real)($($arg),*)
            };
            let Some($call) = Call::enter(pc) else { return $go() };
            let $elements = typed.of;
            $body
        }
        kinds! { @stub ($) $kind ($($arg: $of),*) $result }
    )*};
    (@stub ($dollar:tt) $kind:ident ($($arg:ident: $of:ty),*) $result:ty) => {
        macro_rules! $kind {
            ([] $dollar name:ident $dollar label:literal $dollar kind_of:ty) => {
                const _: () = {
                    /// # Safety
                    /// As the library has it.
                    #[unsafe(no_mangle)]
                    pub unsafe extern "C" fn $dollar name($($arg: $of),*) -> $result {
                        static TYPED: Typed =
                            Typed::new(concat!("p", stringify!($dollar name)), elements::<$dollar kind_of>($dollar label));
                        let pc = caller!();
                        // SAFETY: the contract is that of the function replaced.
                        unsafe { by_kind::$kind(&TYPED, pc, $($arg),*) }
                    }
                };
            };
        }
    };
}

#[macro_use]
mod by_kind {
    use super::*;

    kinds! {
        team_collect(team: usize, to: u64, from: u64, n: u64) -> i32; |call, of, go|
            gathering(&call, Set::Team(team), of, (to, from, n), (1, false), go);
        team_fcollect(team: usize, to: u64, from: u64, n: u64) -> i32; |call, of, go|
            gathering(&call, Set::Team(team), of, (to, from, n), (1, true), go);
        team_alltoall(team: usize, to: u64, from: u64, n: u64) -> i32; |call, of, go| {
            let members = size(&call, Set::Team(team));
            gathering(&call, Set::Team(team), of, (to, from, n), (members, true), go)
        };
        team_reduce(team: usize, to: u64, from: u64, n: u64) -> i32; |call, of, go|
            collective(&call, Set::Team(team), None, of, &[(from, n, false), (to, n, true)], go);
        team_broadcast(team: usize, to: u64, from: u64, n: u64, root: i32) -> i32; |call, of, go|
            collective(&call, Set::Team(team), Some(root), of, &[(from, n, false), (to, n, true)], go);
        set_collect(to: u64, from: u64, n: u64, first: i32, stride: i32, size: i32, sync: *mut i64) -> (); |call, of, go|
            gathering(&call, Set::Ranks(first, stride, size), of, (to, from, n), (1, false), go);
        set_fcollect(to: u64, from: u64, n: u64, first: i32, stride: i32, size: i32, sync: *mut i64) -> (); |call, of, go|
            gathering(&call, Set::Ranks(first, stride, size), of, (to, from, n), (1, true), go);
        set_alltoall(to: u64, from: u64, n: u64, first: i32, stride: i32, size: i32, sync: *mut i64) -> (); |call, of, go|
            gathering(&call, Set::Ranks(first, stride, size), of, (to, from, n), (size.max(0) as u64, true), go);
        set_broadcast(to: u64, from: u64, n: u64, root: i32, first: i32, stride: i32, size: i32, sync: *mut i64) -> (); |call, of, go| {
            // The root's own destination is left alone.
            let written = call.with(|state, _| state.me.0 as i32 != first + (root << stride)).unwrap_or(true);
            let touched = [(from, if written { 0 } else { n }, false), (to, if written { n } else { 0 }, true)];
            collective(&call, Set::Ranks(first, stride, size), Some(root), of, &touched, go)
        };
        to_all(to: u64, from: u64, n: i32, first: i32, stride: i32, size: i32, work: u64, sync: *mut i64) -> (); |call, of, go| {
            let n = n.max(0) as u64;
            collective(&call, Set::Ranks(first, stride, size), None, of, &[(from, n, false), (to, n, true)], go)
        };
    }
}

include!(concat!(env!("OUT_DIR"), "/shmem_collectives.rs"));
