//! What a recorder that leaves out foreseen accesses writes, expanded, is what happened.

use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::Ordering;

use reweave_conductor::shared::Region;
use reweave_conductor::{Conductor, NO_THREAD, Token, World, recorder};
use reweave_model::wire::{self, Record, access_word, kind};
use reweave_model::{Op, Pc, StackId};
use reweave_trace::format::foreseen;

/// A program whose memory is ours.
struct Program;

impl World for Program {
    type Row = ();

    fn load(addr: u64, size: u32) -> u64 {
        let mut bytes = [0; 8];
        // SAFETY: the test accesses its own array only.
        unsafe { std::ptr::copy_nonoverlapping(addr as *const u8, bytes.as_mut_ptr(), size as usize) };
        u64::from_le_bytes(bytes)
    }
}

fn region() -> Region {
    let layout = Layout::from_size_align(Region::size(0), 4096).expect("a valid layout");
    // SAFETY: memory of that size, which is never freed; nobody else has it.
    let (region, header) = unsafe {
        let region = Region::new(alloc_zeroed(layout));
        (region, region.header_mut())
    };
    header.holder.store(NO_THREAD, Ordering::Relaxed);
    header.revoke.store(NO_THREAD, Ordering::Relaxed);
    // More than the test takes: nobody hands the token over.
    header.quantum = 1 << 30;
    header.launcher_pid = std::process::id();
    header.foresee = 2;
    region
}

/// What stands in the chunk that is being filled, as the launcher takes it from a killed program.
fn left_behind(region: &Region) -> Vec<u64> {
    let header = region.header();
    let (mut len, run) = (header.cursor.load(Ordering::Acquire) as usize, header.run.load(Ordering::Acquire) as usize);
    if let Some(known) = (header.pending.load(Ordering::Acquire) as usize).checked_sub(1) {
        len = len.min(known);
    }
    let chunk = region.chunk(header.filled.load(Ordering::Acquire)).cast::<u64>();
    // SAFETY: inside the chunk, and nobody writes there now.
    let mut words = unsafe { std::slice::from_raw_parts(chunk, len / 8) }.to_vec();
    if let Some(run) = run.checked_sub(1).filter(|&run| run < len) {
        foreseen::complete(&mut words, run / 8);
    }
    words
}

/// The records without those that say the stack again.
fn told_once(words: &[u64]) -> Vec<u64> {
    let (mut at, mut stack, mut told) = (0, None, Vec::new());
    while let Ok(len) = wire::length(&words[at..]) {
        let again = words[at] as u8 == kind::STACK && stack.replace(words[at]) == Some(words[at]);
        if !again {
            told.extend_from_slice(&words[at..at + len]);
        }
        at += len;
    }
    told
}

/// Whether these records begin with those that are expected. The stack of an access that is not there yet need not be.
fn shows(words: &[u64], expected: &[u64], stack: u32) -> bool {
    let expected = told_once(expected);
    let known = expected.strip_suffix(&[u64::from(kind::STACK) | u64::from(stack) << 16]).unwrap_or(&expected);
    told_once(&foreseen::expanded(words)).starts_with(known)
}

/// Numbers that follow no pattern.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A write that is on its way: its value's place in the records, where it goes, and from where in the code. A copy
/// happens only after the read that follows.
#[derive(Clone, Copy)]
struct Late {
    word: usize,
    at: u64,
    size: usize,
    value: u64,
    pc: u64,
    copy: bool,
}

impl Late {
    /// It happens, if it has not, and its record shows what memory holds.
    fn finish(self, memory: &mut [u8], expected: &mut [u64]) {
        let bytes = &mut memory[self.at as usize..][..self.size];
        bytes.copy_from_slice(&self.value.to_le_bytes()[..self.size]);
        expected[self.word] = Program::load(bytes.as_ptr() as u64, self.size as u32);
    }

    /// Whether such a read comes right behind in the code, as it does in a copy.
    fn goes_with(&self, write: bool, size: u64, at: u64, pc: u64) -> bool {
        !write && self.size as u64 == size && self.at != at && pc.wrapping_sub(self.pc) < 256
    }
}

/// One place in a loop: what it accesses, from where, and where it goes in each round.
struct Place {
    pc: u64,
    size: u64,
    stride: u64,
    at: u64,
    write: bool,
    stack: u32,
}

impl Place {
    fn somewhere(n: u64, random: &mut Random) -> Self {
        let size = 1u64 << random.below(4);
        Self {
            pc: random.below(40) * 64 + n,
            size,
            stride: [0, size, size, 8, 64, 8 * 37][random.below(6) as usize],
            at: random.below(1 << 12) * 8,
            write: random.below(3) == 0,
            stack: 1 + random.below(3) as u32,
        }
    }

    fn head(&self) -> u64 {
        access_word(if self.write { kind::WRITE } else { kind::READ }, self.size as u8, 0, self.pc)
    }
}

/// A program that runs, and what is to be found in its chunk.
struct Execution<'a> {
    region: Region,
    token: Token<'a, Program>,
    random: Random,
    memory: Vec<u8>,
    expected: Vec<u64>,
    late: Option<Late>,
    /// The write that the recorder may not have looked at yet: its record, and whether no access came since.
    unknown: Option<(usize, bool)>,
    shown: u32,
    accesses: usize,
}

