//! Collective operations: who waits for whom, and which buffers are touched meanwhile (R14).

use super::Call;
use super::abi::{Handle, abi};
use super::local;
use super::objects::{Comm, Kind, Req, State};
use super::{online, steer};
use crate::event::{Buffer, Collective, Event, Flow};
use crate::ids::{Rank, Request};

/// A buffer of a collective: address, elements, type, and whether it is written.
pub(super) type Touched = (*const u8, i64, Handle, bool);

/// Who waits for whom.
enum Shape {
    All,
    From(i32),
    To(i32),
    /// Lower ranks before higher ones.
    Scan,
}

fn flow(shape: &Shape, comm: &Comm, me: Rank) -> Flow {
    match shape {
        Shape::All => Flow::All { contributors: comm.size },
        Shape::From(root) => Flow::FromRoot { root: comm.rank(*root) },
        Shape::To(root) => Flow::ToRoot { root: comm.rank(*root), contributors: comm.size },
        Shape::Scan => {
            let before = comm.everybody().into_iter().take_while(|rank| *rank != me).collect();
            Flow::Prefix { before }
        }
    }
}

fn touched(state: &mut State, pc: u64, buffer: Buffer, write: bool, request: Request) {
    local::pending(&buffer);
    state.log(pc, Event::Buffer { buffer, write, request: Some(request) });
    if steer::active() {
        steer::buffer(state.site(pc), write);
    }
}

fn enter(
    state: &mut State,
    pc: u64,
    comm: Handle,
    shape: &Shape,
    buffers: &[Touched],
) -> Option<(Collective, Request)> {
    let (comm, collective) = state.collective(comm)?;
    let flow = flow(shape, &comm, state.me);
    let request = state.fresh_request();
    state.log(pc, Event::Enter { collective, flow, contributes: true });
    for &(address, count, datatype, write) in buffers {
        if let Some(buffer) = state.buffer(address, count, datatype) {
            touched(state, pc, buffer, write, request);
        }
    }
    Some((collective, request))
}

/// A blocking collective.
fn blocking(call: &Call, comm: Handle, shape: Shape, buffers: &[Touched], go: impl FnOnce() -> i32) -> i32 {
    steer::release_collectives();
    let entered = call.with(|state, pc| enter(state, pc, comm, &shape, buffers)).flatten();
    let waited = matches!((&entered, &shape), (Some(_), Shape::All)) && online::boundary(size(call, comm) as u32);
    // A barrier has nothing else to do.
    let result = if waited && buffers.is_empty() { 0 } else { steer::blocking(go) };
    if let Some((collective, request)) = entered {
        call.with(|state, pc| {
            state.log(pc, Event::Exit { collective });
            state.log(pc, Event::RequestDone { request });
        });
    }
    result
}

/// A nonblocking one: left where its request is done.
fn starting(
    call: &Call,
    comm: Handle,
    shape: Shape,
    buffers: &[Touched],
    request: *mut u8,
    go: impl FnOnce(*mut u8) -> i32 + 'static,
) -> i32 {
    steer::release_collectives();
    let entered = call.with(|state, pc| enter(state, pc, comm, &shape, buffers)).flatten();
    let result = steer::nonblocking(steer::Sort::Collective, request, go);
    if let Some((collective, named)) = entered {
        // SAFETY: the library wrote a handle there.
        let handle = unsafe { abi().nth(request, 0) };
        call.with(|state, _| state.requests.insert(handle, Req { request: named, kind: Kind::Collective(collective) }));
    }
    result
}

fn size(call: &Call, comm: Handle) -> i64 {
    call.with(|state, _| state.comm(comm).map_or(1, |comm| i64::from(comm.size))).unwrap_or(1)
}

/// Is this rank the root?
fn is_root(call: &Call, comm: Handle, root: i32) -> bool {
    call.with(|state, _| state.comm(comm).is_some_and(|comm| root >= 0 && comm.rank(root) == state.me)).unwrap_or(false)
}

