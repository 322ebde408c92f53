//! Analysis while the program runs: the same pairs as from the trace, in whatever pieces the events come; what is over
//! is forgotten without harm; leaving out what weaker accesses stand for loses nothing.

use std::collections::BTreeSet;

use reweave_model::wire;
use reweave_model::{
    AccessFlags, Addr, BlockedOn, EventId, Kind, LockMode, ObjectId, ObjectKind, Op, OpName, Pc, Sighting, StackId,
    ThreadId, Value,
};
use reweave_predict::AnalysisRef;
use reweave_predict::linear::{Access, Bounds, Candidates, Front, Linear, Sync, Thread, Touch, Word, run, run_on};
use reweave_predict::live::{Live, Options};
use reweave_predict::lock_history::HistoryLimits;
use reweave_trace::{Trace, TraceBuilder};

use super::random::{self, ALLOCS, ATOMICS, CHANNELS, JOINS, LOCKS, Random, SHARED};
use super::reference::PcPairs;
use super::{HbRaces, LocksetRaces, found};
use reweave_predict::analyses::{goodlock::Goodlock, lock_history::LockHistoryRaces};

/// Barriers apart: which of them are firm is only known at the end, so that `lockset` lists more without it.
const MIX: u32 = LOCKS | SHARED | ATOMICS | CHANNELS | JOINS | ALLOCS;

fn by_name(name: &str) -> AnalysisRef {
    reweave_predict::find(name).expect("an analysis")
}

fn options(analysis: &'static str, sample: bool) -> Options {
    Options { analyses: vec![by_name(analysis)], sample, check: sample, every_access: false }
}

/// Gives the chunks of a trace to `live`, cut into pieces of random numbers of records.
fn feed(trace: &Trace, live: &mut Live, random: &mut Random) -> Vec<Sighting> {
    let mut told = Vec::new();
    let mut events = trace.events();
    while let Some(chunk) = events.next_chunk() {
        let (mut words, mut first) = (chunk.words, true);
        while !words.is_empty() {
            let mut len = 0;
            for _ in 0..1 + random.below(20) {
                if len < words.len() {
                    len += wire::decode(&words[len..]).expect("a whole record").1;
                }
            }
            let (piece, rest) = words.split_at(len);
            let news = if first { live.chunk(piece, chunk.thread) } else { live.more(piece) };
            told.extend(news.expect("a sound trace"));
            (words, first) = (rest, false);
        }
    }
    told.extend(live.finish());
    told
}

fn pairs(told: &[Sighting]) -> PcPairs {
    let pair = |sighting: &Sighting| {
        let (one, two) = (sighting.accesses[0].pc.0, sighting.accesses[1].pc.0);
        (one.min(two), one.max(two))
    };
    told.iter().map(pair).collect()
}

#[test]
fn the_same_pairs_as_from_the_trace() {
    for seed in 0..600u64 {
        let trace = random::trace(seed, MIX, 10 + seed % 150);
        let random = &mut Random::new(seed);
        let hb = feed(&trace, &mut Live::new(&options("hb", false)), random);
        assert_eq!(pairs(&hb), found(&trace, HbRaces::default()), "hb on seed {seed}");
        let lockset = feed(&trace, &mut Live::new(&options("lockset", false)), random);
        assert_eq!(pairs(&lockset), found(&trace, LocksetRaces::default()), "lockset on seed {seed}");
        // Each pair once, and the first one of happens-before is certain.
        assert_eq!(pairs(&hb).len(), hb.len());
        let certain: Vec<_> = hb.iter().filter(|sighting| sighting.certain).collect();
        let first = hb.iter().map(|sighting| sighting.accesses[1].event).min();
        assert!(
            certain.iter().all(|sighting| Some(sighting.accesses[1].event) == first)
                && certain.is_empty() == hb.is_empty()
        );
    }
}

