//! Random small programs, as the logs that one of their runs leaves.
//!
//! A program is made by running it: a rank is chosen, and does something that it can do in the state
//! in which all ranks are. So every log is one that a run could have left.

mod mpi;
mod shmem;

use crate::event::{
    Accumulates, Action, Buffer, Collective, Event, Flow, Logged, Logs, Operation, Operator, Piece, Place, Through,
};
use crate::ids::{Communicator, Datatype, Object, Rank, Request, Site, Window};

use super::Random;

const WORLD: Communicator = Communicator(0);
const INT: Datatype = Datatype(1);
const LONG: Datatype = Datatype(2);
/// Bytes of a window; its cells have 4.
const CELLS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    Mpi,
    Shmem,
}

#[derive(Clone, Default)]
struct RankState {
    locks: Vec<(Window, Rank)>,
    all: Vec<Window>,
    started: Option<(Window, Vec<Rank>)>,
    posted: Option<(Window, Vec<Rank>, usize)>,
    /// Requests of operations and buffers that are under way.
    requests: Vec<Request>,
    words: Vec<u64>,
    mutexes: Vec<(u32, Object)>,
    /// Collectives that were entered and not left.
    inside: Vec<Collective>,
    /// Synchronous sends that were not seen to be taken.
    synchronous: Vec<(Request, usize)>,
}

struct Message {
    from: usize,
    to: usize,
    tag: i32,
    taken: bool,
}

struct Receive {
    rank: usize,
    request: Request,
    from: Option<Rank>,
    tag: Option<i32>,
    got: Option<usize>,
    done: bool,
}

struct Maker {
    random: Random,
    style: Style,
    ranks: usize,
    logs: Logs,
    states: Vec<RankState>,
    messages: Vec<Message>,
    receives: Vec<Receive>,
    /// By (origin, target) of the epochs that were completed and not waited for.
    completed: Vec<(Window, usize, usize)>,
    writes: Vec<(usize, Place, u64)>,
    collectives: u32,
    /// Puts with signals.
    pairs: u32,
    names: u64,
    two_strands: bool,
}

/// The logs of a random program of that many ranks and about that many events.
pub fn program(seed: u64, style: Style, ranks: usize, events: usize) -> Logs {
    let mut random = Random::new(seed);
    let two_strands = random.percent(25);
    let mut maker = Maker {
        random,
        style,
        ranks,
        logs: vec![Vec::new(); ranks],
        states: vec![RankState::default(); ranks],
        messages: Vec::new(),
        receives: Vec::new(),
        completed: Vec::new(),
        writes: Vec::new(),
        collectives: 0,
        pairs: 0,
        names: 0,
        two_strands,
    };
    maker.windows();
    let goal = maker.logs.iter().map(Vec::len).sum::<usize>() + events;
    let mut tries = 0;
    while maker.logs.iter().map(Vec::len).sum::<usize>() < goal && tries < 50 * events {
        tries += 1;
        match style {
            Style::Mpi => maker.mpi_step(),
            Style::Shmem => maker.shmem_step(),
        }
    }
    maker.logs
}

impl Maker {
    fn name(&mut self) -> u64 {
        self.names += 1;
        self.names
    }

    fn log(&mut self, rank: usize, strand: u32, event: Event) {
        let site = Site(self.name());
        self.logs[rank].push(Logged { strand, site, event });
    }

    fn windows(&mut self) {
        let accumulates = Accumulates { ordered: !self.random.percent(15), same_operator: self.random.percent(10) };
        let window = if self.style == Style::Shmem { Window::SYMMETRIC } else { Window(0) };
        for rank in 0..self.ranks {
            let (base, unit) = (0x1000, if self.style == Style::Shmem { 1 } else { 4 });
            self.log(rank, 0, Event::WindowMade { window, base, unit, accumulates });
        }
    }

    fn window(&self) -> Window {
        if self.style == Style::Shmem { Window::SYMMETRIC } else { Window(0) }
    }

    fn cell(&mut self) -> Place {
        let cell = self.random.below(CELLS) as i64;
        match self.style {
            Style::Mpi => Place::Window { window: Window(0), units: cell, bytes: 0 },
            Style::Shmem => Place::Window { window: Window::SYMMETRIC, units: 4 * cell, bytes: 0 },
        }
    }

    fn rank(&mut self) -> usize {
        self.random.below(self.ranks)
    }