/// The elements of a buffer that only the root has.
fn at_root(call: &Call, comm: Handle, root: i32, count: i64) -> i64 {
    if is_root(call, comm, root) { count } else { 0 }
}

macro_rules! collectives {
    ($(($name:ident, $nonblocking:ident)($($arg:ident: $type:ty),*; $comm:ident) [$call:ident] $shape:expr, $buffers:expr;)*) => {$(
        interpose! { "P"
            fn $name($($arg: $type,)* $comm: Handle) -> i32 { |$call|
                blocking(&$call, $comm, $shape, $buffers, || ($call.real)($($arg,)* $comm)) }
            fn $nonblocking($($arg: $type,)* $comm: Handle, request: *mut u8) -> i32 { |$call| {
                let real = $call.real;
                starting(&$call, $comm, $shape, $buffers, request, move |request| (real)($($arg,)* $comm, request))
            } }
        }
    )*};
}

collectives! {
    (MPI_Barrier, MPI_Ibarrier)(; comm) [call] Shape::All, &[];
    (MPI_Bcast, MPI_Ibcast)(b: *mut u8, n: i32, t: Handle, root: i32; comm) [call]
        Shape::From(root), &[(b, i64::from(n), t, !is_root(&call, comm, root))];
    (MPI_Reduce, MPI_Ireduce)(s: *const u8, r: *mut u8, n: i32, t: Handle, op: Handle, root: i32; comm) [call]
        Shape::To(root), &[(s, i64::from(n), t, false), (r, at_root(&call, comm, root, i64::from(n)), t, true)];
    (MPI_Allreduce, MPI_Iallreduce)(s: *const u8, r: *mut u8, n: i32, t: Handle, op: Handle; comm) [call]
        Shape::All, &[(s, i64::from(n), t, false), (r, i64::from(n), t, true)];
    (MPI_Gather, MPI_Igather)(s: *const u8, sn: i32, st: Handle, r: *mut u8, rn: i32, rt: Handle, root: i32; comm) [call]
        Shape::To(root),
        &[(s, i64::from(sn), st, false), (r, at_root(&call, comm, root, i64::from(rn) * size(&call, comm)), rt, true)];
    (MPI_Scatter, MPI_Iscatter)(s: *const u8, sn: i32, st: Handle, r: *mut u8, rn: i32, rt: Handle, root: i32; comm) [call]
        Shape::From(root),
        &[(s, at_root(&call, comm, root, i64::from(sn) * size(&call, comm)), st, false), (r, i64::from(rn), rt, true)];
    (MPI_Allgather, MPI_Iallgather)(s: *const u8, sn: i32, st: Handle, r: *mut u8, rn: i32, rt: Handle; comm) [call]
        Shape::All, &[(s, i64::from(sn), st, false), (r, i64::from(rn) * size(&call, comm), rt, true)];
    (MPI_Alltoall, MPI_Ialltoall)(s: *const u8, sn: i32, st: Handle, r: *mut u8, rn: i32, rt: Handle; comm) [call]
        Shape::All, &[(s, i64::from(sn) * size(&call, comm), st, false), (r, i64::from(rn) * size(&call, comm), rt, true)];
    (MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block)(s: *const u8, r: *mut u8, n: i32, t: Handle, op: Handle; comm) [call]
        Shape::All, &[(s, i64::from(n) * size(&call, comm), t, false), (r, i64::from(n), t, true)];
    (MPI_Scan, MPI_Iscan)(s: *const u8, r: *mut u8, n: i32, t: Handle, op: Handle; comm) [call]
        Shape::Scan, &[(s, i64::from(n), t, false), (r, i64::from(n), t, true)];
    (MPI_Exscan, MPI_Iexscan)(s: *const u8, r: *mut u8, n: i32, t: Handle, op: Handle; comm) [call]
        Shape::Scan, &[(s, i64::from(n), t, false), (r, i64::from(n), t, true)];
}

