//! One-sided operations.

use super::Call;
use super::abi::{Handle, abi};
use super::again::Key;
use super::datatypes::size;
use super::local;
use super::objects::{Fetched, Kind, Req, State};
use super::steer::{self, Source};
use super::threads;
use crate::event::{Action, Buffer, Event, Logged, Operation, Operator, Piece, Place, Through};
use crate::ids::{Rank, Request};

/// An operation as the program asked for it.
struct Asked {
    action: Action,
    origin: Option<(*const u8, i64, Handle)>,
    compare: Option<(*const u8, Handle)>,
    result: Option<(*mut u8, i64, Handle)>,
    target: i32,
    displacement: i64,
    count: i64,
    datatype: Handle,
    window: Handle,
}

/// Logs the operation, and names it if a request completes it.
fn issue(call: &Call, asked: Asked, with_request: bool) -> Option<Request> {
    call.with(|state, pc| {
        let win = state.win(asked.window)?;
        if asked.target == abi().proc_null || asked.count == 0 {
            return None;
        }
        let mut reads: Vec<Buffer> = Vec::new();
        if let Some((address, count, datatype)) = asked.origin {
            reads.extend(state.buffer(address, count, datatype));
        }
        if let Some((address, datatype)) = asked.compare {
            reads.extend(state.buffer(address, 1, datatype));
        }
        let writes = asked.result.and_then(|(address, count, datatype)| state.buffer(address, count, datatype));
        let pieces = state.datatypes.pieces(asked.datatype, asked.count);
        let request = with_request.then(|| state.fresh_request());
        for buffer in reads.iter().chain(&writes) {
            local::pending(buffer);
        }
        let value = value(&asked, &reads, &pieces);
        // The second buffer of a compare-and-swap.
        let compare = asked.compare.and_then(|_| reads.get(1)).and_then(one_element);
        let place = Place::Window { window: win.id, units: asked.displacement, bytes: 0 };
        let owner = win.comm.rank(asked.target);
        let fetches = fetched(&asked, writes.as_ref(), &pieces, (owner, place), request);
        state.fetches.extend(fetches.iter().copied());
        let operation = Operation {
            action: asked.action,
            target: owner,
            place,
            pieces,
            reads,
            writes,
            through: Through::Window { window: win.id, request },
            value,
            compare,
        };
        let len = repeated_len(state, &asked, &operation);
        let logged =
            Logged { strand: threads::strand(), site: state.site(pc), event: Event::Operation(Box::new(operation)) };
        if let (Some(len), Some(key)) = (len, asked.key(pc)) {
            state.again.learn(key, &logged, len, fetches);
        }
        state.log(pc, logged.event);
        request
    })?
}

/// Of an operation that may be logged by copying the last entry: the bytes of its buffer.
fn repeated_len(state: &State, asked: &Asked, operation: &Operation) -> Option<u64> {
    let (Through::Window { request: None, .. }, false) = (operation.through, steer::active()) else { return None };
    let [piece] = operation.reads.iter().chain(&operation.writes).next()?.pieces[..] else { return None };
    let named = |datatype| state.datatypes.is_named(datatype);
    let (_, here) = asked.here()?;
    // One element is its own value; of more than that, none is written down.
    (piece.offset == 0 && piece.count == 1 && named(here.1) && named(asked.datatype)).then_some(piece.len)
}

/// One element that an operation brings.
fn fetched(
    asked: &Asked,
    writes: Option<&Buffer>,
    pieces: &[Piece],
    (owner, place): (Rank, Place),
    request: Option<Request>,
) -> Option<Fetched> {
    let (Some(Buffer { address, pieces: filled }), [target]) = (writes, pieces) else { return None };
    let [piece] = filled[..] else { return None };
    let one = piece.count == 1 && target.count == 1 && piece.len == target.len && piece.len <= 8;
    let (window, result, len) = (abi().handle(asked.window), *address, piece.len);
    one.then_some(Fetched { window, target: asked.target, request, owner, place, result, len })
}

