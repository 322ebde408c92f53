//! OpenSHMEM: what its calls mean (R15 to R22).
//!
//! Symmetric memory is named by addresses of this process: ranks of a run have the same ones, because
//! address randomisation is off and every rank allocates alike.

mod calls;
mod collective;
pub mod initial;
mod typed;
mod waits;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::steer::{self, Decision};
use super::{Call, local};
use crate::event::{Accumulates, Action, Buffer, Comparison, Event, Operation, Operator, Piece, Place, Through};
use crate::ids::{Context, Datatype, Rank, Window};

/// Contexts and teams that the program made, by their handles.
#[derive(Default)]
struct Made {
    /// Each with its number, and the domain of its atomic operations.
    contexts: HashMap<usize, (u32, u32)>,
    /// Teams that come from another predefined team than that of everybody.
    teams: HashMap<usize, u32>,
    last: u32,
}

static MADE: Mutex<Option<Made>> = Mutex::new(None);

fn made<T>(body: impl FnOnce(&mut Made) -> T) -> T {
    let mut made = MADE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    body(made.get_or_insert_default())
}

/// The context that a handle stands for. Handles that are not known are the default one.
pub fn context(handle: usize) -> Context {
    made(|made| Context(made.contexts.get(&handle).map_or(0, |(number, _)| *number)))
}

/// The domain of atomic operations on a context (R18).
fn domain(handle: usize) -> u32 {
    made(|made| made.contexts.get(&handle).map_or(0, |(_, domain)| *domain))
}

fn made_context(handle: usize, domain: u32) {
    made(|made| {
        made.last += 1;
        made.contexts.insert(handle, (made.last, domain));
    });
}

/// The predefined team that a team comes from: 0 that of everybody, 1 the one of those that share memory.
fn domain_of(team: usize) -> u32 {
    let shared = collective::predefined(c"SHMEM_TEAM_SHARED");
    if team == shared && shared != 0 {
        return 1;
    }
    made(|made| made.teams.get(&team).copied().unwrap_or(0))
}

fn team_split(parent: usize, child: usize) {
    let domain = domain_of(parent);
    if domain != 0 {
        made(|made| made.teams.insert(child, domain));
    }
}

/// What was issued on the context is over.
fn quiet(call: &Call, context: Context, barrier: bool) {
    steer::shmem_completed();
    call.log(Event::Quiet { context, barrier });
}

/// A put with a signal: who sees the signal sees the data.
fn signalled(
    call: &Call,
    elements: Elements,
    (to, from, count, pe): (u64, u64, u64, i32),
    (signal, value, operator): (u64, u64, i32),
    (context, blocking): (usize, bool),
) {
    const SIGNAL_SET: i32 = 0;
    static PAIRS: AtomicU32 = AtomicU32::new(0);
    let pair = PAIRS.fetch_add(1, Ordering::Relaxed) + 1;
    let one = Transfer::one(Action::Put, pe, (to, 1), (from, 1), elements, context);
    let put = Transfer { count, blocking, pair, ..one };
    transfer(call, put);
    let operator = if operator == SIGNAL_SET { Operator::Replace } else { ADD };
    let signal = Transfer {
        action: Action::Accumulate(operator),
        there: (signal, 1),
        here: (0, 1),
        count: 1,
        elements: typed::elements::<u64>("uint64"),
        blocking: true,
        value: Some(value),
        ..put
    };
    transfer(call, signal);
}

/// A word of symmetric memory.
fn symmetric(address: u64) -> Place {
    Place::Window { window: Window::SYMMETRIC, units: address as i64, bytes: 0 }
}

/// Elements of a type: how many bytes each has, and its number.
#[derive(Clone, Copy)]
struct Elements {
    size: u32,
    datatype: u16,
}

