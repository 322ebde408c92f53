//! From a rank's log to accesses and synchronization, without asking another rank.
//!
//! Implements the columns *starts*, *over locally* and *over at the target* of R1 to R6, R12, R15,
//! R16, R20, and who brings and awaits what for R3, R4, R13, R14, R21. Memory follows what is under
//! way, not what was done: [`Lowering::cut`] hands out what is finished.
//!
//! Deviation from the paper (UPC-Thrille): there an access happens where it stands. Here it lasts until
//! the call that completes it, and the call may be another rank's.

mod completion;
mod epochs;
mod messages;
mod threads;

use std::collections::{BTreeMap, HashMap};

use crate::access::{Access, Atomic, ContextOrder, Domain, End, Held, LockName, OwnersEvent, Role};
use crate::event::{Accumulates, Action, Event, Logged, Operation, Operator, Piece, Place, Through};
use crate::ids::{Context, Moment, Rank, Request, Site, Strand, Window};
use crate::order::Sync;
use crate::values::{Seen, Written};

use completion::Open;
pub use completion::carry;
use epochs::WindowState;
use messages::Messages;
use threads::Threads;

/// What a rank knows about a stretch of its run.
#[derive(Clone, Default, Debug)]
pub struct Lowered {
    /// Accesses that were under way in the stretch; those that are not over end with [`End::Open`].
    pub accesses: Vec<Access>,
    pub syncs: Vec<Sync>,
    /// When this rank did what others refer to.
    pub owned: HashMap<OwnersEvent, Moment>,
    pub written: Vec<Written>,
    pub seen: Vec<Seen>,
}

/// Where this rank's part of a window lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    pub base: u64,
    pub unit: u32,
}

/// The state that a rank's log leads to.
pub struct Lowering {
    rank: Rank,
    threads: Threads,
    windows: HashMap<Window, WindowState>,
    /// Locks on windows: `None` is every target. Epochs belong to the rank, not to a strand.
    held: BTreeMap<(Window, Option<Rank>), bool>,
    words: Vec<u64>,
    context_epochs: HashMap<Context, u32>,
    open: Vec<Open>,
    messages: Messages,
    out: Lowered,
}

impl Lowering {
    pub fn new(rank: Rank) -> Lowering {
        Lowering {
            rank,
            threads: Threads::new(rank),
            windows: HashMap::new(),
            held: BTreeMap::new(),
            words: Vec::new(),
            context_epochs: HashMap::new(),
            open: Vec::new(),
            messages: Messages::default(),
            out: Lowered::default(),
        }
    }

    /// Where this rank's part of the window lies.
    pub fn part(&self, window: Window) -> Option<Part> {
        self.windows.get(&window).map(|state| state.part)
    }

    /// Takes the next entry of the log.
    pub fn take(&mut self, logged: &Logged) {
        let Logged { strand, site, event } = logged;
        if let Event::Local { owner, place, len, write } = event {
            self.local(*strand, *site, *owner, *place, *len, *write);
            return;
        }
        let moment = self.threads.step(*strand);
        match event {
            Event::Operation(operation) => self.operation(moment, *site, operation),
            Event::Buffer { buffer, write, request } => {
                let role = if *write { Role::ReceiveBuffer } else { Role::SendBuffer };
                let place = Place::Address(buffer.address);
                let parts: Vec<Access> = (buffer.pieces.iter())
                    .map(|piece| self.access(moment, *site, self.rank, place, piece, role, *write))
                    .collect();
                match request {
                    Some(request) => self.open.push(Open::buffer(moment, *request, parts)),
                    None => self.finished(parts, End::AtStart),
                }
            }
            Event::Gone { place, len } => {
                let piece = Piece { offset: 0, len: *len, stride: 0, count: 1, datatype: UNTYPED, element: 1 };
                let gone = self.access(moment, *site, self.rank, *place, &piece, Role::Free, true);
                self.finished(vec![gone], End::AtStart);
            }
            Event::Waiting { place, len, datatype, comparison, wanted, initially } => {
                let piece =
                    Piece { offset: 0, len: u64::from(*len), stride: 0, count: 1, datatype: *datatype, element: *len };
                let mut wait = self.access(moment, *site, self.rank, *place, &piece, Role::Wait, false);
                wait.atomic = Some(Atomic {
                    domain: Domain::Teams(0),
                    datatype: *datatype,
                    element: *len,
                    operator: Operator::NoOp,
                });
                self.finished(vec![wait], End::AtStart);
                if !initially {
                    self.out.seen.push(Seen::condition(self.rank, *place, moment, *comparison, *wanted));
                }
            }
            Event::Returned { owner, place, value } => {
                self.out.seen.push(Seen::value(*owner, *place, moment, *value));
            }
            Event::SetLock { word } => self.words.push(*word),
            Event::ClearLock { word } => {
                self.quiet(moment, Context::DEFAULT, false);
                self.words.retain(|held| held != word);
                self.lost(LockName::Word(*word), None);
            }
            Event::MutexLock { mutex } => self.threads.lock(*strand, *mutex),
            Event::MutexUnlock { mutex } => {
                self.threads.unlock(*strand, *mutex);
                self.lost(LockName::Mutex(self.rank, mutex.0), Some(moment.strand));
            }
            Event::Release { object } => {
                let sync = self.threads.release(moment, *object);
                self.out.syncs.push(sync);
            }
            Event::Acquire { object } => {
                let sync = self.threads.acquire(moment, *object);
                self.out.syncs.push(sync);
            }
            Event::Quiet { context, barrier } => self.quiet(moment, *context, *barrier),
            Event::ContextFence { context } => *self.context_epochs.entry(*context).or_default() += 1,
            Event::RequestDone { request } => self.request_done(moment, *request),
            Event::Local { .. } => {}
            Event::Send { .. }
            | Event::Taken { .. }
            | Event::Posted { .. }
            | Event::Received { .. }
            | Event::Enter { .. }
            | Event::Exit { .. } => self.message(moment, event),
            _ => self.window(moment, event),
        }
    }