#[test]
fn pruning_loses_no_pair() {
    let (mut pruned, mut lost, mut all) = (0, 0, 0);
    for seed in 0..400u64 {
        let trace = match seed % 2 {
            0 => random::trace(seed, MIX, 20 + seed % 200),
            _ => short_lived_locks(seed, 300),
        };
        for analysis in ["hb", "lockset"] {
            let mut live = Live::new(&options(analysis, true));
            feed(&trace, &mut live, &mut Random::new(seed));
            let totals = live.totals();
            // Too short for anything to be left out by chance.
            assert_eq!(totals.skipped.sampled, 0);
            pruned += totals.skipped.weaker;
            lost += totals.lost_pairs;
            all += totals.checked_pairs;
        }
    }
    assert_eq!(lost, 0);
    assert!(pruned > 2_000 && all > 100_000, "{pruned} accesses pruned, {all} pairs");
}

#[test]
fn a_hot_loop_is_sampled_and_its_race_found() {
    let mut builder = TraceBuilder::default();
    builder.op(0, Op::Begin).op(0, Op::Fork { child: ThreadId(1), nth: 0 }).op(1, Op::Begin);
    let (object, mode) = (ObjectId(64), LockMode::Exclusive);
    let write = |addr| Op::Write { addr: Addr(addr), size: 8, value: Value::Word(1), flags: AccessFlags(0) };
    for _ in 0..20_000 {
        for thread in 0..2 {
            builder.op(thread, Op::Acquire { object, mode, tried: false });
            builder.push(ThreadId(thread), Pc(100 + u64::from(thread)), write(0x1000)).expect("memory");
            builder.op(thread, Op::Release { object, mode });
            builder.push(ThreadId(thread), Pc(200 + u64::from(thread)), write(0x2000)).expect("memory");
        }
    }
    let trace = builder.into_trace().expect("memory takes every write");
    let mut live = Live::new(&options("hb", true));
    let told = feed(&trace, &mut live, &mut Random::new(1));
    assert_eq!(pairs(&told), PcPairs::from([(200, 201)]));
    let totals = live.totals();
    assert!(totals.lost_pairs == 0 && totals.skipped.sampled > 60_000, "{totals:?}");
}

/// Threads that lock, access the same few places again and again, and create and destroy locks.
fn short_lived_locks(seed: u64, steps: u64) -> Trace {
    let random = &mut Random::new(seed);
    let mut builder = TraceBuilder::default();
    builder.op(0, Op::Begin);
    for child in 1..3 {
        builder.op(0, Op::Fork { child: ThreadId(child), nth: child - 1 }).op(child, Op::Begin);
    }
    let mode = LockMode::Exclusive;
    let mut owners: [Option<u32>; 4] = [None; 4];
    for step in 0..steps {
        let thread = random.below(3) as u32;
        let index = random.below(4) as usize;
        let object = ObjectId(0x9000 + 64 * index as u64);
        match (random.below(if seed % 4 == 1 { 8 } else { 40 }), owners[index]) {
            (0, None) => drop(builder.op(thread, Op::Destroy { object, kind: ObjectKind::Mutex })),
            (1..4, None) => {
                owners[index] = Some(thread);
                builder.op(thread, Op::Acquire { object, mode, tried: false });
            }
            (1..4, Some(owner)) => {
                owners[index] = None;
                builder.op(owner, Op::Release { object, mode });
            }
            (kind, _) => {
                let (addr, value, flags) = (Addr(0x1000 + 8 * random.below(3)), Value::Word(0), AccessFlags(0));
                // Some places are visited once, others by everybody, most by one thread.
                let places = [1000 + step, 2000 + addr.0, 3000 + addr.0 + u64::from(thread)];
                let pc = Pc(places[random.below(3) as usize] * 10 + kind % 2);
                let op = match kind % 2 {
                    0 => Op::Read { addr, size: 8, value, flags },
                    _ => Op::Write { addr, size: 8, value, flags },
                };
                builder.push(ThreadId(thread), pc, op).expect("memory takes every write");
            }
        }
    }
    builder.into_trace().expect("memory takes every write")
}

