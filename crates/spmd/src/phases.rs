//! The analysis while the program runs: gather, distribute, compute (chapter 7.1 of the paper).
//!
//! Each rank keeps what it did in a *phase*, the time between two boundaries (collectives that
//! everybody waits for). At a boundary it sends each owner the accesses to that owner's memory. The
//! owner judges them, at the next boundary, when they have arrived (software pipelining, chapter 7.2).
//! Two accesses of different phases are apart; an access that is under way across a boundary belongs
//! to both phases. There is no central rank, and no rank keeps more than two phases.
//!
//! Phases and locks decide nearly everything. Only where they leave a candidate are the
//! synchronization logs of the phase exchanged and the order computed from them.
//!
//! Deviation from Definition 4.1: it compares an access with the neighbouring phases of a split-phase
//! barrier by arithmetic on phase numbers. Here nonblocking collectives are no boundaries but ordinary
//! edges of the order, which is exact.
//!
//! Not exact: strands of a rank that are neither joined before a boundary nor forked after it. What
//! they did around it is judged in one phase only; the whole log ([`crate::offline`]) shows more.

use crate::access::{Access, End};
use crate::event::Logged;
use crate::ids::Rank;
use crate::look::Owners;
use crate::lower::{Lowered, Lowering, carry};
use crate::order::{Order, Sync};
use crate::owner::{self, Findings, Placed};
use crate::rules::Known;
use crate::values::{self, Seen, Written};
use crate::wire::{Wire, decode, encode};

/// How ranks reach each other. Every rank calls each of these in the same order.
pub trait Transport {
    /// Sends packets, and waits until everybody has entered: it replaces the program's barrier. Does any rank say yes?
    fn distribute(&mut self, packets: Vec<(Rank, Vec<u8>)>, yes: bool) -> bool;
    /// What the others sent at the last [`Transport::distribute`].
    fn arrived(&mut self) -> Vec<Vec<u8>>;
    /// Does any rank say yes?
    fn any(&mut self, yes: bool) -> bool;
    /// Gives everybody the bytes of everybody.
    fn share(&mut self, bytes: Vec<u8>) -> Vec<Vec<u8>>;
}

/// What was left out, and how much there was.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    pub phases: u64,
    /// Phases that needed the order of events.
    pub ordered: u64,
    pub accesses: u64,
    /// Accesses that did not fit.
    pub dropped: u64,
    pub bytes_sent: u64,
}

/// A phase that is over for this rank.
struct Closed {
    own: Lowered,
    foreign: Vec<Access>,
}

/// One rank's half of the analysis.
pub struct Analyst {
    rank: Rank,
    lowering: Lowering,
    closed: Option<Closed>,
    /// Accesses to this rank's memory that an event of its own will end (R4).
    carried: Vec<Access>,
    /// Entries of one phase that are kept; each takes about 150 bytes.
    limit: usize,
    in_phase: usize,
    /// Whose memory is looked at.
    owners: Owners,
    pub counts: Counts,
}

impl Analyst {
    pub fn new(rank: Rank, limit: usize) -> Analyst {
        Analyst {
            rank,
            lowering: Lowering::new(rank),
            closed: None,
            carried: Vec::new(),
            limit,
            in_phase: 0,
            owners: Owners::default(),
            counts: Counts::default(),
        }
    }

    /// Only accesses to the memory of these are judged, and told.
    pub fn of_owners(self, owners: Owners) -> Analyst {
        Analyst { owners, ..self }
    }

    /// Takes the next event of this rank. Loads and stores that do not fit are dropped and counted;
    /// everything else is kept, because order rests on it.
    pub fn take(&mut self, logged: &Logged) {
        self.in_phase += 1;
        if self.in_phase > self.limit && matches!(logged.event, crate::event::Event::Local { .. }) {
            self.counts.dropped += 1;
            return;
        }
        self.lowering.take(logged);
    }

    /// Ends the phase: packets for the owners of what this rank accessed. The boundary's entering has
    /// been taken, its leaving not.
    pub fn close(&mut self) -> Vec<(Rank, Vec<u8>)> {
        let mut own = self.lowering.cut();
        self.in_phase = 0;
        self.counts.phases += 1;
        self.counts.accesses += own.accesses.len() as u64;
        let accesses = std::mem::take(&mut own.accesses);
        let mut packets: std::collections::BTreeMap<Rank, Vec<u8>> = std::collections::BTreeMap::new();
        for access in accesses.into_iter().filter(|access| self.owners.has(access.owner.0)) {
            if access.owner == self.rank {
                own.accesses.push(access);
            } else {
                access.put(packets.entry(access.owner).or_default());
            }
        }
        self.counts.bytes_sent += packets.values().map(|packet| packet.len() as u64).sum::<u64>();
        self.closed = Some(Closed { own, foreign: std::mem::take(&mut self.carried) });
        packets.into_iter().collect()
    }

    /// A packet of another rank, for the phase that was closed last.
    pub fn receive(&mut self, packet: &[u8]) {
        if let Some(closed) = &mut self.closed {
            closed.foreign.extend(decode::<Access>(packet));
        }
    }