    fn strand(&mut self, rank: usize) -> u32 {
        u32::from(self.two_strands && rank == 0 && self.random.percent(40))
    }

    /// A buffer of the rank: private memory, or its own part of the window.
    fn buffer(&mut self) -> Buffer {
        let cell = self.random.below(2) as u64;
        let address = if self.random.percent(30) { 0x1000 + 4 * cell } else { 0x2000 + 4 * cell };
        Buffer { address, pieces: vec![one(INT, 4)] }
    }

    fn local(&mut self, rank: usize) {
        let strand = self.strand(rank);
        let write = self.random.percent(50);
        let len = 4;
        let event = if self.random.percent(35) {
            let address = 0x2000 + 4 * self.random.below(2) as u64;
            Event::Local { owner: Rank(rank as u32), place: Place::Address(address), len, write }
        } else {
            let place = self.cell();
            // Now and then memory of another rank: a shared window, shmem_ptr.
            let owner = if self.random.percent(10) { self.rank() } else { rank };
            Event::Local { owner: Rank(owner as u32), place, len, write }
        };
        self.log(rank, strand, event);
    }

    fn action(&mut self) -> Action {
        let operators = [
            Operator::Sum,
            Operator::Sum,
            Operator::Replace,
            Operator::NoOp,
            Operator::Maximum,
            Operator::CompareAndSwap,
        ];
        match self.random.below(6) {
            0 | 1 => Action::Put,
            2 => Action::Get,
            3 => Action::Accumulate(*self.random.pick(&operators[..3])),
            _ => Action::Fetch(*self.random.pick(&operators)),
        }
    }

    fn operation(&mut self, rank: usize, target: usize, through: Through) {
        let strand = self.strand(rank);
        let action = self.action();
        let piece = match self.random.below(10) {
            0 => Piece { offset: 0, len: 4, stride: 8, count: 2, datatype: INT, element: 4 },
            1 => Piece { offset: 4, len: 4, stride: -4, count: 2, datatype: INT, element: 4 },
            2 => Piece { offset: 0, len: 8, stride: 0, count: 1, datatype: LONG, element: 8 },
            3 if matches!(through, Through::Window { .. }) => Piece { offset: 2, ..one(INT, 4) },
            _ => one(INT, 4),
        };
        let reads = if matches!(action, Action::Get | Action::Fetch(Operator::NoOp)) {
            Vec::new()
        } else {
            vec![self.buffer()]
        };
        let writes = action.returns().then(|| self.buffer());
        let place = self.cell();
        let value = (piece == one(INT, 4)).then(|| 1 + self.random.below(3) as u64);
        if let (Some(value), true) = (value, action.writes()) {
            self.writes.push((target, place, value));
        }
        let target = Rank(target as u32);
        let operation =
            Operation { action, target, place, pieces: vec![piece], reads, writes, through, value, compare: None };
        self.log(rank, strand, Event::Operation(Box::new(operation)));
    }

    /// What threads of a rank do to each other.
    fn threads(&mut self, rank: usize) {
        if !self.two_strands || rank != 0 {
            return;
        }
        let strand = self.strand(rank);
        let object = Object(1);
        match self.random.below(4) {
            0 => self.log(rank, strand, Event::Release { object }),
            1 => self.log(rank, strand, Event::Acquire { object }),
            _ => {
                let held = self.states[rank].mutexes.iter().position(|(holder, _)| *holder == strand);
                if let Some(held) = held {
                    self.states[rank].mutexes.remove(held);
                    self.log(rank, strand, Event::MutexUnlock { mutex: object });
                } else if self.states[rank].mutexes.is_empty() {
                    self.states[rank].mutexes.push((strand, object));
                    self.log(rank, strand, Event::MutexLock { mutex: object });
                }
            }
        }
    }