#[test]
fn forgetting_dead_locks_changes_nothing() {
    let mut seen = 0;
    for seed in 0..600u64 {
        let trace = short_lived_locks(seed, 120);
        let with = |mut analysis: Box<dyn Linear>, front: Front| -> PcPairs {
            run_on(trace.events(), front, &mut *analysis, &mut |_| true).expect("a sound trace");
            analysis.finish().pcs().iter().map(|(one, two)| (one.0, two.0)).collect()
        };
        let eager = || Front::bounded("bounded", Bounds { retired: 1, streams: 1 });
        let exact = || Front::new("exact");
        let hb = with(Box::<HbRaces>::default(), exact());
        assert_eq!(with(Box::<HbRaces>::default(), eager()), hb, "hb on seed {seed}");
        let lockset = with(Box::<LocksetRaces>::default(), exact());
        assert_eq!(with(Box::<LocksetRaces>::default(), eager()), lockset, "lockset on seed {seed}");
        seen += lockset.len();
    }
    assert!(seen > 1_000, "{seen} pairs");
}

/// What lock histories lose with locks that are gone makes them refute less, never more.
#[test]
fn lock_histories_forget_dead_locks() {
    let (mut refuted, mut forgotten) = (0, 0);
    for seed in 0..600u64 {
        let trace = short_lived_locks(seed, 120);
        let mut with = |retired: usize| -> (PcPairs, usize) {
            let front = Front::bounded("bounded", Bounds { retired, streams: 100 });
            let mut races = LockHistoryRaces::new(HistoryLimits::LIVE);
            run_on(trace.events(), front, &mut races, &mut |_| true).expect("a sound trace");
            let found = races.finish();
            forgotten += races.stats().iter().find(|(name, _)| *name == "forgotten_events").map_or(0, |stat| stat.1);
            (found.pcs().iter().map(|(one, two)| (one.0, two.0)).collect(), found.refuted.len())
        };
        let ((exact, apart), (eager, _)) = (with(usize::MAX), with(1));
        assert!(exact.is_subset(&eager), "seed {seed} loses");
        assert!(eager.is_subset(&found(&trace, LocksetRaces::default())), "seed {seed} invents");
        refuted += apart;
    }
    assert!(refuted > 5 && forgotten > 1_000, "{refuted} refuted, {forgotten} forgotten");
}

/// Threads 0 and 1 take `left` and `right` in opposite order, between them many locks that come and go.
fn inversion_among_short_lived_locks(short_lived: u64) -> Trace {
    let mut builder = TraceBuilder::default();
    builder.op(0, Op::Begin).op(0, Op::Fork { child: ThreadId(1), nth: 0 }).op(1, Op::Begin);
    let (left, right, mode, kind) = (ObjectId(64), ObjectId(128), LockMode::Exclusive, ObjectKind::Mutex);
    let mut nest = |thread: u32, outer: ObjectId, inner: ObjectId| {
        for (place, op) in [
            Op::Acquire { object: outer, mode, tried: false },
            Op::Acquire { object: inner, mode, tried: false },
            Op::Release { object: inner, mode },
            Op::Release { object: outer, mode },
        ]
        .into_iter()
        .enumerate()
        {
            let pc = Pc(u64::from(thread) * 100 + place as u64 + 1);
            builder.push(ThreadId(thread), pc, op).expect("memory takes every write");
        }
        let object = inner;
        if inner.0 > 128 {
            builder.op(thread, Op::Destroy { object, kind });
        }
    };
    nest(0, left, right);
    (0..short_lived).for_each(|i| nest(0, left, ObjectId(4096 + 64 * i)));
    nest(1, right, left);
    builder.into_trace().expect("memory takes every write")
}