impl Asked {
    /// The buffer of a put or get: its address, elements and type.
    fn here(&self) -> Option<(u64, (i64, Handle))> {
        match (self.action, self.origin, self.result) {
            (Action::Put, Some((address, count, datatype)), None) => Some((address as u64, (count, datatype))),
            (Action::Get, None, Some((address, count, datatype))) => Some((address as u64, (count, datatype))),
            _ => None,
        }
    }

    fn key(&self, pc: u64) -> Option<Key> {
        let (_, here) = self.here()?;
        let (there, put) = ((self.count, self.datatype), self.action == Action::Put);
        Some(Key { pc, window: self.window, target: self.target, here, there, put })
    }
}

/// A put or get without a request. Returns whether it has been logged as one that its statement issued before; then
/// nothing else has to be done about it.
fn again(call: &Call, asked: &Asked) -> bool {
    if steer::active() {
        return false;
    }
    let (Some((address, _)), Some(key)) = (asked.here(), asked.key(call.pc)) else { return false };
    call.with(|state, _| state.again(&key, address, asked.displacement)) == Some(true)
}

/// What a single element that is written will be.
fn value(asked: &Asked, reads: &[Buffer], pieces: &[Piece]) -> Option<u64> {
    let ([buffer, ..], [target]) = (reads, pieces) else { return None };
    let alike = matches!(buffer.pieces[..], [piece] if piece.len == target.len) && target.count == 1;
    if alike && asked.action.writes() { one_element(buffer) } else { None }
}

/// What a buffer of one element holds.
fn one_element(buffer: &Buffer) -> Option<u64> {
    let [piece] = buffer.pieces[..] else { return None };
    if piece.count != 1 || piece.len > 8 {
        return None;
    }
    let mut bytes = [0u8; 8];
    let start = buffer.address.wrapping_add_signed(piece.offset) as *const u8;
    // SAFETY: the program gives these bytes to the operation.
    unsafe { std::ptr::copy_nonoverlapping(start, bytes.as_mut_ptr(), piece.len as usize) };
    Some(u64::from_le_bytes(bytes))
}

/// A request-based operation was issued.
unsafe fn requested(call: &Call, request: Option<Request>, handle: *const u8) {
    if let Some(request) = request {
        // SAFETY: the library wrote a handle there.
        let handle = unsafe { abi().nth(handle, 0) };
        call.with(|state, _| state.requests.insert(handle, Req { request, kind: Kind::Operation }));
    }
}

fn fetch(op: Handle) -> Action {
    Action::Fetch(abi().operator(op))
}

fn origin_of(op: Handle, origin: *const u8, count: i32, datatype: Handle) -> Option<(*const u8, i64, Handle)> {
    // With MPI_NO_OP the origin is not looked at; its type may be nothing.
    (abi().operator(op) != Operator::NoOp).then_some((origin, i64::from(count), datatype))
}

/// What an operation reads that is over locally before it is at the target; a plan may copy it then.
fn source(call: &Call, origin: *const u8, count: i32, datatype: Handle) -> Source {
    let pieces = call.with(|state, _| state.buffer(origin, i64::from(count), datatype).map(|buffer| buffer.pieces));
    Source::of(origin as u64, &pieces.flatten().unwrap_or_default())
}

/// Issues the operation, now or when a plan says. `read`: its origin, unless it brings something back; `result`: what it
/// fills.
fn steered(
    call: &Call,
    window: Handle,
    target: i32,
    read: Option<(*const u8, i32, Handle)>,
    result: Option<(*mut u8, i64, Handle)>,
    go: impl FnOnce(Handle, *const u8) -> i32 + 'static,
) -> i32 {
    let origin = read.map_or(std::ptr::null(), |(origin, ..)| origin);
    if !steer::active() {
        return go(window, origin);
    }
    let known = call.with(|state, pc| (state.site(pc), state.is_locked(window, target)));
    let Some((site, locked)) = known else { return go(window, origin) };
    let source = read.map_or(Source::NONE, |(origin, count, datatype)| source(call, origin, count, datatype));
    let result = result.map(|(address, count, datatype)| (address as u64, (count * size(datatype)).max(0) as u64));
    steer::operation(site, window, (target, locked), source, result, Box::new(go))
}

