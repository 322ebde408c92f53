//! Messages: sends, receives, and the requests that complete them (R13).

use super::abi::{ANY_TAG, Handle, STATUS, abi};
use super::local;
use super::objects::{Kind, Persistent, Req, State};
use super::{Call, steer, with};
use crate::event::{Buffer, Event};
use crate::ids::Request;

/// A message that is sent.
fn send(state: &mut State, pc: u64, message: &Persistent, nonblocking: bool) -> Option<Request> {
    if message.peer == abi().proc_null {
        return None;
    }
    let request = (nonblocking || message.synchronous).then(|| state.fresh_request());
    let held = request.filter(|_| nonblocking);
    touched(state, pc, message.buffer.clone(), false, held);
    let to = message.comm.rank(message.peer);
    let synchronous = request.filter(|_| message.synchronous);
    state.log(pc, Event::Send { communicator: message.comm.id, to, tag: message.tag, synchronous });
    request
}

/// A receive that is posted.
fn post(state: &mut State, pc: u64, message: &Persistent) -> Option<Request> {
    if message.peer == abi().proc_null {
        return None;
    }
    let request = state.fresh_request();
    let from = (message.peer != abi().any_source).then(|| message.comm.rank(message.peer));
    let tag = (message.tag != ANY_TAG).then_some(message.tag);
    state.log(pc, Event::Posted { communicator: message.comm.id, request, from, tag });
    touched(state, pc, message.buffer.clone(), true, Some(request));
    Some(request)
}

fn touched(state: &mut State, pc: u64, buffer: Buffer, write: bool, request: Option<Request>) {
    if !buffer.pieces.is_empty() {
        if request.is_some() {
            local::pending(&buffer);
        }
        state.log(pc, Event::Buffer { buffer, write, request });
        if steer::active() {
            steer::buffer(state.site(pc), write);
        }
    }
}

/// What the arguments of a send or receive say.
fn message(call: &Call, asked: (*const u8, i32, Handle), peer: i32, tag: i32, comm: Handle) -> Option<Persistent> {
    let (address, count, datatype) = asked;
    call.with(|state, _| {
        let comm = state.comm(comm)?;
        let pieces = state.buffer(address, i64::from(count), datatype).map_or(Vec::new(), |buffer| buffer.pieces);
        let buffer = Buffer { address: address as u64, pieces };
        Some(Persistent { buffer, comm, peer, tag, receives: false, synchronous: false })
    })?
}

/// A blocking send.
fn sending(
    call: &Call,
    asked: (*const u8, i32, Handle),
    peer: i32,
    tag: i32,
    comm: Handle,
    synchronous: bool,
    go: impl FnOnce() -> i32,
) -> i32 {
    let sent = message(call, asked, peer, tag, comm).and_then(|mut message| {
        message.synchronous = synchronous;
        call.with(|state, pc| send(state, pc, &message, false))?
    });
    steer::release();
    let result = steer::blocking(go);
    if let (Some(request), true) = (sent, synchronous) {
        call.log(Event::Taken { request });
    }
    result
}

/// A nonblocking send.
#[expect(clippy::too_many_arguments, reason = "those of the call, and the call itself")]
fn starting(
    call: &Call,
    asked: (*const u8, i32, Handle),
    peer: i32,
    tag: i32,
    comm: Handle,
    synchronous: bool,
    handle: *mut u8,
    go: impl FnOnce(*mut u8) -> i32 + 'static,
) -> i32 {
    let sent = message(call, asked, peer, tag, comm).and_then(|mut message| {
        message.synchronous = synchronous;
        call.with(|state, pc| send(state, pc, &message, true))?
    });
    let result = steer::nonblocking(steer::Sort::Message, handle, go);
    keep(call, sent, Kind::Send { synchronous }, handle);
    result
}