impl Execution<'_> {
    /// An access at `at`; false: the chunk is full.
    fn access(&mut self, place: &Place, at: u64) -> bool {
        let &Place { pc, size, write, stack, .. } = place;
        let addr = self.memory.as_mut_ptr() as u64 + at;
        self.token.set_stack(stack);
        let before = self.late;
        let copies = before.is_some_and(|late| late.copy && late.goes_with(write, size, at, pc));
        if !copies {
            self.finish();
        }
        self.show(stack);
        let value = Program::load(addr, size as u32);
        let record = self.expected.len();
        self.expected.extend([place.head(), addr, value]);
        if !self.is_recorded(place, addr, value, copies) {
            self.expected.truncate(record);
            return false;
        }
        self.accesses += 1;
        self.unknown = match self.unknown.zip(before) {
            Some(((record, true), before)) if before.goes_with(write, size, at, pc) => Some((record, false)),
            _ => write.then_some((record, true)),
        };
        if copies {
            self.finish();
        }
        if write {
            let random = &mut self.random;
            let value = if random.below(3) == 0 { random.below(u64::MAX) } else { random.below(3) };
            let new = Late { word: record + 2, at, size: size as usize, value, pc, copy: random.below(4) == 0 };
            if !new.copy {
                self.memory[at as usize..][..new.size].copy_from_slice(&value.to_le_bytes()[..new.size]);
            }
            self.late = Some(new);
        }
        true
    }

    /// As the hooks do it. False: the chunk is full.
    fn is_recorded(&mut self, place: &Place, addr: u64, value: u64, copies: bool) -> bool {
        let (head, size) = (place.head(), place.size as u32);
        let (recorder, me) = self.token.recorder();
        let foreseen = if place.write {
            recorder.goes_on::<true>(me, head, addr, size)
                || !recorder.rests() && recorder.goes_on_somehow::<true>(me, head, addr, size)
        } else {
            recorder.goes_on::<false>(me, head, addr, size)
                || !recorder.rests() && recorder.goes_on_somehow::<false>(me, head, addr, size)
        };
        if foreseen {
            return true;
        }
        if !copies {
            recorder.fill_pending_write(me);
        }
        if recorder.is_full() || recorder.has_foreseen_enough() {
            return false;
        }
        if !me.own.shows_stack() {
            recorder.context(me);
        }
        // SAFETY: the chunk has room, the stack is shown, and the write before is settled.
        unsafe {
            if place.write {
                recorder.put_access::<true, true>(me, head, (addr, size), value);
            } else {
                recorder.put_access::<false, true>(me, head, (addr, size), value);
            }
        }
        true
    }

    fn show(&mut self, stack: u32) {
        if self.shown != stack {
            wire::append(&mut self.expected, &Record::Stack { stack: StackId(stack) });
            self.shown = stack;
        }
    }

    /// The write that is on its way happens.
    fn finish(&mut self) {
        if let Some(late) = self.late.take() {
            late.finish(&mut self.memory, &mut self.expected);
        }
    }

    /// Something else than an access.
    fn other(&mut self) {
        self.finish();
        self.show(self.token.me().own.stack());
        let before = recorder::position(&self.region);
        self.token.event(7, Op::Branch);
        assert!(recorder::position(&self.region) > before);
        self.unknown = None;
        wire::append(&mut self.expected, &Record::Event { pc: Pc(7), op: Op::Branch });
    }

    /// A write whose value has not come is not there yet; all else is.
    fn check(&self) {
        let known = self.unknown.map_or(self.expected.len(), |(record, _)| record);
        let words = left_behind(&self.region);
        assert!(shows(&words, &self.expected[..known], self.shown), "after {} accesses", self.accesses);
    }
}

/// Runs a random program of loops, with and without pattern, copies and other records, and checks the chunk again and
/// again until it is full. Of `noise` loops one follows no pattern, and the more the longer they are. Returns how many
/// accesses there were, and how many words they took.
fn run(seed: u64, noise: u64, steps: usize, check_every: usize) -> (usize, usize) {
    let region = region();
    let conductor = Conductor::new(region, Program);
    let mut token = conductor.start();
    token.event(7, Op::Begin);
    let (expected, shown) = (foreseen::expanded(&left_behind(&region)), token.me().own.stack());
    let (memory, random) = (vec![0u8; 1 << 16], Random(seed));
    let mut execution =
        Execution { region, token, random, memory, expected, late: None, unknown: None, shown, accesses: 0 };
    'full: while execution.accesses < steps {
        let random = &mut execution.random;
        let (body, rounds) = (1 + random.below(5), 1 + random.below(8 * noise));
        let places: Vec<_> = (0..body).map(|n| Place::somewhere(n, random)).collect();
        let noisy = random.below(noise) == 0;
        for (round, place) in (0..rounds).flat_map(|round| places.iter().map(move |place| (round, place))) {
            let steady = (place.at + round * place.stride) % ((1 << 16) - 8);
            let at = if noisy { execution.random.below(1 << 13) * 8 } else { steady };
            if !execution.access(place, at) {
                break 'full;
            }
            if execution.accesses.is_multiple_of(check_every) {
                execution.check();
            }
        }
        if execution.random.below(3) == 0 {
            execution.other();
        }
    }
    execution.check();
    (execution.accesses, left_behind(&region).len())
}

#[test]
fn what_was_foreseen_comes_back() {
    for seed in 0..60 {
        run(seed, 4, 400, 1);
    }
}

#[test]
fn most_of_a_loop_is_foreseen() {
    let (accesses, words) = (0..20).map(|seed| run(seed, 40, 5000, 5000)).fold((0, 0), |(a, w), (b, x)| (a + b, w + x));
    assert!(words < 2 * accesses, "{words} words for {accesses} accesses");
}

#[test]
fn where_nothing_is_foreseen_the_model_rests() {
    for seed in 0..8 {
        // More than a chunk has room for: the rest is left out.
        let (accesses, words) = run(seed, 1, 60_000, 20_000);
        assert!(accesses > 35_000 && words >= 3 * accesses, "{words} words for {accesses} accesses");
        run(seed, 2, 60_000, 60_000);
    }
}
