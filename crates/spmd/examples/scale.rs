//! How the analysis while the program runs grows with the number of ranks (`cargo xtask bench ranks`).
//!
//! Virtual ranks, two phases each, with packets in memory in place of a network: what one rank sends in a phase, and what
//! its owner's work takes. The second table is a model of a phase on a cluster, made from the first and two assumed
//! numbers; nothing in it was measured on one.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use reweave_spmd::event::{
    Accumulates, Action, Buffer, Collective, Event, Flow, Logged, Operation, Piece, Place, Through,
};
use reweave_spmd::ids::{Communicator, Datatype, Rank, Site, Window};
use reweave_spmd::phases::{Analyst, Transport};

const WINDOW: Window = Window(1);
/// Bytes of a rank's part of the window.
const PART: usize = 1 << 20;
/// Entries of a phase that are kept.
const LIMIT: usize = 1 << 20;
/// Bytes that a halo has, and a block of the transpose.
const HALO: u64 = 512;
const BLOCK: u64 = 32;
/// Puts of a rank to places by chance.
const UPDATES: usize = 512;
/// Assumed for the model: a message takes that long, and a second carries that many bytes.
const LATENCY: f64 = 2e-6;
const BANDWIDTH: f64 = 10e9;

#[derive(Clone, Copy, Debug)]
enum Pattern {
    Stencil,
    Transpose,
    Random,
}

/// Packets that are under way, by whom they go to.
type Boxes = Rc<RefCell<BTreeMap<Rank, Vec<Vec<u8>>>>>;

/// One virtual rank's way to the others.
struct Memory {
    me: Rank,
    boxes: Boxes,
    logs: Rc<Vec<Vec<u8>>>,
    peers: usize,
}

impl Transport for Memory {
    fn distribute(&mut self, packets: Vec<(Rank, Vec<u8>)>, yes: bool) -> bool {
        self.peers = packets.len();
        let mut boxes = self.boxes.borrow_mut();
        for (to, packet) in packets {
            boxes.entry(to).or_default().push(packet);
        }
        yes
    }

    fn arrived(&mut self) -> Vec<Vec<u8>> {
        self.boxes.borrow_mut().remove(&self.me).unwrap_or_default()
    }

    fn any(&mut self, yes: bool) -> bool {
        yes
    }

    fn share(&mut self, _: Vec<u8>) -> Vec<Vec<u8>> {
        self.logs.to_vec()
    }
}

fn block(offset: i64, len: u64) -> Piece {
    Piece { offset, len, stride: 0, count: 1, datatype: Datatype::named(b"MPI_DOUBLE"), element: 8 }
}

fn put(site: u64, target: usize, there: usize, here: u64, len: u64) -> Logged {
    let operation = Operation {
        action: Action::Put,
        target: Rank(target as u32),
        place: Place::Window { window: WINDOW, units: there as i64, bytes: 0 },
        pieces: vec![block(0, len)],
        reads: vec![Buffer { address: here, pieces: vec![block(0, len)] }],
        writes: None,
        through: Through::Window { window: WINDOW, request: None },
        value: None,
        compare: None,
    };
    Logged { strand: 0, site: Site(site), event: Event::Operation(Box::new(operation)) }
}

/// What a rank does between two fences.
fn work(pattern: Pattern, me: usize, ranks: usize, random: &mut u64) -> Vec<Logged> {
    let outside = 1 << 40;
    match pattern {
        Pattern::Stencil => {
            let side = (ranks as f64).sqrt() as usize;
            let (row, column) = (me / side.max(1), me % side.max(1));
            let at = |row: usize, column: usize| (row % side.max(1)) * side.max(1) + column % side.max(1);
            let peers =
                [at(row + 1, column), at(row + side - 1, column), at(row, column + 1), at(row, column + side - 1)];
            let halo = HALO as usize;
            let mut all: Vec<Logged> = (0..4)
                .map(|side| put(10 + side as u64, peers[side] % ranks, side * halo, outside + side as u64 * HALO, HALO))
                .collect();
            // Its own part, where no halo goes.
            let inside = Place::Address((1 << 30) + 4 * HALO);
            let load = Event::Local { owner: Rank(me as u32), place: inside, len: 64 << 10, write: true };
            all.push(Logged { strand: 0, site: Site(20), event: load });
            all
        }
        Pattern::Transpose => (0..ranks)
            .filter(|to| *to != me)
            .map(|to| put(11, to, me * BLOCK as usize, outside + to as u64 * BLOCK, BLOCK))
            .collect(),
        Pattern::Random => (0..UPDATES)
            .map(|number| {
                *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let word = *random >> 20;
                let (to, there) = (word as usize % ranks, (word as usize / ranks) % (PART / 8) * 8);
                put(12, to, there, outside + number as u64 * 8, 8)
            })
            .collect(),
    }
}

