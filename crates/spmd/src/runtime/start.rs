//! From `MPI_Init` to `MPI_Finalize`.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::abi::{Handle, abi};
use super::log::{Log, Notes};
use super::objects::{Comm, State, agree, members_of};
use super::steer::has_messages;
use super::{INSIDE, LISTENING, STATE, local, online, state, steer, threads, with};
use crate::event::{Event, Flow};
use crate::ids::{Communicator, Rank};
use crate::logfile;
use crate::look::{Local, Look};

/// The folder that the launcher made for this run. Without it nothing is looked at.
const FOLDER: &str = "REWEAVE_SPMD_FOLDER";
/// Bytes that one rank's log may take.
const LIMIT: &str = "REWEAVE_SPMD_LIMIT";
/// The program is analysed while it runs.
const ONLINE: &str = "REWEAVE_SPMD_ONLINE";
const DEFAULT_LIMIT: usize = 1 << 30;

fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// MPI is there: start listening.
fn begin() {
    let (mut rank, mut ranks) = (0i32, 0i32);
    pmpi!(PMPI_Comm_rank(abi().world => Handle, &mut rank => *mut i32));
    pmpi!(PMPI_Comm_size(abi().world => Handle, &mut ranks => *mut i32));
    if listen(rank as u32, ranks as u32) {
        take_up_plan(rank as u32);
    }
}

/// Takes up the plan of this run, if there is one.
pub fn take_up_plan(rank: u32) {
    if let Some(folder) = folder() {
        steer::begin(&folder, Rank(rank));
    }
}

/// Starts the log. Returns whether anybody wants it; a program that uses SHMEM and MPI has one log.
pub fn listen(rank: u32, ranks: u32) -> bool {
    let Some(folder) = folder() else { return false };
    if LISTENING.load(Ordering::Acquire) {
        return false;
    }
    let limit = std::env::var(LIMIT).ok().and_then(|limit| limit.parse().ok()).unwrap_or(DEFAULT_LIMIT);
    let path = folder.join(logfile::name(rank));
    let Some(log) = Log::create(&path, rank, ranks, limit) else {
        eprintln!("reweave: rank {rank} cannot write {}; it is not looked at", path.display());
        return false;
    };
    let mut notes = Notes::create(&folder.join(logfile::notes_name(rank)));
    if local::is_instrumented() {
        notes.instrumented();
    }
    let look: Look = std::env::var(steer::PLAN).ok().and_then(|text| text.parse().ok()).unwrap_or_default();
    local::look_at(&look, Rank(rank));
    // What is judged now need not be kept: the log has room for a phase.
    let wanted = std::env::var_os(ONLINE).is_some() && has_messages();
    if wanted && online::begin(&folder, Rank(rank), ranks, limit, look.owners.clone()) {
        notes.online();
    }
    let state = State::new(Rank(rank), ranks, log, notes);
    *STATE.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(state);
    threads::first();
    LISTENING.store(true, Ordering::Release);
    if look.local != Local::None {
        local::listen();
    }
    true
}

/// The end of a run that comes to one.
fn end() {
    steer::end();
    finish(true);
}

/// The last thing. `whole`: the rank came to its end.
pub fn finish(whole: bool) {
    local::stop();
    LISTENING.store(false, Ordering::Release);
    if let Some(mut state) = state().0.take() {
        state.finished(whole);
    }
}

