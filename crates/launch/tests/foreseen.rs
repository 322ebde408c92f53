//! What a recorder that leaves out foreseen accesses writes, expanded, is what happened.

use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::Ordering;

use reweave_conductor::shared::Region;
use reweave_conductor::{Conductor, NO_THREAD, World, recorder};
use reweave_model::wire::{self, Record, access_word, kind};
use reweave_model::{Op, StackId};
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

fn region(foresee: bool) -> Region {
    let layout = Layout::from_size_align(Region::size(0), 4096).expect("a valid layout");
    // SAFETY: memory of that size, which is never freed; nobody else has it.
    let region = unsafe { Region::new(alloc_zeroed(layout)) };
    let header = unsafe { region.header_mut() };
    header.holder.store(NO_THREAD, Ordering::Relaxed);
    header.revoke.store(NO_THREAD, Ordering::Relaxed);
    // More than the test takes: nobody hands the token over.
    header.quantum = 1 << 30;
    header.launcher_pid = std::process::id();
    header.foresee = foresee.into();
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

/// Runs a random program of loops, with and without pattern, copies and other records, and checks the chunk after each
/// step. Of `noise` loops one follows no pattern, and the more the longer they are. Returns how many accesses there were, and how many words they took.
fn run(seed: u64, noise: u64, steps: usize, check_every: usize) -> (usize, usize) {
    let mut random = Random(seed);
    let mut memory = vec![0u8; 1 << 16];
    let base = memory.as_mut_ptr() as u64;
    let region = region(true);
    let conductor = Conductor::new(region, Program);
    let mut token = conductor.start();
    token.event(7, Op::Begin);
    let mut expected = foreseen::expanded(&left_behind(&region));
    // The write whose value is taken at the next hook, and whether it happens only then.
    let mut late: Option<Late> = None;
    // The write that the recorder may not have looked at yet: its record, size and place, and whether none came since.
    let mut unknown: Option<(usize, bool)> = None;
    let (mut accesses, mut shown) = (0, token.me().own.stack());
    let mut done = 0;
    while done < steps {
        let (body, rounds) = (1 + random.below(5), 1 + random.below(8 * noise));
        let places: Vec<_> = (0..body)
            .map(|n| {
                let size = 1u64 << random.below(4);
                let stride = [0, size, size, 8, 64, 8 * 37][random.below(6) as usize];
                let at = random.below(1 << 12) * 8;
                (random.below(40) * 64 + n, size, stride, at, random.below(3) == 0, 1 + random.below(3) as u32)
            })
            .collect();
        let noisy = random.below(noise) == 0;
        for round in 0..rounds {
            for &(pc, size, stride, at, write, stack) in &places {
                let at = if noisy { random.below(1 << 13) * 8 } else { (at + round * stride) % ((1 << 16) - 8) };
                let (addr, size32) = (base + at, size as u32);
                let head = access_word(if write { kind::WRITE } else { kind::READ }, size as u8, 0, pc);
                token.set_stack(stack);
                let before = late;
                let copies = late.is_some_and(|late| late.copy && late.goes_with(write, size, at, pc));
                if !copies && let Some(late) = late.take() {
                    late.finish(&mut memory, &mut expected);
                }
                if shown != stack {
                    wire::append(&mut expected, &Record::Stack { stack: StackId(stack) });
                    shown = stack;
                }
                let (recorder, me) = token.recorder();
                let value = Program::load(addr, size32);
                expected.extend([head, addr, value]);
                let word = expected.len() - 1;
                let foreseen = if write {
                    recorder.goes_on::<true>(me, head, addr, size32)
                        || !recorder.rests(me) && recorder.goes_on_somehow::<true>(me, head, addr, size32)
                } else {
                    recorder.goes_on::<false>(me, head, addr, size32)
                        || !recorder.rests(me) && recorder.goes_on_somehow::<false>(me, head, addr, size32)
                };
                if !foreseen {
                    if !copies {
                        recorder.fill_pending_write(me);
                    }
                    if recorder.is_full() || recorder.has_foreseen_enough() {
                        let words = left_behind(&region);
                        let known = unknown.map_or(word - 2, |(record, ..)| record);
                        assert!(shows(&words, &expected[..known], stack), "seed {seed}: {accesses} accesses");
                        return (accesses, words.len());
                    }
                    if !me.own.shows_stack() {
                        recorder.context(me);
                    }
                    // SAFETY: the chunk has room, the stack is shown, and the write before is settled.
                    unsafe {
                        if write {
                            recorder.put_access::<true, true>(me, head, (addr, size32), value);
                        } else {
                            recorder.put_access::<false, true>(me, head, (addr, size32), value);
                        }
                    }
                }
                accesses += 1;
                unknown = match unknown.zip(before) {
                    Some(((record, true), before)) if before.goes_with(write, size, at, pc) => Some((record, false)),
                    _ => write.then_some((word - 2, true)),
                };
                if copies && let Some(late) = late.take() {
                    late.finish(&mut memory, &mut expected);
                }
                if write {
                    let value = if random.below(3) == 0 { random.below(u64::MAX) } else { random.below(3) };
                    let new = Late { word, at, size: size as usize, value, pc, copy: random.below(4) == 0 };
                    if !new.copy {
                        memory[at as usize..][..new.size].copy_from_slice(&value.to_le_bytes()[..new.size]);
                    }
                    late = Some(new);
                }
                done += 1;
                if done.is_multiple_of(check_every) {
                    // A write whose value has not come is not there yet.
                    let known = unknown.map_or(expected.len(), |(record, ..)| record);
                    assert!(
                        shows(&left_behind(&region), &expected[..known], stack),
                        "seed {seed}: after {done} accesses"
                    );
                }
            }
        }
        if random.below(3) == 0 {
            if let Some(late) = late.take() {
                late.finish(&mut memory, &mut expected);
            }
            if shown != token.me().own.stack() {
                shown = token.me().own.stack();
                wire::append(&mut expected, &Record::Stack { stack: StackId(shown) });
            }
            token.event(7, Op::Branch);
            unknown = None;
            wire::append(&mut expected, &Record::Event { pc: reweave_model::Pc(7), op: Op::Branch });
        }
    }
    if let Some(late) = late.take() {
        late.finish(&mut memory, &mut expected);
    }
    let before = recorder::position(&region);
    token.event(7, Op::Branch);
    assert!(recorder::position(&region) > before);
    let words = left_behind(&region);
    let all = told_once(&foreseen::expanded(&words));
    assert!(all.starts_with(&told_once(&expected)), "seed {seed}");
    (accesses, words.len())
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