impl Elements {
    /// One type has several names: what counts is how it is represented.
    const fn named(name: &str, size: u32) -> Elements {
        let kind = match name.as_bytes() {
            b"float" | b"double" | b"longdouble" => "float",
            b"complexf" | b"complexd" => "complex",
            b"uchar" | b"ushort" | b"ulong" | b"ulonglong" | b"size" => "unsigned",
            [b'u', b'i', b'n', b't', ..] => "unsigned",
            _ => "signed",
        };
        Elements { size, datatype: Datatype::numbered(kind, size).0 }
    }

    /// `count` elements, `stride` elements apart.
    fn piece(self, count: u64, stride: i64) -> Piece {
        let (datatype, element) = (Datatype(self.datatype), self.size);
        if stride == 1 {
            return Piece { offset: 0, len: count * u64::from(element), stride: 0, count: 1, datatype, element };
        }
        let stride = stride * i64::from(element);
        Piece { offset: 0, len: u64::from(element), stride, count: count as u32, datatype, element }
    }
}

/// A transfer between this rank and another.
#[derive(Clone, Copy)]
struct Transfer {
    action: Action,
    pe: i32,
    /// Symmetric memory of the other rank, and the distance of its elements.
    there: (u64, i64),
    /// Memory of this rank; 0: a value, not memory.
    here: (u64, i64),
    count: u64,
    elements: Elements,
    context: usize,
    blocking: bool,
    /// A put and its signal have a number in common; otherwise 0.
    pair: u32,
    value: Option<u64>,
    compare: Option<u64>,
}

impl Transfer {
    /// Of one element, done when the call returns, with nothing passed by value.
    const fn one(
        action: Action,
        pe: i32,
        there: (u64, i64),
        here: (u64, i64),
        elements: Elements,
        context: usize,
    ) -> Self {
        let (count, blocking, pair, value, compare) = (1, true, 0, None, None);
        Self { action, pe, there, here, count, elements, context, blocking, pair, value, compare }
    }
}

/// Logs the transfer, and says what a plan wants to become of it.
fn transfer(call: &Call, transfer: Transfer) -> Decision {
    let Transfer { action, pe, there, here, count, elements, context: handle, blocking, .. } = transfer;
    if count == 0 || pe < 0 {
        return Decision::Now;
    }
    if let (Some(value), true) = (transfer.value, call.with(|state, _| state.me.0 == pe as u32) == Some(true)) {
        initial::stored(there.0, &value.to_le_bytes()[..elements.size.min(8) as usize]);
    }
    let buffer = (here.0 != 0).then(|| Buffer { address: here.0, pieces: vec![elements.piece(count, here.1)] });
    let (reads, writes) = match (action.returns(), buffer) {
        (true, buffer) => (Vec::new(), buffer),
        (false, buffer) => (buffer.into_iter().collect(), None),
    };
    if !transfer.blocking {
        reads.iter().chain(&writes).for_each(local::pending);
    }
    let through = Through::Context {
        context: context(transfer.context),
        blocking: transfer.blocking,
        domain: domain(transfer.context),
        pair: transfer.pair,
    };
    let operation = Operation {
        action,
        target: Rank(pe as u32),
        place: symmetric(there.0),
        pieces: vec![elements.piece(count, there.1)],
        reads,
        writes,
        through,
        value: transfer.value,
        compare: transfer.compare,
    };
    call.log(Event::Operation(Box::new(operation)));
    if !steer::active() {
        return Decision::Now;
    }
    let Some(site) = call.with(|state, pc| state.site(pc)) else { return Decision::Now };
    let size = u64::from(elements.size);
    let fills = (action.returns() && here.0 != 0 && here.1 == 1 && there.1 == 1).then_some((here.0, count * size));
    // Neighbours are one element.
    let dense = here.1 == 1 && there.1 == 1;
    let (size, count) = if dense { (size * count, 1) } else { (size, count) };
    let distances = (here.1 * i64::from(elements.size), there.1 * i64::from(elements.size));
    let source = (!action.returns() && here.0 != 0).then_some(steer::Elements { from: here.0, distances, size, count });
    steer::shmem_operation(site, (action, blocking, handle), source, fills, (there.0, pe))
}