    fn collective(&mut self) {
        if self.states.iter().any(|state| !state.inside.is_empty()) {
            return;
        }
        let collective = Collective { communicator: WORLD, number: self.collectives };
        self.collectives += 1;
        let root = Rank(self.rank() as u32);
        let ranks = self.ranks as u32;
        let kind = self.random.below(6);
        for rank in 0..self.ranks {
            let this = Rank(rank as u32);
            let others =
                |keep: &dyn Fn(u32) -> bool| (0..ranks).filter(|&other| keep(other)).map(Rank).collect::<Vec<_>>();
            let flow = match kind {
                0..=2 => Flow::All { contributors: ranks },
                3 => Flow::FromRoot { root },
                4 => Flow::ToRoot { root, contributors: ranks },
                _ if root.0 == 0 => Flow::Prefix { before: others(&|other| other < this.0) },
                // Each has something for the next one only.
                _ => {
                    Flow::Pairs { to: vec![Rank((this.0 + 1) % ranks)], from: vec![Rank((this.0 + ranks - 1) % ranks)] }
                }
            };
            if self.random.percent(20) {
                let buffer = self.buffer();
                let write = self.random.percent(50);
                self.log(rank, 0, Event::Buffer { buffer, write, request: None });
            }
            self.log(rank, 0, Event::Enter { collective, flow, contributes: true });
            self.states[rank].inside.push(collective);
        }
    }

    /// Leaves a collective: blocking calls leave at once, others do something first.
    fn leave(&mut self, rank: usize) {
        if let Some(collective) = self.states[rank].inside.pop() {
            self.log(rank, 0, Event::Exit { collective });
        }
    }

    fn send(&mut self, rank: usize) {
        let to = self.rank();
        let tag = self.random.below(2) as i32;
        let synchronous = self.random.percent(30).then(|| Request(self.name()));
        if let Some(request) = synchronous {
            self.states[rank].synchronous.push((request, self.messages.len()));
        }
        self.messages.push(Message { from: rank, to, tag, taken: false });
        let buffer = self.buffer();
        self.log(rank, 0, Event::Buffer { buffer, write: false, request: None });
        self.log(rank, 0, Event::Send { communicator: WORLD, to: Rank(to as u32), tag, synchronous });
        self.match_messages();
    }

    fn post_receive(&mut self, rank: usize) {
        let request = Request(self.name());
        let from = (!self.random.percent(20)).then(|| Rank(self.rank() as u32));
        let tag = (!self.random.percent(20)).then(|| self.random.below(2) as i32);
        self.receives.push(Receive { rank, request, from, tag, got: None, done: false });
        self.log(rank, 0, Event::Posted { communicator: WORLD, request, from, tag });
        let buffer = self.buffer();
        self.log(rank, 0, Event::Buffer { buffer, write: true, request: Some(request) });
        self.match_messages();
    }

    /// Receives take messages in the order in which they were posted, each the first that fits.
    fn match_messages(&mut self) {
        for receive in self.receives.iter_mut().filter(|receive| receive.got.is_none()) {
            let fits = |message: &Message| {
                !message.taken
                    && message.to == receive.rank
                    && receive.from.is_none_or(|from| from.0 as usize == message.from)
                    && receive.tag.is_none_or(|tag| tag == message.tag)
            };
            if let Some(number) = self.messages.iter().position(fits) {
                self.messages[number].taken = true;
                receive.got = Some(number);
            }
        }
    }

    fn finish_receive(&mut self, rank: usize) {
        let ready: Vec<usize> = (0..self.receives.len())
            .filter(|&number| {
                let receive = &self.receives[number];
                receive.rank == rank && receive.got.is_some() && !receive.done
            })
            .collect();
        if ready.is_empty() {
            return;
        }
        let number = *self.random.pick(&ready);
        let receive = &mut self.receives[number];
        receive.done = true;
        let (request, message) = (receive.request, &self.messages[receive.got.unwrap_or(0)]);
        let (from, tag) = (Rank(message.from as u32), message.tag);
        self.log(rank, 0, Event::Received { request, from, tag });
        self.log(rank, 0, Event::RequestDone { request });
    }

    fn finish_send(&mut self, rank: usize) {
        let messages = &self.messages;
        let taken = self.states[rank].synchronous.iter().position(|(_, number)| messages[*number].taken);
        if let Some(taken) = taken {
            let (request, _) = self.states[rank].synchronous.remove(taken);
            self.log(rank, 0, Event::Taken { request });
        }
    }

    fn order_step(&mut self, rank: usize) {
        match self.random.below(7) {
            0 => self.send(rank),
            1 => self.post_receive(rank),
            2 | 3 => self.finish_receive(rank),
            4 => self.finish_send(rank),
            5 => self.collective(),
            _ => self.leave(rank),
        }
    }
}

fn one(datatype: Datatype, size: u32) -> Piece {
    Piece { offset: 0, len: u64::from(size), stride: 0, count: 1, datatype, element: size }
}