/// A collective whose counts differ from rank to rank: who sends nothing is not waited for (R14).
pub(super) struct Uneven {
    pub(super) flow: Flow,
    pub(super) contributes: bool,
    pub(super) buffers: Vec<Touched>,
}

pub(super) fn uneven(
    call: &Call,
    comm: Handle,
    shape: impl FnOnce(&Comm, Rank) -> Uneven,
    request: Option<*mut u8>,
    go: impl FnOnce(*mut u8) -> i32 + 'static,
) -> i32 {
    steer::release_collectives();
    let entered = call.with(|state, pc| {
        let (comm, collective) = state.collective(comm)?;
        let Uneven { flow, contributes, buffers } = shape(&comm, state.me);
        let named = state.fresh_request();
        state.log(pc, Event::Enter { collective, flow, contributes });
        for (address, count, datatype, write) in buffers {
            if let Some(buffer) = state.buffer(address, count, datatype) {
                touched(state, pc, buffer, write, named);
            }
        }
        Some((collective, named))
    });
    let result = match request {
        Some(request) => steer::nonblocking(steer::Sort::Collective, request, go),
        None => steer::blocking(|| go(std::ptr::null_mut())),
    };
    let Some(Some((collective, named))) = entered else { return result };
    call.with(|state, pc| match request {
        Some(request) => {
            // SAFETY: the library wrote a handle there.
            let handle = unsafe { abi().nth(request, 0) };
            state.requests.insert(handle, Req { request: named, kind: Kind::Collective(collective) });
        }
        None => {
            state.log(pc, Event::Exit { collective });
            state.log(pc, Event::RequestDone { request: named });
        }
    });
    result
}

/// Counts and displacements of the members.
#[derive(Clone, Copy)]
struct Counts(*const i32, *const i32);

impl Counts {
    /// # Safety
    /// The arrays have an entry for each member.
    unsafe fn of(self, member: usize) -> i64 {
        // SAFETY: as the caller says.
        i64::from(unsafe { self.0.add(member).read() })
    }

    /// The parts of a buffer, one for each member that has something.
    ///
    /// # Safety
    /// The arrays have an entry for each member.
    unsafe fn parts(self, base: *const u8, members: usize, datatype: Handle, write: bool) -> Vec<Touched> {
        let extent = super::datatypes::extent(datatype);
        (0..members)
            // SAFETY: as the caller says.
            .map(|member| unsafe { (self.of(member), i64::from(self.1.add(member).read())) })
            .filter(|(count, _)| *count > 0)
            .map(|(count, place)| (base.wrapping_offset((place * extent) as isize), count, datatype, write))
            .collect()
    }

    /// Members that have something.
    ///
    /// # Safety
    /// The arrays have an entry for each member.
    unsafe fn busy(self, comm: &Comm) -> Vec<Rank> {
        // SAFETY: as the caller says.
        (0..comm.size)
            .filter(|&member| unsafe { self.of(member as usize) } > 0)
            .map(|member| comm.rank(member as i32))
            .collect()
    }
}

/// # Safety
/// The arguments of `MPI_Allgatherv`.
unsafe fn allgatherv(comm: &Comm, sent: Touched, r: *const u8, counts: Counts, rt: Handle) -> Uneven {
    // SAFETY: as the caller says.
    let (busy, mut buffers) = unsafe { (counts.busy(comm), counts.parts(r, comm.size as usize, rt, true)) };
    let contributes = sent.1 > 0;
    buffers.push(sent);
    Uneven { flow: Flow::All { contributors: busy.len() as u32 }, contributes, buffers }
}