/// The value that a single element holds, as a wait would compare it.
///
/// # Safety
/// Memory of the program.
unsafe fn element(address: u64, elements: Elements, count: u64) -> Option<u64> {
    if count != 1 || address == 0 {
        return None;
    }
    // SAFETY: as the caller says.
    unsafe {
        Some(match elements.size {
            1 => i64::from((address as *const i8).read_unaligned()) as u64,
            2 => i64::from((address as *const i16).read_unaligned()) as u64,
            4 => i64::from((address as *const i32).read_unaligned()) as u64,
            8 => (address as *const u64).read_unaligned(),
            _ => return None,
        })
    }
}

/// An atomic operation that changes memory of another rank.
fn atomic(
    call: &Call,
    action: Action,
    context: usize,
    there: u64,
    elements: Elements,
    value: u64,
    pe: i32,
) -> Decision {
    let value = Some(value).filter(|_| action.writes());
    let one = Transfer::one(action, pe, (there, 1), (0, 1), elements, context);
    transfer(call, Transfer { value, ..one })
}

/// A compare-and-swap: what it compares with, and what it writes then.
fn compare_and_swap(
    call: &Call,
    context: usize,
    there: u64,
    elements: Elements,
    (old, new): (u64, u64),
    pe: i32,
) -> Decision {
    let action = Action::Fetch(Operator::CompareAndSwap);
    let one = Transfer::one(action, pe, (there, 1), (0, 1), elements, context);
    transfer(call, Transfer { value: Some(new), compare: Some(old), ..one })
}

/// What an atomic operation brought back.
fn returned(call: &Call, there: u64, pe: i32, value: u64) {
    call.log(Event::Returned { owner: Rank(pe as u32), place: symmetric(there), value });
}

/// A wait or test that was satisfied.
fn waited(call: &Call, address: u64, elements: Elements, comparison: i32, wanted: i64) {
    let comparison = match comparison {
        0 => Comparison::Equal,
        1 => Comparison::NotEqual,
        2 => Comparison::Greater,
        3 => Comparison::LessOrEqual,
        4 => Comparison::Less,
        _ => Comparison::GreaterOrEqual,
    };
    // A condition that holds without any other rank orders nothing (R17).
    let initially = comparison.holds(initial::value(address, elements.size), wanted);
    call.log(Event::Waiting {
        place: symmetric(address),
        len: elements.size,
        datatype: Datatype(elements.datatype),
        comparison,
        wanted,
        initially,
    });
}

/// SHMEM is there: symmetric memory is a window of everybody.
fn begin() {
    super::with(|state| {
        let accumulates = Accumulates::default();
        state.log(0, Event::WindowMade { window: Window::SYMMETRIC, base: 0, unit: 1, accumulates });
    });
    watch_statics();
    initial::begin();
}

/// Global variables of the program are symmetric too.
fn watch_statics() {
    let me = super::with(|state| state.me).unwrap_or(Rank(0));
    let mut found: Vec<(u64, u64)> = Vec::new();
    unsafe extern "C" fn segment(info: *mut libc::dl_phdr_info, _: usize, found: *mut libc::c_void) -> i32 {
        // SAFETY: the loader's list; `found` is ours.
        unsafe {
            let (info, found) = (&*info, &mut *found.cast::<Vec<(u64, u64)>>());
            for number in 0..usize::from(info.dlpi_phnum) {
                let header = &*info.dlpi_phdr.add(number);
                if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0 {
                    found.push((info.dlpi_addr + header.p_vaddr, header.p_memsz));
                }
            }
        }
        // The program itself comes first.
        1
    }
    // SAFETY: the callback only reads the list.
    unsafe { libc::dl_iterate_phdr(Some(segment), (&raw mut found).cast()) };
    for (start, size) in found {
        local::watch(start, size, me, Window::SYMMETRIC);
        initial::remember(start, size);
    }
}

/// Operators of the names of atomic operations.
const ADD: Operator = Operator::Sum;