    /// What happened since the last cut. Accesses that are not over are in it, and in the next one.
    pub fn cut(&mut self) -> Lowered {
        let mut out = std::mem::take(&mut self.out);
        out.accesses.extend(self.open.iter().flat_map(|open| open.unfinished().cloned()));
        self.open.iter_mut().for_each(Open::carry);
        out
    }

    fn local(&mut self, strand: u32, site: Site, owner: Rank, place: Place, len: u32, write: bool) {
        let moment = self.threads.between(strand);
        let role = if write { Role::Store } else { Role::Load };
        let piece = Piece { offset: 0, len: u64::from(len), stride: 0, count: 1, datatype: UNTYPED, element: 1 };
        let mut access = self.access(moment, site, owner, place, &piece, role, write);
        // R7: a rank that holds its own lock keeps others away with its loads and stores too.
        access.locks.extend(self.window_locks_at(owner, None));
        access.locks.sort_unstable();
        self.finished(vec![access], End::AtStart);
    }

    fn operation(&mut self, moment: Moment, site: Site, operation: &Operation) {
        let mut near = Vec::new();
        for buffer in &operation.reads {
            let place = Place::Address(buffer.address);
            near.extend(
                (buffer.pieces.iter())
                    .map(|piece| self.access(moment, site, self.rank, place, piece, Role::Origin, false)),
            );
        }
        if let Some(buffer) = &operation.writes {
            let place = Place::Address(buffer.address);
            near.extend(
                (buffer.pieces.iter())
                    .map(|piece| self.access(moment, site, self.rank, place, piece, Role::Result, true)),
            );
        }
        let far = (operation.pieces.iter()).map(|piece| self.far(moment, site, operation, piece)).collect();
        if let (Some(value), true) = (operation.value, operation.action.writes()) {
            self.out.written.push(Written {
                owner: operation.target,
                place: operation.place,
                moment,
                value: match operation.action {
                    Action::Put => Some(value),
                    Action::Accumulate(Operator::Replace) | Action::Fetch(Operator::Replace) => Some(value),
                    _ => None,
                },
                ordered: self.context_order(operation),
                shmem: matches!(operation.through, Through::Context { .. }),
            });
        }
        self.issue(moment, operation, near, far);
    }

    /// The part of an operation that touches the target.
    fn far(&self, moment: Moment, site: Site, operation: &Operation, piece: &Piece) -> Access {
        let role = match operation.action {
            Action::Put => Role::Put,
            Action::Get => Role::Get,
            Action::Accumulate(_) => Role::Accumulate,
            Action::Fetch(_) => Role::Fetch,
        };
        let writes = operation.action.writes();
        let mut far = self.access(moment, site, operation.target, operation.place, piece, role, writes);
        let domain = match operation.through {
            Through::Window { window, .. } => {
                far.locks.extend(self.window_locks_at(operation.target, Some(window)));
                far.locks.sort_unstable();
                far.opened = self.opening(window, operation.target);
                far.accumulates = self.windows.get(&window).map(|state| state.accumulates).unwrap_or_default();
                Domain::Window(window)
            }
            Through::Context { domain, .. } => Domain::Teams(domain),
        };
        far.ordered = self.context_order(operation);
        far.atomic = operation.action.operator().map(|operator| Atomic {
            domain,
            datatype: piece.datatype,
            element: piece.element,
            operator,
        });
        far
    }

    /// R16: what a context's fence orders: puts and accumulates, not what is fetched.
    fn context_order(&self, operation: &Operation) -> Option<ContextOrder> {
        match operation.through {
            Through::Context { context, pair, .. } if !operation.action.returns() => {
                let epoch = self.context_epochs.get(&context).copied().unwrap_or(0);
                Some(ContextOrder { context, epoch, pair })
            }
            _ => None,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "an access has that many properties, and all callers say each")]
    fn access(
        &self,
        moment: Moment,
        site: Site,
        owner: Rank,
        place: Place,
        piece: &Piece,
        role: Role,
        writes: bool,
    ) -> Access {
        // Blocks that walk downwards are told from their lowest one.
        let last = piece.stride * i64::from(piece.count - 1);
        let (offset, stride) =
            if piece.stride < 0 { (piece.offset + last, -piece.stride) } else { (piece.offset, piece.stride) };
        let mut locks = self.threads.mutexes(moment.strand);
        locks.extend(self.words.iter().map(|&word| Held { lock: LockName::Word(word), exclusive: true }));
        locks.sort_unstable();
        Access {
            owner,
            place: place.offset(offset),
            len: piece.len,
            stride,
            count: piece.count,
            role,
            writes,
            atomic: None,
            accumulates: Accumulates::default(),
            locks,
            strand: moment.strand,
            start: moment.at,
            step: 0,
            opened: None,
            end: End::Open,
            end_by_the_letter: End::Open,
            ordered: None,
            site,
        }
    }

    fn finished(&mut self, accesses: Vec<Access>, end: End) {
        self.out.accesses.extend(accesses.into_iter().map(|mut access| {
            access.end = end;
            access.end_by_the_letter = end;
            access
        }));
    }

    fn request_done(&mut self, moment: Moment, request: Request) {
        self.complete(moment, true, false, |open| open.request == Some(request));
    }
}

/// A strand of this rank.
fn strand(rank: Rank, number: u32) -> Strand {
    Strand { rank, number }
}

/// The type of bytes that nobody gave one.
pub const UNTYPED: crate::ids::Datatype = crate::ids::Datatype(0);