/// # Safety
/// The arguments of `MPI_Gatherv`.
unsafe fn gatherv(comm: &Comm, me: Rank, sent: Touched, r: *const u8, counts: Counts, rt: Handle, root: i32) -> Uneven {
    let root = comm.rank(root);
    let (contributes, mut buffers) = (sent.1 > 0, vec![sent]);
    let mut contributors = 0;
    if me == root {
        // SAFETY: as the caller says; counts are significant at the root.
        unsafe {
            contributors = counts.busy(comm).len() as u32;
            buffers.extend(counts.parts(r, comm.size as usize, rt, true));
        }
    }
    Uneven { flow: Flow::ToRoot { root, contributors }, contributes, buffers }
}

/// # Safety
/// The arguments of `MPI_Scatterv`.
unsafe fn scatterv(comm: &Comm, me: Rank, s: *const u8, counts: Counts, st: Handle, got: Touched, root: i32) -> Uneven {
    let root = comm.rank(root);
    let (mut to, mut buffers) = (Vec::new(), Vec::new());
    if me == root {
        // SAFETY: as the caller says; counts are significant at the root.
        unsafe {
            to = counts.busy(comm);
            buffers.extend(counts.parts(s, comm.size as usize, st, false));
        }
    }
    let from = if got.1 > 0 { vec![root] } else { Vec::new() };
    buffers.push(got);
    Uneven { flow: Flow::Pairs { to, from }, contributes: true, buffers }
}

/// # Safety
/// The arguments of `MPI_Alltoallv`.
unsafe fn alltoallv(
    comm: &Comm,
    (s, sent, st): (*const u8, Counts, Handle),
    (r, got, rt): (*const u8, Counts, Handle),
) -> Uneven {
    // SAFETY: as the caller says.
    unsafe {
        let members = comm.size as usize;
        let in_place = s as usize == abi().in_place;
        let from = got.busy(comm);
        let to = if in_place { from.clone() } else { sent.busy(comm) };
        let mut buffers = got.parts(r, members, rt, true);
        if !in_place {
            buffers.extend(sent.parts(s, members, st, false));
        }
        Uneven { flow: Flow::Pairs { to, from }, contributes: true, buffers }
    }
}

macro_rules! uneven_collectives {
    ($(($name:ident, $nonblocking:ident)($($arg:ident: $type:ty),*) |$comm:ident, $me:ident| $shape:expr;)*) => {$(
        interpose! { "P"
            fn $name($($arg: $type,)* comm: Handle) -> i32 { |call| {
                let real = call.real;
                uneven(&call, comm, |$comm, $me| $shape, None, move |_| (real)($($arg,)* comm))
            } }
            fn $nonblocking($($arg: $type,)* comm: Handle, request: *mut u8) -> i32 { |call| {
                let real = call.real;
                uneven(&call, comm, |$comm, $me| $shape, Some(request), move |request| (real)($($arg,)* comm, request))
            } }
        }
    )*};
}

uneven_collectives! {
    (MPI_Allgatherv, MPI_Iallgatherv)(s: *const u8, sn: i32, st: Handle, r: *mut u8, counts: *const i32, places: *const i32, rt: Handle)
        |comm, _me| allgatherv(comm, (s, i64::from(sn), st, false), r, Counts(counts, places), rt);
    (MPI_Gatherv, MPI_Igatherv)(s: *const u8, sn: i32, st: Handle, r: *mut u8, counts: *const i32, places: *const i32, rt: Handle, root: i32)
        |comm, me| gatherv(comm, me, (s, i64::from(sn), st, false), r, Counts(counts, places), rt, root);
    (MPI_Scatterv, MPI_Iscatterv)(s: *const u8, counts: *const i32, places: *const i32, st: Handle, r: *mut u8, rn: i32, rt: Handle, root: i32)
        |comm, me| scatterv(comm, me, s, Counts(counts, places), st, (r, i64::from(rn), rt, true), root);
    (MPI_Alltoallv, MPI_Ialltoallv)(s: *const u8, sc: *const i32, sp: *const i32, st: Handle, r: *mut u8, rc: *const i32, rp: *const i32, rt: Handle)
        |comm, _me| alltoallv(comm, (s, Counts(sc, sp), st), (r, Counts(rc, rp), rt));
}