/// Runs `body` as if inside a call of the program.
pub fn quietly<T>(body: impl FnOnce() -> T) -> T {
    let before = INSIDE.try_with(|inside| inside.replace(true)).unwrap_or(true);
    let result = body();
    let _ = INSIDE.try_with(|inside| inside.set(before));
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init(argc: *mut i32, argv: *mut u8) -> i32 {
    quietly(|| {
        let result = pmpi!(PMPI_Init(argc => *mut i32, argv => *mut u8));
        begin();
        result
    })
}

/// As Open MPI's Fortran layer calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Init(argc: *mut i32, argv: *mut u8) -> i32 {
    // SAFETY: the same contract; once begun, nothing begins again.
    unsafe { MPI_Init(argc, argv) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Init_thread(argc: *mut i32, argv: *mut u8, wanted: i32, provided: *mut i32) -> i32 {
    quietly(|| {
        let result = pmpi!(PMPI_Init_thread(
            argc => *mut i32, argv => *mut u8, wanted => i32, provided => *mut i32
        ));
        begin();
        result
    })
}

/// As Open MPI's Fortran layer calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Init_thread(argc: *mut i32, argv: *mut u8, wanted: i32, provided: *mut i32) -> i32 {
    // SAFETY: the same contract.
    unsafe { MPI_Init_thread(argc, argv, wanted, provided) }
}

interpose! { "P"
    fn MPI_Finalize() -> i32 { |call| {
        let entered = call.with(|state, pc| {
            let (comm, collective) = state.collective(abi().world)?;
            let flow = Flow::All { contributors: comm.size };
            state.log(pc, Event::Enter { collective, flow, contributes: true });
            Some(collective)
        });
        online::end();
        if let Some(Some(collective)) = entered {
            call.log(Event::Exit { collective });
        }
        end();
        (call.real)()
    } }

    fn MPI_Abort(comm: Handle, code: i32) -> i32 { |call| {
        // Others do not come to an end of ours.
        finish(false);
        (call.real)(comm, code)
    } }

    fn MPI_Comm_dup(comm: Handle, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, made))
    } }
    fn MPI_Comm_dup_with_info(comm: Handle, info: Handle, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, info, made))
    } }
    fn MPI_Comm_split(comm: Handle, color: i32, key: i32, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, color, key, made))
    } }
    fn MPI_Comm_split_type(comm: Handle, kind: i32, key: i32, info: Handle, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, kind, key, info, made))
    } }
    fn MPI_Comm_create(comm: Handle, group: Handle, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, group, made))
    } }
    fn MPI_Cart_create(comm: Handle, dims: i32, sizes: *const i32, periods: *const i32, reorder: i32, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, dims, sizes, periods, reorder, made))
    } }
    fn MPI_Cart_sub(comm: Handle, remain: *const i32, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, remain, made))
    } }
    fn MPI_Graph_create(comm: Handle, n: i32, index: *const i32, edges: *const i32, reorder: i32, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, n, index, edges, reorder, made))
    } }
    fn MPI_Dist_graph_create(comm: Handle, n: i32, from: *const i32, degrees: *const i32, to: *const i32, weights: *const i32, info: Handle, reorder: i32, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, n, from, degrees, to, weights, info, reorder, made))
    } }
    fn MPI_Dist_graph_create_adjacent(comm: Handle, n: i32, from: *const i32, in_weights: *const i32, m: i32, to: *const i32, out_weights: *const i32, info: Handle, reorder: i32, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, n, from, in_weights, m, to, out_weights, info, reorder, made))
    } }
    fn MPI_Intercomm_merge(comm: Handle, high: i32, made: *mut u8) -> i32 { |call| {
        making(&call, comm, made, || (call.real)(comm, high, made))
    } }
    fn MPI_Comm_create_group(comm: Handle, group: Handle, tag: i32, made: *mut u8) -> i32 { |call| {
        // Only members of the group take part, so it is no collective of the communicator it comes from.
        let result = (call.real)(comm, group, tag, made);
        let handle = abi().nth(made, 0);
        if result == 0 && handle != abi().no_comm {
            name(handle);
            call.with(|state, pc| {
                let Some((comm, collective)) = state.collective(handle) else { return };
                let flow = Flow::All { contributors: comm.size };
                state.log(pc, Event::Enter { collective, flow, contributes: true });
                state.log(pc, Event::Exit { collective });
            });
        }
        result
    } }
    fn MPI_Comm_idup(comm: Handle, made: *mut u8, request: *mut u8) -> i32 { |call| {
        // Its name has to be agreed on, which needs it: it is made at once.
        let result = making(&call, comm, made, || pmpi!(PMPI_Comm_dup(comm => Handle, made => *mut u8)));
        abi().set(request, abi().no_request);
        result
    } }
    fn MPI_Comm_free(comm: *mut u8) -> i32 { |call| {
        let handle = abi().nth(comm, 0);
        with(|state| state.communicators.remove(&handle));
        (call.real)(comm)
    } }
}

/// A call that makes a communicator: everybody waits for everybody, and the members agree on a name.
fn making(call: &super::Call, comm: Handle, made: *mut u8, make: impl FnOnce() -> i32) -> i32 {
    let entered = call.with(|state, pc| {
        let (comm, collective) = state.collective(comm)?;
        let flow = Flow::All { contributors: comm.size };
        state.log(pc, Event::Enter { collective, flow, contributes: true });
        Some(collective)
    });
    let result = make();
    if let Some(Some(collective)) = entered {
        call.log(Event::Exit { collective });
    }
    // SAFETY: the library wrote a handle there.
    let handle = unsafe { abi().nth(made, 0) };
    if result == 0 && handle != abi().no_comm {
        name(handle);
    }
    result
}

/// Gives a new communicator the same name on all its members.
fn name(handle: Handle) {
    let members = members_of(handle);
    let fresh = with(|state| state.fresh_communicator()).unwrap_or(0);
    let id = Communicator(agree(handle, fresh));
    with(|state| {
        let comm = Comm { id, size: members.len() as u32, members: Some(members), collectives: 0 };
        state.communicators.insert(handle, comm);
    });
}