/// The same, of an operation with a request.
fn by_request(
    call: &Call,
    (window, target): (Handle, i32),
    read: Option<(*const u8, i32, Handle)>,
    result: Option<(*mut u8, i64, Handle)>,
    request: *mut u8,
    go: impl FnOnce(*mut u8, *const u8) -> i32 + 'static,
) -> i32 {
    let origin = read.map_or(std::ptr::null(), |(origin, ..)| origin);
    if !steer::active() {
        return go(request, origin);
    }
    let Some(site) = call.with(|state, pc| state.site(pc)) else { return go(request, origin) };
    let source = read.map_or(Source::NONE, |(origin, count, datatype)| source(call, origin, count, datatype));
    let fills = result.map(|(address, count, datatype)| (address as u64, (count * size(datatype)).max(0) as u64));
    steer::window_request(site, (window, target), source, fills, request, go)
}

interpose! { "P"
    fn MPI_Type_free(datatype: *mut u8) -> i32 { |call| {
        // As long as an operation uses it, it lives; we have not made the call yet.
        if steer::keeps_types() {
            abi().set(datatype, abi().no_datatype);
            return 0;
        }
        (call.real)(datatype)
    } }
    fn MPI_Put(o: *const u8, oc: i32, ot: Handle, target: i32, displacement: i64, tc: i32, datatype: Handle, window: Handle) -> i32 { |call| {
        let (origin, count) = (Some((o, i64::from(oc), ot)), i64::from(tc));
        let asked = Asked { action: Action::Put, origin, compare: None, result: None, target, displacement, count, datatype, window };
        let real = call.real;
        if again(&call, &asked) {
            return (real)(o, oc, ot, target, displacement, tc, datatype, window);
        }
        issue(&call, asked, false);
        steered(&call, window, target, Some((o, oc, ot)), None, move |window, o| (real)(o, oc, ot, target, displacement, tc, datatype, window))
    } }
    fn MPI_Get(r: *mut u8, rc: i32, rt: Handle, target: i32, displacement: i64, tc: i32, datatype: Handle, window: Handle) -> i32 { |call| {
        let (result, count) = (Some((r, i64::from(rc), rt)), i64::from(tc));
        let asked = Asked { action: Action::Get, origin: None, compare: None, result, target, displacement, count, datatype, window };
        let real = call.real;
        if again(&call, &asked) {
            return (real)(r, rc, rt, target, displacement, tc, datatype, window);
        }
        issue(&call, asked, false);
        steered(&call, window, target, None, Some((r, i64::from(rc), rt)), move |window, _| (real)(r, rc, rt, target, displacement, tc, datatype, window))
    } }
    fn MPI_Accumulate(o: *const u8, oc: i32, ot: Handle, target: i32, displacement: i64, tc: i32, datatype: Handle, op: Handle, window: Handle) -> i32 { |call| {
        let (action, origin, count) = (Action::Accumulate(abi().operator(op)), Some((o, i64::from(oc), ot)), i64::from(tc));
        issue(&call, Asked { action, origin, compare: None, result: None, target, displacement, count, datatype, window }, false);
        let real = call.real;
        steered(&call, window, target, Some((o, oc, ot)), None, move |window, o| (real)(o, oc, ot, target, displacement, tc, datatype, op, window))
    } }
    fn MPI_Get_accumulate(o: *const u8, oc: i32, ot: Handle, r: *mut u8, rc: i32, rt: Handle, target: i32, displacement: i64, tc: i32, datatype: Handle, op: Handle, window: Handle) -> i32 { |call| {
        let (origin, result, count) = (origin_of(op, o, oc, ot), Some((r, i64::from(rc), rt)), i64::from(tc));
        issue(&call, Asked { action: fetch(op), origin, compare: None, result, target, displacement, count, datatype, window }, false);
        let real = call.real;
        steered(&call, window, target, None, Some((r, i64::from(rc), rt)), move |window, _| (real)(o, oc, ot, r, rc, rt, target, displacement, tc, datatype, op, window))
    } }
    fn MPI_Fetch_and_op(o: *const u8, r: *mut u8, datatype: Handle, target: i32, displacement: i64, op: Handle, window: Handle) -> i32 { |call| {
        let (origin, result) = (origin_of(op, o, 1, datatype), Some((r, 1, datatype)));
        issue(&call, Asked { action: fetch(op), origin, compare: None, result, target, displacement, count: 1, datatype, window }, false);
        let real = call.real;
        steered(&call, window, target, None, Some((r, 1, datatype)), move |window, _| (real)(o, r, datatype, target, displacement, op, window))
    } }
    fn MPI_Compare_and_swap(o: *const u8, c: *const u8, r: *mut u8, datatype: Handle, target: i32, displacement: i64, window: Handle) -> i32 { |call| {
        let (origin, compare, result) = (Some((o, 1, datatype)), Some((c, datatype)), Some((r, 1, datatype)));
        let action = Action::Fetch(Operator::CompareAndSwap);
        issue(&call, Asked { action, origin, compare, result, target, displacement, count: 1, datatype, window }, false);
        let real = call.real;
        steered(&call, window, target, None, Some((r, 1, datatype)), move |window, _| (real)(o, c, r, datatype, target, displacement, window))
    } }
    fn MPI_Rput(o: *const u8, oc: i32, ot: Handle, target: i32, displacement: i64, tc: i32, datatype: Handle, window: Handle, request: *mut u8) -> i32 { |call| {
        let (origin, count) = (Some((o, i64::from(oc), ot)), i64::from(tc));
        let named = issue(&call, Asked { action: Action::Put, origin, compare: None, result: None, target, displacement, count, datatype, window }, true);
        let real = call.real;
        let status = by_request(&call, (window, target), Some((o, oc, ot)), None, request, move |request, o| (real)(o, oc, ot, target, displacement, tc, datatype, window, request));
        requested(&call, named, request);
        status
    } }
    fn MPI_Rget(r: *mut u8, rc: i32, rt: Handle, target: i32, displacement: i64, tc: i32, datatype: Handle, window: Handle, request: *mut u8) -> i32 { |call| {
        let (result, count) = (Some((r, i64::from(rc), rt)), i64::from(tc));
        let named = issue(&call, Asked { action: Action::Get, origin: None, compare: None, result, target, displacement, count, datatype, window }, true);
        let real = call.real;
        let status = by_request(&call, (window, target), None, result, request, move |request, _| (real)(r, rc, rt, target, displacement, tc, datatype, window, request));
        requested(&call, named, request);
        status
    } }
    fn MPI_Raccumulate(o: *const u8, oc: i32, ot: Handle, target: i32, displacement: i64, tc: i32, datatype: Handle, op: Handle, window: Handle, request: *mut u8) -> i32 { |call| {
        let (action, origin, count) = (Action::Accumulate(abi().operator(op)), Some((o, i64::from(oc), ot)), i64::from(tc));
        let named = issue(&call, Asked { action, origin, compare: None, result: None, target, displacement, count, datatype, window }, true);
        let real = call.real;
        let status = by_request(&call, (window, target), Some((o, oc, ot)), None, request, move |request, o| (real)(o, oc, ot, target, displacement, tc, datatype, op, window, request));
        requested(&call, named, request);
        status
    } }
    fn MPI_Rget_accumulate(o: *const u8, oc: i32, ot: Handle, r: *mut u8, rc: i32, rt: Handle, target: i32, displacement: i64, tc: i32, datatype: Handle, op: Handle, window: Handle, request: *mut u8) -> i32 { |call| {
        let (origin, result, count) = (origin_of(op, o, oc, ot), Some((r, i64::from(rc), rt)), i64::from(tc));
        let named = issue(&call, Asked { action: fetch(op), origin, compare: None, result, target, displacement, count, datatype, window }, true);
        let real = call.real;
        let status = by_request(&call, (window, target), None, result, request, move |request, _| (real)(o, oc, ot, r, rc, rt, target, displacement, tc, datatype, op, window, request));
        requested(&call, named, request);
        status
    } }
}