fn keep(call: &Call, request: Option<Request>, kind: Kind, handle: *const u8) {
    if let Some(request) = request {
        // SAFETY: the library wrote a handle there.
        let handle = unsafe { abi().nth(handle, 0) };
        call.with(|state, _| state.requests.insert(handle, Req { request, kind }));
    }
}

/// A request is done. The status says which message a receive got.
fn done(state: &mut State, pc: u64, handle: Handle, status: *const u8) {
    let Some(Req { request, kind }) = state.requests.remove(&handle) else { return };
    match kind {
        Kind::Receive { comm } => {
            // SAFETY: the library filled it.
            let (source, tag) = unsafe { abi().source_and_tag(status) };
            if source >= 0 {
                state.log(pc, Event::Received { request, from: comm.rank(source), tag });
            }
        }
        Kind::Send { synchronous: true } => state.log(pc, Event::Taken { request }),
        Kind::Collective(collective) => state.log(pc, Event::Exit { collective }),
        Kind::Send { .. } | Kind::Operation => {}
    }
    state.log(pc, Event::RequestDone { request });
    state.fetched(pc, |fetched| fetched.request == Some(request));
    steer::request_done();
}

/// A status of ours where the program wants none.
struct Asked {
    own: Vec<u8>,
    given: *mut u8,
}

impl Asked {
    fn new(given: *mut u8, count: usize) -> Asked {
        let own = if abi().ignored(given) { vec![0; (count + 1) * STATUS] } else { Vec::new() };
        Asked { own, given }
    }

    fn pointer(&mut self) -> *mut u8 {
        if self.own.is_empty() { self.given } else { self.own.as_mut_ptr() }
    }

    fn nth(&mut self, number: usize) -> *const u8 {
        self.pointer().wrapping_add(number * abi().status)
    }
}

/// The handles of an array, before the library clears them.
unsafe fn handles(requests: *const u8, count: i32) -> Vec<Handle> {
    // SAFETY: the program's array.
    (0..count.max(0) as usize).map(|number| unsafe { abi().nth(requests, number) }).collect()
}

fn started(call: &Call, handle: Handle) {
    call.with(|state, pc| {
        let Some(message) = state.persistent.get(&handle).cloned() else { return };
        let request = if message.receives { post(state, pc, &message) } else { send(state, pc, &message, true) };
        let kind = if message.receives {
            Kind::Receive { comm: message.comm }
        } else {
            Kind::Send { synchronous: message.synchronous }
        };
        if let Some(request) = request {
            state.requests.insert(handle, Req { request, kind });
        }
    });
}

fn prepared(
    call: &Call,
    asked: (*const u8, i32, Handle),
    peer: i32,
    tag: i32,
    comm: Handle,
    kind: (bool, bool),
    handle: *const u8,
) {
    let Some(mut message) = message(call, asked, peer, tag, comm) else { return };
    (message.receives, message.synchronous) = kind;
    // SAFETY: the library wrote a handle there.
    let handle = unsafe { abi().nth(handle, 0) };
    call.with(|state, _| state.persistent.insert(handle, message));
}

/// A blocking receive: posted, got, done.
fn receiving(
    call: &Call,
    asked: (*const u8, i32, Handle),
    peer: i32,
    tag: i32,
    comm: Handle,
    status: *mut u8,
    go: impl FnOnce(*mut u8) -> i32,
) -> i32 {
    let message = message(call, asked, peer, tag, comm);
    let posted = message.and_then(|message| {
        let request = call.with(|state, pc| post(state, pc, &message))??;
        Some((request, message.comm))
    });
    let mut asked = Asked::new(status, 1);
    steer::release();
    let result = steer::blocking(|| go(asked.pointer()));
    if let Some((request, comm)) = posted {
        // SAFETY: the library filled it.
        let (source, tag) = unsafe { abi().source_and_tag(asked.pointer()) };
        call.with(|state, pc| {
            if source >= 0 {
                state.log(pc, Event::Received { request, from: comm.rank(source), tag });
            }
            state.log(pc, Event::RequestDone { request });
        });
    }
    result
}

