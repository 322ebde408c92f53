//! Small random traces with every kind of synchronization.

use reweave_model::{AccessFlags, Addr, AtomicKind, LockMode, MemoryOrder, ObjectId, Op, Pc, ThreadId, Value};
use reweave_trace::{Trace, TraceBuilder};

/// xorshift64*: the same traces everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// Which operations there are: each bit of `kinds` adds some.
pub const LOCKS: u32 = 1;
pub const SHARED: u32 = 2;
pub const ATOMICS: u32 = 4;
pub const CHANNELS: u32 = 8;
pub const JOINS: u32 = 16;
pub const ALLOCS: u32 = 32;
pub const BARRIERS: u32 = 64;
/// Atomic blocks, also within each other.
pub const BLOCKS: u32 = 128;

struct Made {
    builder: TraceBuilder,
    count: u64,
    code: u64,
}

impl Made {
    fn push(&mut self, random: &mut Random, thread: u64, op: Op<'_>) {
        self.count += 1;
        let pc = if self.code == 0 { self.count } else { 1 + random.below(self.code) };
        self.builder.push(ThreadId(thread as u32), Pc(pc), op).expect("memory takes every write");
    }
}

pub fn trace(seed: u64, kinds: u32, steps: u64) -> Trace {
    let mut random = Random::new(seed);
    let random = &mut random;
    let code = if random.below(3) == 0 { 8 } else { 0 };
    let mut made = Made { builder: TraceBuilder::default(), count: 0, code };
    let threads = 2 + random.below(3);
    let mut alive = vec![0u64];
    let mut next_thread = 1;
    // By lock: exclusive holder, shared holders.
    let mut locks: Vec<(Option<u64>, Vec<u64>)> = vec![(None, Vec::new()); 2 + random.below(2) as usize];
    let (mut sent, mut received, mut semaphore) = (0u64, 0u64, 0u32);
    let mut at_barrier: Vec<u64> = Vec::new();
    let mut depth = [0u32; 8];
    let flags = AccessFlags(0);
    made.push(random, 0, Op::Begin);
    for _ in 0..steps {
        let moving: Vec<u64> = alive.iter().copied().filter(|thread| !at_barrier.contains(thread)).collect();
        let thread = moving[random.below(moving.len() as u64) as usize];
        let object = |index: u64| ObjectId(0x9000 + 16 * index);
        match random.below(20) {
            0 | 1 if next_thread < threads && thread == 0 => {
                let nth = next_thread as u32 - 1;
                made.push(random, 0, Op::Fork { child: ThreadId(next_thread as u32), nth });
                made.push(random, next_thread, Op::Begin);
                alive.push(next_thread);
                next_thread += 1;
            }
            2 if kinds & JOINS != 0 && thread != 0 && alive.contains(&0) && !at_barrier.contains(&0) => {
                if locks.iter().all(|(owner, readers)| *owner != Some(thread) && !readers.contains(&thread)) {
                    made.push(random, thread, Op::End);
                    made.push(random, 0, Op::Join { child: ThreadId(thread as u32) });
                    alive.retain(|other| *other != thread);
                }
            }
            3..=8 if kinds & LOCKS != 0 => {
                let index = random.below(locks.len() as u64);
                let (owner, readers) = &mut locks[index as usize];
                let shared = kinds & SHARED != 0 && random.below(2) == 0;
                if *owner == Some(thread) {
                    *owner = None;
                    made.push(random, thread, Op::Release { object: object(index), mode: LockMode::Exclusive });
                } else if readers.contains(&thread) {
                    readers.retain(|other| *other != thread);
                    made.push(random, thread, Op::Release { object: object(index), mode: LockMode::Shared });
                } else if shared && owner.is_none() {
                    readers.push(thread);
                    let mode = LockMode::Shared;
                    made.push(random, thread, Op::Acquire { object: object(index), mode, tried: false });
                } else if owner.is_none() && readers.is_empty() {
                    *owner = Some(thread);
                    let mode = LockMode::Exclusive;
                    made.push(random, thread, Op::Acquire { object: object(index), mode, tried: false });
                }
            }
            9 if kinds & CHANNELS != 0 => match random.below(4) {
                0 => {
                    let size = 1 + random.below(3);
                    made.push(random, thread, Op::Send { channel: object(50), position: sent, size });
                    sent += size;
                }
                1 if received < sent => {
                    let size = 1 + random.below(sent - received);
                    made.push(random, thread, Op::Receive { channel: object(50), position: received, size });
                    received += size;
                }
                2 => {
                    semaphore += 1;
                    made.push(random, thread, Op::SemaphorePost { semaphore: object(51), value: semaphore });
                }
                3 if semaphore > 0 => {
                    semaphore -= 1;
                    made.push(
                        random,
                        thread,
                        Op::SemaphoreTake { semaphore: object(51), value: semaphore, tried: false },
                    );
                }
                _ => {}
            },
            10 if kinds & BARRIERS != 0 && alive.len() > at_barrier.len() + 1 || at_barrier.len() == 1 => {
                made.push(random, thread, Op::BarrierArrive { barrier: object(52), count: 2 });
                at_barrier.push(thread);
                if at_barrier.len() == 2 {
                    for thread in std::mem::take(&mut at_barrier) {
                        made.push(random, thread, Op::BarrierLeave { barrier: object(52), serial: false });
                    }
                }
            }
            11 | 12 if kinds & ATOMICS != 0 => {
                let order = MemoryOrder::of_bits(random.below(6) as u8);
                if random.below(4) == 0 {
                    made.push(random, thread, Op::Fence { order });
                } else {
                    let kind = AtomicKind::of_bits(random.below(6) as u8);
                    let addr = Addr(0x1000 + 8 * random.below(2));
                    let (read, written) = (Value::Word(0), Value::Word(1));
                    made.push(random, thread, Op::Atomic { kind, order, addr, size: 4, read, written });
                }
            }
            13 if kinds & ALLOCS != 0 && random.below(3) == 0 => {
                made.push(random, thread, Op::Alloc { addr: Addr(0x1000), size: 16 });
            }
            14 | 15 if kinds & BLOCKS != 0 => {
                let depth = &mut depth[thread as usize];
                if *depth == 0 || *depth < 2 && random.below(4) == 0 {
                    *depth += 1;
                    made.push(random, thread, Op::AtomicEnter { name: Addr(0) });
                } else {
                    *depth -= 1;
                    made.push(random, thread, Op::AtomicExit);
                }
            }
            _ => {
                let (addr, size) = [(0, 8), (0, 4), (4, 4), (8, 8), (16, 8), (6, 4)][random.below(6) as usize];
                let addr = Addr(0x1000 + addr);
                if random.below(5) < 3 {
                    made.push(random, thread, Op::Read { addr, size, value: Value::Word(0), flags });
                } else {
                    made.push(random, thread, Op::Write { addr, size, value: Value::Word(0), flags });
                }
            }
        }
    }
    made.builder.into_trace().expect("memory takes every write")
}