#[test]
fn cycles_of_living_locks_survive_those_that_come_and_go() {
    let trace = inversion_among_short_lived_locks(500);
    let mut goodlock = Goodlock::forgetting_after(10);
    let front = Front::bounded("bounded", Bounds { retired: 10, streams: 10 });
    run_on(trace.events(), front, &mut goodlock, &mut |_| true).expect("a sound trace");
    let cycles = goodlock.news().cycles;
    assert_eq!(cycles.iter().map(|cycle| cycle.sorted_pcs()).collect::<Vec<_>>(), [[Pc(2), Pc(102)]]);
    assert_eq!(goodlock.stats(), [("forgotten_requests", 500)]);
    assert!(goodlock.finish().cycles.is_empty(), "told before");
    // And with everything that runs by default: once each, with what is held.
    let analyses = ["hb", "lockset", "lock-history", "goodlock"].map(by_name).to_vec();
    let told = feed(&trace, &mut Live::new(&Options { analyses, ..Options::default() }), &mut Random::new(1));
    let [deadlock] = &told[..] else { panic!("{told:?}") };
    assert_eq!((deadlock.kind, deadlock.analysis), (Kind::Deadlock, by_name("goodlock").id()));
    let [one, two] = &deadlock.accesses[..] else { panic!("{deadlock:?}") };
    assert_eq!((one.pc, one.op, one.awaits), (Pc(2), OpName::Acquire, Some((BlockedOn::LockExclusive, ObjectId(128)))));
    assert_eq!((one.locks_held.as_slice(), two.pc), (&[(ObjectId(64), Pc(1))][..], Pc(102)));
}

#[test]
fn a_library_that_comes_and_goes_is_kept_once() {
    let mut builder = TraceBuilder::default();
    builder.op(0, Op::Begin);
    for round in 0..100 {
        for path in [&b"one.so"[..], b"two.so"] {
            let base = Addr(0x1000 * (1 + round % 2));
            builder.op(0, Op::Module { base, size: 0x1000, bias: 0, path });
        }
    }
    builder.op(0, Op::End);
    let trace = builder.into_trace().expect("memory takes every write");
    let mut live = Live::new(&options("hb", false));
    feed(&trace, &mut live, &mut Random::new(1));
    let modules: Vec<_> = live.modules().iter().map(|module| (module.base, module.path.as_str())).collect();
    assert_eq!(modules, [(0x1000, "one.so"), (0x1000, "two.so"), (0x2000, "one.so"), (0x2000, "two.so")]);
}

fn cycles(told: &[Sighting]) -> BTreeSet<Vec<Pc>> {
    let sorted = |sighting: &Sighting| {
        let mut pcs: Vec<Pc> = sighting.accesses.iter().map(|access| access.pc).collect();
        pcs.sort_unstable();
        pcs
    };
    told.iter().filter(|sighting| sighting.kind == Kind::Deadlock).map(sorted).collect()
}