interpose! { "P"
    fn MPI_Send(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle) -> i32 { |call|
        sending(&call, (b, n, t), to, tag, comm, false, || (call.real)(b, n, t, to, tag, comm)) }
    fn MPI_Bsend(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle) -> i32 { |call|
        sending(&call, (b, n, t), to, tag, comm, false, || (call.real)(b, n, t, to, tag, comm)) }
    fn MPI_Rsend(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle) -> i32 { |call|
        sending(&call, (b, n, t), to, tag, comm, false, || (call.real)(b, n, t, to, tag, comm)) }
    fn MPI_Ssend(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle) -> i32 { |call|
        sending(&call, (b, n, t), to, tag, comm, true, || (call.real)(b, n, t, to, tag, comm)) }
    fn MPI_Isend(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call|
        { let real = call.real; starting(&call, (b, n, t), to, tag, comm, false, request, move |request| (real)(b, n, t, to, tag, comm, request)) } }
    fn MPI_Ibsend(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call|
        { let real = call.real; starting(&call, (b, n, t), to, tag, comm, false, request, move |request| (real)(b, n, t, to, tag, comm, request)) } }
    fn MPI_Irsend(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call|
        { let real = call.real; starting(&call, (b, n, t), to, tag, comm, false, request, move |request| (real)(b, n, t, to, tag, comm, request)) } }
    fn MPI_Issend(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call|
        { let real = call.real; starting(&call, (b, n, t), to, tag, comm, true, request, move |request| (real)(b, n, t, to, tag, comm, request)) } }
    fn MPI_Recv(b: *mut u8, n: i32, t: Handle, from: i32, tag: i32, comm: Handle, status: *mut u8) -> i32 { |call|
        receiving(&call, (b, n, t), from, tag, comm, status, |status| (call.real)(b, n, t, from, tag, comm, status)) }
    fn MPI_Irecv(b: *mut u8, n: i32, t: Handle, from: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call| {
        let message = message(&call, (b, n, t), from, tag, comm);
        let posted = message.as_ref().and_then(|message| call.with(|state, pc| post(state, pc, message))?);
        let real = call.real;
        let result =
            steer::nonblocking(steer::Sort::Message, request, move |request| (real)(b, n, t, from, tag, comm, request));
        if let Some(message) = message {
            keep(&call, posted, Kind::Receive { comm: message.comm }, request);
        }
        result
    } }
    fn MPI_Sendrecv(sb: *const u8, sn: i32, st: Handle, to: i32, stag: i32, rb: *mut u8, rn: i32, rt: Handle, from: i32, rtag: i32, comm: Handle, status: *mut u8) -> i32 { |call|
        sending(&call, (sb, sn, st), to, stag, comm, false, || {
            receiving(&call, (rb, rn, rt), from, rtag, comm, status, |status| {
                (call.real)(sb, sn, st, to, stag, rb, rn, rt, from, rtag, comm, status)
            })
        }) }
    fn MPI_Sendrecv_replace(b: *mut u8, n: i32, t: Handle, to: i32, stag: i32, from: i32, rtag: i32, comm: Handle, status: *mut u8) -> i32 { |call|
        sending(&call, (b, n, t), to, stag, comm, false, || {
            receiving(&call, (b, n, t), from, rtag, comm, status, |status| {
                (call.real)(b, n, t, to, stag, from, rtag, comm, status)
            })
        }) }
    fn MPI_Send_init(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call| {
        let result = (call.real)(b, n, t, to, tag, comm, request);
        prepared(&call, (b, n, t), to, tag, comm, (false, false), request);
        result
    } }
    fn MPI_Ssend_init(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call| {
        let result = (call.real)(b, n, t, to, tag, comm, request);
        prepared(&call, (b, n, t), to, tag, comm, (false, true), request);
        result
    } }
    fn MPI_Recv_init(b: *mut u8, n: i32, t: Handle, from: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call| {
        let result = (call.real)(b, n, t, from, tag, comm, request);
        prepared(&call, (b, n, t), from, tag, comm, (true, false), request);
        result
    } }
    fn MPI_Start(request: *mut u8) -> i32 { |call| {
        started(&call, abi().nth(request, 0));
        let real = call.real;
        steer::nonblocking(steer::Sort::Persistent, request, move |request| (real)(request))
    } }
    fn MPI_Startall(count: i32, requests: *mut u8) -> i32 { |call| {
        handles(requests, count).into_iter().for_each(|handle| started(&call, handle));
        (call.real)(count, requests)
    } }
    fn MPI_Request_free(request: *mut u8) -> i32 { |call| {
        // Freed early: nobody will hear of its end.
        let handle = abi().nth(request, 0);
        with(|state| {
            state.persistent.remove(&handle);
            state.requests.remove(&handle);
        });
        (call.real)(request)
    } }
    fn MPI_Wait(request: *mut u8, status: *mut u8) -> i32 { |call| {
        let handle = abi().nth(request, 0);
        let mut asked = Asked::new(status, 1);
        steer::resolve(request, 1);
        let result = (call.real)(request, asked.pointer());
        call.with(|state, pc| done(state, pc, handle, asked.pointer()));
        result
    } }
    fn MPI_Test(request: *mut u8, flag: *mut i32, status: *mut u8) -> i32 { |call| {
        let handle = abi().nth(request, 0);
        let mut asked = Asked::new(status, 1);
        steer::resolve(request, 1);
        let result = (call.real)(request, flag, asked.pointer());
        if *flag != 0 {
            call.with(|state, pc| done(state, pc, handle, asked.pointer()));
        }
        result
    } }
    fn MPI_Waitall(count: i32, requests: *mut u8, statuses: *mut u8) -> i32 { |call| {
        let handles = handles(requests, count);
        steer::resolve(requests, count);
        let mut asked = Asked::new(statuses, handles.len());
        let result = (call.real)(count, requests, asked.pointer());
        call.with(|state, pc| {
            for (number, handle) in handles.into_iter().enumerate() {
                done(state, pc, handle, asked.nth(number));
            }
        });
        result
    } }
    fn MPI_Testall(count: i32, requests: *mut u8, flag: *mut i32, statuses: *mut u8) -> i32 { |call| {
        let handles = handles(requests, count);
        steer::resolve(requests, count);
        let mut asked = Asked::new(statuses, handles.len());
        let result = (call.real)(count, requests, flag, asked.pointer());
        if *flag != 0 {
            call.with(|state, pc| {
                for (number, handle) in handles.into_iter().enumerate() {
                    done(state, pc, handle, asked.nth(number));
                }
            });
        }
        result
    } }
    fn MPI_Waitany(count: i32, requests: *mut u8, index: *mut i32, status: *mut u8) -> i32 { |call| {
        let handles = handles(requests, count);
        steer::resolve(requests, count);
        let mut asked = Asked::new(status, 1);
        let result = (call.real)(count, requests, index, asked.pointer());
        if let Some(&handle) = handles.get(*index as usize) {
            call.with(|state, pc| done(state, pc, handle, asked.pointer()));
        }
        result
    } }
    fn MPI_Testany(count: i32, requests: *mut u8, index: *mut i32, flag: *mut i32, status: *mut u8) -> i32 { |call| {
        let handles = handles(requests, count);
        steer::resolve(requests, count);
        let mut asked = Asked::new(status, 1);
        let result = (call.real)(count, requests, index, flag, asked.pointer());
        if let (true, Some(&handle)) = (*flag != 0, handles.get(*index as usize)) {
            call.with(|state, pc| done(state, pc, handle, asked.pointer()));
        }
        result
    } }
    fn MPI_Waitsome(count: i32, requests: *mut u8, ready: *mut i32, indices: *mut i32, statuses: *mut u8) -> i32 { |call| {
        let handles = handles(requests, count);
        steer::resolve(requests, count);
        let mut asked = Asked::new(statuses, handles.len());
        let result = (call.real)(count, requests, ready, indices, asked.pointer());
        some(&call, &handles, *ready, indices, &mut asked);
        result
    } }
    fn MPI_Testsome(count: i32, requests: *mut u8, ready: *mut i32, indices: *mut i32, statuses: *mut u8) -> i32 { |call| {
        let handles = handles(requests, count);
        steer::resolve(requests, count);
        let mut asked = Asked::new(statuses, handles.len());
        let result = (call.real)(count, requests, ready, indices, asked.pointer());
        some(&call, &handles, *ready, indices, &mut asked);
        result
    } }
    fn MPI_Bsend_init(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call| {
        let result = (call.real)(b, n, t, to, tag, comm, request);
        prepared(&call, (b, n, t), to, tag, comm, (false, false), request);
        result
    } }
    fn MPI_Rsend_init(b: *const u8, n: i32, t: Handle, to: i32, tag: i32, comm: Handle, request: *mut u8) -> i32 { |call| {
        let result = (call.real)(b, n, t, to, tag, comm, request);
        prepared(&call, (b, n, t), to, tag, comm, (false, false), request);
        result
    } }
    fn MPI_Mprobe(from: i32, tag: i32, comm: Handle, message: *mut u8, status: *mut u8) -> i32 { |call| {
        let mut asked = Asked::new(status, 1);
        let result = (call.real)(from, tag, comm, message, asked.pointer());
        probed(&call, comm, asked.pointer());
        result
    } }
    fn MPI_Improbe(from: i32, tag: i32, comm: Handle, flag: *mut i32, message: *mut u8, status: *mut u8) -> i32 { |call| {
        let mut asked = Asked::new(status, 1);
        let result = (call.real)(from, tag, comm, flag, message, asked.pointer());
        if *flag != 0 {
            probed(&call, comm, asked.pointer());
        }
        result
    } }
    fn MPI_Mrecv(b: *mut u8, n: i32, t: Handle, message: *mut u8, status: *mut u8) -> i32 { |call| {
        let result = (call.real)(b, n, t, message, status);
        call.with(|state, pc| {
            if let Some(buffer) = state.buffer(b, i64::from(n), t) {
                touched(state, pc, buffer, true, None);
            }
        });
        result
    } }
    fn MPI_Imrecv(b: *mut u8, n: i32, t: Handle, message: *mut u8, request: *mut u8) -> i32 { |call| {
        let named = call.with(|state, pc| {
            let buffer = state.buffer(b, i64::from(n), t)?;
            let named = state.fresh_request();
            touched(state, pc, buffer, true, Some(named));
            Some(named)
        });
        let result = (call.real)(b, n, t, message, request);
        keep(&call, named.flatten(), Kind::Operation, request);
        result
    } }
}

/// A message was taken by a probe: it was sent, and the receive that follows has nothing more to wait for.
fn probed(call: &Call, comm: Handle, status: *const u8) {
    // SAFETY: the library filled it.
    let (source, tag) = unsafe { abi().source_and_tag(status) };
    if source < 0 {
        return;
    }
    call.with(|state, pc| {
        let Some(comm) = state.comm(comm) else { return };
        let (request, from) = (state.fresh_request(), comm.rank(source));
        state.log(pc, Event::Posted { communicator: comm.id, request, from: Some(from), tag: Some(tag) });
        state.log(pc, Event::Received { request, from, tag });
    });
}

fn some(call: &Call, handles: &[Handle], ready: i32, indices: *const i32, asked: &mut Asked) {
    for number in 0..ready.max(0) as usize {
        // SAFETY: the library filled that many.
        let index = unsafe { indices.add(number).read() };
        if let Some(&handle) = handles.get(index as usize) {
            call.with(|state, pc| done(state, pc, handle, asked.nth(number)));
        }
    }
}
