//! Measures packing, reading and checking, on synthetic streams or on a recorded trace:
//! `cargo run --release -p reweave-trace --example measure [MILLIONS OF EVENTS [STREAM] | TRACE.rwt]`

use reweave_model::wire::{self, Encoder, Record, kind as k};
use reweave_model::*;
use reweave_trace::check::check;
use reweave_trace::{Footer, Meta, Trace, Writer};

const CHUNK_WORDS: usize = 128 << 10;

struct Stream {
    words: Vec<u64>,
    /// Where chunks start.
    starts: Vec<usize>,
    events: u64,
}

impl Stream {
    fn new() -> Self {
        Self { words: Vec::new(), starts: vec![0], events: 0 }
    }

    fn cut(&mut self) {
        if self.words.len() - self.starts[self.starts.len() - 1] >= CHUNK_WORDS {
            self.starts.push(self.words.len());
        }
    }

    fn access(&mut self, kind: u8, pc: u64, addr: u64, size: u8, value: u64) {
        self.words.extend([wire::access_word(kind, size, 0, pc), addr, value]);
        self.events += 1;
        self.cut();
    }

    fn op(&mut self, pc: u64, op: Op<'_>) {
        let start = self.words.len();
        self.words.resize(start + wire::words_needed(64), 0);
        let len = Encoder::new(&mut self.words[start..]).record(&Record::Event { pc: Pc(pc), op });
        self.words.truncate(start + len);
        self.events += 1;
        self.cut();
    }
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *state >> 33
}

/// c[i][j] += a[i][k] * b[k][j], doubles, the sum in a register.
fn matmul(events: u64) -> Stream {
    let (mut s, n, pc) = (Stream::new(), 300u64, 0x5555_5555_1000);
    let value = |address: u64| ((address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / 1e7).to_bits();
    let (a, b, c) = (0x7fff_0000_0000, 0x7fff_1000_0000, 0x7fff_2000_0000u64);
    'all: loop {
        for i in 0..n {
            for j in 0..n {
                for m in 0..n {
                    let (x, y) = (a + (i * n + m) * 8, b + (m * n + j) * 8);
                    s.access(k::READ, pc, x, 8, value(x));
                    s.access(k::READ, pc + 16, y, 8, value(y));
                }
                let z = c + (i * n + j) * 8;
                s.access(k::WRITE, pc + 40, z, 8, value(z));
                if s.events >= events {
                    break 'all;
                }
            }
        }
    }
    s
}

/// Lock, walk a chain, bump a counter, unlock: what `benches/programs/hashtable.c` does.
fn hashtable(events: u64) -> Stream {
    let (mut s, mut state, pc) = (Stream::new(), 42, 0x5555_5555_2000u64);
    let mut counts = vec![0u64; 8192];
    while s.events < events {
        let key = random(&mut state) % 8192;
        let (bucket, lock) = (key % 4096, ObjectId(0x5555_5560_0000 + key % 16 * 40));
        s.op(pc, Op::Acquire { object: lock, mode: LockMode::Exclusive, tried: false });
        let node = |key: u64| 0x5555_5580_0000 + (key.wrapping_mul(2654435761) % 8192) * 32;
        s.access(k::READ, pc + 8, 0x5555_5570_0000 + bucket * 8, 8, node(bucket));
        let mut at = bucket;
        loop {
            s.access(k::READ, pc + 16, node(at), 4, at);
            if at == key {
                break;
            }
            s.access(k::READ, pc + 24, node(at) + 8, 8, node(at + 4096));
            at += 4096;
        }
        let count = &mut counts[key as usize];
        s.access(k::READ, pc + 32, node(key) + 4, 4, *count);
        *count += 1;
        s.access(k::WRITE, pc + 40, node(key) + 4, 4, *count);
        s.op(pc + 48, Op::Release { object: lock, mode: LockMode::Exclusive });
    }
    s
}

/// Nothing repeats: random code, random addresses, random values.
fn noise(events: u64) -> Stream {
    let (mut s, mut state) = (Stream::new(), 1);
    while s.events < events {
        let pc = 0x5555_0000_0000 + random(&mut state) % 100_000;
        let (addr, value) = (0x7f00_0000_0000 + random(&mut state) * 8, random(&mut state) << 33 | random(&mut state));
        s.access(k::READ, pc, addr, 8, value);
    }
    s
}

/// CPU time of this thread in seconds: other work on the machine does not count.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The records of a recorded trace.
fn recorded(path: &str) -> Stream {
    let trace = Trace::open(path).unwrap_or_else(|error| panic!("{error}"));
    let (mut s, mut events) = (Stream::new(), trace.events());
    while let Some(chunk) = events.next_chunk() {
        s.words.extend_from_slice(chunk.words);
        s.starts.push(s.words.len());
    }
    s.starts.pop();
    s.events = trace.event_count();
    s
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (first, only) = (args.next(), args.next());
    println!("stream        events  bytes/event   ns/event: write    read  unpack   check   write GB/s raw");
    if let Some(path) = first.as_deref().filter(|path| path.ends_with(".rwt")) {
        return measure("recorded", &recorded(path));
    }
    let millions: u64 = first.and_then(|n| n.parse().ok()).unwrap_or(10);
    for (name, make) in [("matmul", matmul as fn(u64) -> Stream), ("hashtable", hashtable), ("noise", noise)] {
        if only.as_deref().is_none_or(|only| only == name) {
            measure(name, &make(millions * 1_000_000));
        }
    }
}

/// The best of several runs, as other work on the machine only ever slows them.
fn measure(name: &str, stream: &Stream) {
    let mut best = [f64::MAX; 4];
    let mut size = 0;
    for _ in 0..7 {
        let mut writer = Writer::in_memory(&Meta::default());
        let start = cpu();
        for (i, &from) in stream.starts.iter().enumerate() {
            let to = stream.starts.get(i + 1).copied().unwrap_or(stream.words.len());
            writer.event_words(&stream.words[from..to], ThreadId(0)).expect("memory");
        }
        best[0] = best[0].min(cpu() - start);
        writer.finish(Footer::default(), None).expect("memory");
        size = writer.bytes_written();
        let trace = Trace::from_bytes(writer.into_bytes()).expect("just written");
        let start = cpu();
        let (mut events, mut seen, mut sum) = (trace.events(), 0u64, 0u64);
        while let Some(event) = events.next().expect("just written") {
            seen += 1;
            if let Op::Read { addr, value: Value::Word(value), .. } = event.op {
                sum = sum.wrapping_add(addr.0 ^ value);
            }
        }
        std::hint::black_box(sum);
        best[1] = best[1].min(cpu() - start);
        assert_eq!(seen, stream.events);
        let start = cpu();
        let mut events = trace.events();
        while let Some(chunk) = events.next_chunk() {
            std::hint::black_box(chunk.words.len());
        }
        best[2] = best[2].min(cpu() - start);
        let start = cpu();
        std::hint::black_box(check(&trace).expect("just written"));
        best[3] = best[3].min(cpu() - start);
    }
    let [write, read, unpack, check] = best.map(|seconds| seconds * 1e9 / stream.events as f64);
    println!(
        "{name:10} {:>9} {:>12.2} {write:>17.1} {read:>7.1} {unpack:>7.1} {check:>7.1} {:>16.2}",
        stream.events,
        size as f64 / stream.events as f64,
        stream.words.len() as f64 * 8.0 / best[0] / 1e9,
    );
}