/// Lock histories with locksets inside, and cycles, in pieces: what they say of the whole trace.
#[test]
fn the_same_of_locks_as_from_the_trace() {
    let (mut apart, mut deadlocks) = (0, 0);
    for seed in 0..600u64 {
        let trace = random::trace(seed, MIX, 10 + seed % 150);
        let analyses = ["lockset", "lock-history", "goodlock"].map(by_name).to_vec();
        let told = feed(&trace, &mut Live::new(&Options { analyses, ..Options::default() }), &mut Random::new(seed));
        let races: Vec<Sighting> = told.iter().filter(|sighting| sighting.kind == Kind::Race).cloned().collect();
        // Which pairs of accesses are asked about depends on where the pieces end; with one piece it is as with the
        // trace.
        let mut whole = Live::new(&options("lock-history", false));
        let mut events = trace.events();
        let mut by_histories = Vec::new();
        while let Some(chunk) = events.next_chunk() {
            by_histories.extend(whole.chunk(chunk.words, chunk.thread).expect("a sound trace"));
        }
        by_histories.extend(whole.finish());
        by_histories.retain(|sighting| sighting.kind == Kind::Race);
        assert_eq!(pairs(&by_histories), found(&trace, LockHistoryRaces::default()), "lock-history on seed {seed}");
        let lockset = found(&trace, LocksetRaces::default());
        assert_eq!(pairs(&races), lockset, "lockset on seed {seed}");
        let goodlock: Vec<Sighting> =
            told.iter().filter(|sighting| sighting.analysis == by_name("goodlock").id()).cloned().collect();
        let mut whole = Goodlock::default();
        run(&trace, &mut whole, &mut |_| true).expect("a sound trace");
        let expected: BTreeSet<Vec<Pc>> = whole.finish().cycles.iter().map(|cycle| cycle.sorted_pcs()).collect();
        assert_eq!(cycles(&goodlock), expected, "goodlock on seed {seed}");
        apart += lockset.len() - pairs(&by_histories).len();
        deadlocks += expected.len();
    }
    assert!(apart > 50 && deadlocks > 50, "{apart} kept apart by histories, {deadlocks} cycles");
}

#[test]
fn starting_over_keeps_what_comes_after() {
    for seed in 0..400u64 {
        let trace = random::trace(seed, MIX, 120);
        let mut whole = Vec::new();
        let mut events = trace.events();
        while let Some(chunk) = events.next_chunk() {
            whole.push((chunk.words.to_vec(), chunk.thread));
        }
        let [(words, thread)] = &whole[..] else { panic!("one chunk") };
        let mut cut = 0;
        for _ in 0..60 {
            cut += wire::decode(&words[cut..]).map_or(0, |(_, len)| len);
        }
        for analysis in ["hb", "lockset"] {
            let mut exact = Live::new(&options(analysis, false));
            let mut all = exact.chunk(words, *thread).expect("a sound trace");
            all.extend(exact.finish());
            let mut live = Live::new(&options(analysis, false));
            let mut told = live.chunk(&words[..cut], *thread).expect("a sound trace");
            let from = EventId(live.events());
            told.extend(live.start_over());
            told.extend(live.more(&words[cut..]).expect("a sound trace"));
            told.extend(live.finish());
            assert!(pairs(&told).is_subset(&pairs(&all)), "{analysis} on seed {seed} invents");
            let later: Vec<Sighting> = all.into_iter().filter(|pair| pair.accesses[0].event >= from).collect();
            assert!(pairs(&later).is_subset(&pairs(&told)), "{analysis} on seed {seed} loses");
            assert_eq!(live.totals().restarts, 1);
        }
    }
}

/// The highest numbers an analysis gets to see.
#[derive(Default)]
struct Highest {
    thread: u32,
    lock: u32,
    channel: u32,
    word: u32,
}

impl Linear for Highest {
    fn access(&mut self, _: &Access, touched: &[Touch]) {
        touched.iter().for_each(|touch| self.word = self.word.max(touch.word.0));
    }
    fn left_out(&mut self, _: u64) {}
    fn sync(&mut self, _: EventId, thread: Thread, sync: Sync) {
        self.thread = self.thread.max(thread.0);
        match sync {
            Sync::Acquire { lock, .. } => self.lock = self.lock.max(lock.0),
            Sync::Publish { channel, .. } => self.channel = self.channel.max(channel.0),
            Sync::Fork { child } => self.thread = self.thread.max(child.0),
            _ => {}
        }
    }
    fn forget(&mut self, _: Word) {}
    fn retire(&mut self, _: reweave_predict::linear::Gone<'_>) -> bool {
        true
    }
    fn finish(&mut self) -> Candidates {
        Candidates::default()
    }
}