    fn placed<'a>(&self, closed: &'a Closed) -> Vec<Placed<'a>> {
        let all = closed.own.accesses.iter().chain(&closed.foreign);
        all.filter_map(|access| Some((owner::span(&self.lowering, access)?, access))).collect()
    }

    /// Is there a pair that only the order of events could keep apart?
    pub fn needs_order(&self) -> bool {
        let Some(closed) = &self.closed else { return false };
        owner::has_candidate(&mut self.placed(closed), &closed.own.owned)
    }

    /// This rank's synchronization in the phase that was closed last.
    pub fn log(&self) -> Vec<u8> {
        self.closed.as_ref().map(Analyst::log_of).unwrap_or_default()
    }

    fn log_of(closed: &Closed) -> Vec<u8> {
        let mut out = Vec::new();
        closed.own.syncs.put(&mut out);
        closed.own.written.put(&mut out);
        closed.own.seen.put(&mut out);
        out
    }

    /// Judges the phase that was closed last, with everybody's logs.
    pub fn judge(&mut self, logs: &[Vec<u8>]) -> Findings {
        self.counts.ordered += 1;
        let Some(closed) = &self.closed else { return Findings::default() };
        self.judged(closed, logs)
    }

    fn judged(&self, closed: &Closed, logs: &[Vec<u8>]) -> Findings {
        let (mut syncs, mut written, mut seen) = (Vec::<Sync>::new(), Vec::<Written>::new(), Vec::<Seen>::new());
        for mut log in logs.iter().map(Vec::as_slice) {
            syncs.extend(Vec::get(&mut log).unwrap_or_default());
            written.extend(Vec::get(&mut log).unwrap_or_default());
            seen.extend(Vec::get(&mut log).unwrap_or_default());
        }
        let links = values::links(&Order::new(&syncs), &written, &seen);
        let known = Known::new(&syncs.iter().collect::<Vec<_>>(), links);
        owner::check(&mut self.placed(closed), &known, &closed.own.owned)
    }

    /// The boundary, seen from one rank: judges the phase before, sends the one that ends. One exchange does both: with
    /// what it sends, each rank says whether it needs the order of the phase before.
    pub fn boundary(&mut self, transport: &mut impl Transport) -> Findings {
        for packet in transport.arrived() {
            self.receive(&packet);
        }
        let needs = self.needs_order();
        let before = self.closed.take();
        let packets = self.close();
        let mut findings = Findings::default();
        if transport.distribute(packets, needs) {
            let logs = transport.share(before.as_ref().map(Analyst::log_of).unwrap_or_default());
            self.counts.ordered += 1;
            findings = before.as_ref().map(|closed| self.judged(closed, &logs)).unwrap_or_default();
        }
        let carried = before.map(Analyst::unfinished).unwrap_or_default();
        if let Some(closed) = &mut self.closed {
            closed.foreign.extend(carried);
        }
        findings
    }

    /// Judges what has not been judged, at the end.
    pub fn settle(&mut self, transport: &mut impl Transport) -> Findings {
        for packet in transport.arrived() {
            self.receive(&packet);
        }
        let findings = if transport.any(self.needs_order()) {
            let logs = transport.share(self.log());
            self.judge(&logs)
        } else {
            Findings::default()
        };
        self.retire();
        findings
    }

    /// Forgets the phase that was closed last, but for what is still under way.
    fn retire(&mut self) {
        let unfinished = self.closed.take().map(Analyst::unfinished);
        self.carried.extend(unfinished.into_iter().flatten());
    }

    /// Accesses that an event of this rank will end in a later phase.
    fn unfinished(closed: Closed) -> Vec<Access> {
        let owned = closed.own.owned;
        let all = closed.own.accesses.into_iter().chain(closed.foreign);
        let open =
            |access: &Access| matches!(access.end_by_the_letter, End::Owners(event) if !owned.contains_key(&event));
        let mut unfinished: Vec<Access> = all.filter(open).collect();
        unfinished.iter_mut().for_each(carry);
        unfinished
    }
}

/// The packets that were sent in one phase by all, for ranks that live in one process: what the tests
/// and the measurements of scale use instead of a network.
#[derive(Default)]
pub struct Post {
    boxes: std::collections::BTreeMap<Rank, Vec<Vec<u8>>>,
}

impl Post {
    /// Ends the phase of all ranks and judges it.
    pub fn boundary(&mut self, analysts: &mut [Analyst]) -> Vec<Findings> {
        for analyst in analysts.iter_mut() {
            for (to, packet) in analyst.close() {
                self.boxes.entry(to).or_default().push(packet);
            }
        }
        for analyst in analysts.iter_mut() {
            for packet in self.boxes.remove(&analyst.rank).unwrap_or_default() {
                analyst.receive(&packet);
            }
        }
        let mut findings = Vec::new();
        if analysts.iter().any(Analyst::needs_order) {
            let logs: Vec<Vec<u8>> = analysts.iter().map(Analyst::log).collect();
            findings.extend(analysts.iter_mut().map(|analyst| analyst.judge(&logs)));
        }
        analysts.iter_mut().for_each(Analyst::retire);
        findings
    }
}

/// The log of a rank, as bytes.
pub fn pack(log: &[Logged]) -> Vec<u8> {
    encode(log)
}