/// What a phase costs one rank.
#[derive(Default)]
struct Cost {
    bytes: u64,
    peers: usize,
    gather: Duration,
    owner: Duration,
    ordered: u64,
}

fn measure(pattern: Pattern, ranks: usize) -> Cost {
    let boxes = Boxes::default();
    let mut random = ranks as u64;
    let mut analysts: Vec<Analyst> = (0..ranks).map(|rank| Analyst::new(Rank(rank as u32), LIMIT)).collect();
    let world = Communicator(0);
    for analyst in &mut analysts {
        let made = Event::WindowMade { window: WINDOW, base: 1 << 30, unit: 1, accumulates: Accumulates::default() };
        analyst.take(&Logged { strand: 0, site: Site(1), event: made });
    }
    let mut cost = Cost::default();
    let mut logs = Rc::new(Vec::new());
    // The second phase is the one that counts: the first finds nothing to judge.
    for phase in 1..=2 {
        cost = Cost::default();
        for (me, analyst) in analysts.iter_mut().enumerate() {
            let boundary = Collective { communicator: world, number: phase };
            let flow = Flow::All { contributors: ranks as u32 };
            let fence = Event::Fence { window: WINDOW, no_precede: false, members: ranks as u32 };
            let mut all = work(pattern, me, ranks, &mut random);
            all.push(Logged { strand: 0, site: Site(2), event: fence });
            all.push(Logged {
                strand: 0,
                site: Site(3),
                event: Event::Enter { collective: boundary, flow, contributes: true },
            });
            let began = Instant::now();
            all.iter().for_each(|logged| analyst.take(logged));
            cost.gather += began.elapsed();
        }
        let before: Vec<u64> = analysts.iter().map(|analyst| analyst.counts.bytes_sent).collect();
        let old = boxes.replace(BTreeMap::new());
        let arrived = Rc::new(RefCell::new(old));
        for (me, analyst) in analysts.iter_mut().enumerate() {
            let mut there = Memory { me: Rank(me as u32), boxes: arrived.clone(), logs: logs.clone(), peers: 0 };
            let began = Instant::now();
            analyst.settle(&mut there);
            cost.owner += began.elapsed();
        }
        for (me, analyst) in analysts.iter_mut().enumerate() {
            let mut there = Memory { me: Rank(me as u32), boxes: boxes.clone(), logs: logs.clone(), peers: 0 };
            let began = Instant::now();
            let packets = analyst.close();
            there.distribute(packets, false);
            cost.gather += began.elapsed();
            cost.peers = cost.peers.max(there.peers);
        }
        logs = Rc::new(analysts.iter().map(Analyst::log).collect());
        let sent = analysts.iter().zip(before).map(|(analyst, before)| analyst.counts.bytes_sent - before);
        cost.bytes = sent.max().unwrap_or(0);
        cost.ordered = analysts.iter().filter(|analyst| analyst.counts.ordered > 0).count() as u64;
    }
    cost
}

fn main() {
    let largest = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(4096usize);
    println!("One phase of one rank (virtual ranks, packets in memory; times are means over ranks)\n");
    println!(
        "{:<10} {:>6} {:>8} {:>11} {:>11} {:>11} {:>8}",
        "pattern", "ranks", "peers", "bytes sent", "gather us", "owner us", "ordered"
    );
    let mut model = Vec::new();
    for pattern in [Pattern::Stencil, Pattern::Transpose, Pattern::Random] {
        let mut ranks = 4;
        while ranks <= largest {
            let cost = measure(pattern, ranks);
            let each = |time: Duration| time.as_secs_f64() * 1e6 / ranks as f64;
            let (gather, owner) = (each(cost.gather), each(cost.owner));
            println!(
                "{:<10} {ranks:>6} {:>8} {:>11} {gather:>11.1} {owner:>11.1} {:>8}",
                format!("{pattern:?}").to_lowercase(),
                cost.peers,
                cost.bytes,
                cost.ordered
            );
            let network = LATENCY * (cost.peers as f64 + (ranks as f64).log2()) + cost.bytes as f64 / BANDWIDTH;
            model.push((pattern, ranks, network * 1e6, gather + owner));
            ranks *= 4;
        }
    }
    println!(
        "\nA MODEL, not a measurement: the same on a cluster, if a message takes {:.0} us and a second carries {:.0} GB",
        LATENCY * 1e6,
        BANDWIDTH / 1e9
    );
    println!("{:<10} {:>6} {:>14} {:>14}", "pattern", "ranks", "network us", "own work us");
    for (pattern, ranks, network, own) in model {
        println!("{:<10} {ranks:>6} {network:>14.1} {own:>14.1}", format!("{pattern:?}").to_lowercase());
    }
}