#[test]
fn numbers_follow_what_is_alive() {
    let mut builder = TraceBuilder::default();
    builder.op(0, Op::Begin);
    let (mode, kind) = (LockMode::Exclusive, ObjectKind::Mutex);
    for round in 0..20_000u32 {
        let child = ThreadId(round + 1);
        let name = u64::from(round) << 16;
        let (object, channel, addr) = (ObjectId(name), ObjectId(name + 8), Addr(0x10_0000 + name % (1 << 20)));
        builder.op(0, Op::Create { object, kind, value: 0 }).op(0, Op::Fork { child, nth: round });
        builder.op(child.0, Op::Begin).op(child.0, Op::Alloc { addr, size: 64 });
        builder.op(child.0, Op::Acquire { object, mode, tried: false });
        builder.op(child.0, Op::Write { addr, size: 8, value: Value::Word(1), flags: AccessFlags(0) });
        builder.op(child.0, Op::Release { object, mode }).op(child.0, Op::Send { channel, position: 0, size: 4 });
        builder.op(child.0, Op::End);
        match round % 3 {
            // Detached, joined by the one who forked it, joined by another.
            0 => drop(builder.op(0, Op::Detach { child })),
            1 => drop(builder.op(0, Op::Join { child })),
            _ => {}
        }
        builder.op(0, Op::Destroy { object, kind }).op(0, Op::Free { addr, size: 64 });
    }
    let trace = builder.into_trace().expect("memory takes every write");
    let mut highest = Highest::default();
    let front = Front::bounded("bounded", Bounds { retired: 100, streams: 100 });
    run_on(trace.events(), front, &mut highest, &mut |_| true).expect("a sound trace");
    let Highest { thread, lock, channel, word } = highest;
    assert!(thread < 200 && lock < 400 && channel < 2_000 && word < 1_000, "{thread} {lock} {channel} {word}");
}

/// Thread 0 writes in a function under a lock; thread 1 writes the same much later, with nothing in common.
fn long_ago(between: u64) -> Trace {
    let mut builder = TraceBuilder::default().chunk_words(4_000);
    builder.op(0, Op::Begin).op(0, Op::Fork { child: ThreadId(1), nth: 0 }).op(1, Op::Begin);
    let (object, mode) = (ObjectId(64), LockMode::Exclusive);
    let write = |addr| Op::Write { addr: Addr(addr), size: 8, value: Value::Word(1), flags: AccessFlags(0) };
    builder.define_stack(StackId(1), StackId(0), Pc(11)).expect("memory");
    builder.define_stack(StackId(2), StackId(1), Pc(22)).expect("memory");
    builder.set_stack(ThreadId(0), StackId(2));
    let mut push = |thread, pc, op| builder.push(ThreadId(thread), Pc(pc), op).expect("memory takes every write");
    push(0, 33, Op::Acquire { object, mode, tried: false });
    push(0, 100, write(0x1000));
    push(0, 34, Op::Release { object, mode });
    for i in 0..between {
        push(0, 500, write(0x8000 + i % 64 * 8));
    }
    push(1, 200, write(0x1000));
    builder.into_trace().expect("memory takes every write")
}

#[test]
fn a_sighting_tells_how_its_accesses_came_about() {
    // Right before, and so long ago that the chunk is gone.
    for between in [0, 100_000] {
        let told = feed(&long_ago(between), &mut Live::new(&options("hb", false)), &mut Random::new(3));
        let [sighting] = &told[..] else { panic!("{told:?}") };
        let [first, second] = &sighting.accesses[..] else { panic!("two accesses") };
        assert_eq!(
            (first.thread, first.pc, first.op, first.addr),
            (ThreadId(0), Pc(100), OpName::Write, Some(Addr(0x1000)))
        );
        assert_eq!(first.stack, [Pc(22), Pc(11)]);
        assert_eq!(first.locks_held, [(ObjectId(64), Pc(33))]);
        assert!(first.exact && second.exact, "{between}");
        assert_eq!((second.thread, second.pc), (ThreadId(1), Pc(200)));
        assert!(second.locks_held.is_empty());
    }
}
