//! The file format: there and back, cut anywhere, damaged anywhere.

mod common;

use common::{every_op, listing};
use proptest::prelude::*;
use reweave_model::*;
use reweave_trace::{Error, Footer, Meta, Outcome, Symbols, Trace, TraceBuilder, schedule_of};

/// Every shape of event, by two threads with changing stacks, over several chunks.
fn sample(chunk_words: usize, rounds: u64) -> Vec<u8> {
    let mut b = TraceBuilder::new(&Meta { program: vec!["./bank".into()], seed: 7, ..Meta::default() })
        .chunk_words(chunk_words);
    b.define_stack(StackId(1), StackId(0), Pc(0x1000)).unwrap();
    b.define_stack(StackId(2), StackId(1), Pc(0x2000)).unwrap();
    let pc = |n: u64| Pc(0x5555_0000_0000 + n);
    let mut push = |t: u32, n: u64, op: Op<'_>| b.push(ThreadId(t), pc(n), op).unwrap();
    push(0, 0, Op::Module { base: Addr(0x5555_0000_0000), size: 0x1000, bias: 0x5555_0000_0000, path: b"/bin/bank" });
    push(0, 1, Op::Begin);
    push(0, 2, Op::Fork { child: ThreadId(1), nth: 0 });
    push(1, 3, Op::Begin);
    push(1, 3, Op::ThreadName { thread: ThreadId(1), name: b"worker" });
    for i in 0..rounds {
        b.set_stack(ThreadId((i % 2) as u32), StackId((i % 3) as u32));
        let mut push = |t: u32, n: u64, op: Op<'_>| b.push(ThreadId(t), pc(n), op).unwrap();
        let t = (i % 2) as u32;
        let lock = ObjectId(0x6000);
        push(t, 4, Op::Acquire { object: lock, mode: LockMode::Exclusive, tried: i % 5 == 0 });
        let (addr, value) = (Addr(0x7000 + 8 * i), Value::Word(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        push(t, 5, Op::Write { addr, size: 8, value, flags: AccessFlags(0) });
        push(t, 6, Op::Read { addr, size: 8, value, flags: AccessFlags(AccessFlags::VOLATILE) });
        let bytes: Vec<u8> = (0..i % 40).map(|n| (n * i) as u8).collect();
        let range = Op::Write {
            addr: Addr(0x9000),
            size: bytes.len() as u32,
            value: Value::Bytes(&bytes),
            flags: AccessFlags(AccessFlags::LIBRARY),
        };
        push(t, 7, range);
        push(t, 8, Op::Input { source: InputSource::Read, value: -(i as i64), bytes: &bytes });
        let (read, written) = (Value::Word(i), Value::Word(i + 1));
        let (kind, order) = (AtomicKind::Update, MemoryOrder::AcqRel);
        push(t, 9, Op::Atomic { kind, order, addr: Addr(0xa000), size: 4, read, written });
        let (read, written) = (Value::Bytes(&[1; 16]), Value::Bytes(&[i as u8; 16]));
        push(t, 10, Op::Atomic { kind: AtomicKind::Exchange, order, addr: Addr(0xb000), size: 16, read, written });
        push(t, 11, Op::Release { object: lock, mode: LockMode::Exclusive });
    }
    push_end(&mut b);
    let footer = Footer { outcome: Outcome::Exited { status: 3 }, ..Footer::default() };
    b.finish(footer, None).unwrap().into_bytes()
}

fn push_end(b: &mut TraceBuilder) {
    b.push(ThreadId(1), Pc(1), Op::End).unwrap();
    b.push(ThreadId(0), Pc(1), Op::Join { child: ThreadId(1) }).unwrap();
    b.push(ThreadId(0), Pc(1), Op::End).unwrap();
}

#[test]
fn there_and_back() {
    for chunk_words in [8, 100, 1 << 20] {
        let trace = Trace::from_bytes(sample(chunk_words, 60)).unwrap();
        let events = listing(&trace);
        assert_eq!(trace.damage(), []);
        assert_eq!(events, listing(&Trace::from_bytes(sample(1 << 20, 60)).unwrap()), "chunks do not show");
        assert_eq!(events.len(), 5 + 60 * 8 + 3);
        assert_eq!(trace.meta().seed, 7);
        let footer = trace.footer().unwrap();
        assert_eq!(footer.outcome, Outcome::Exited { status: 3 });
        assert_eq!((footer.events, footer.kinds["read"]), (events.len() as u64, 60));
        assert_eq!(trace.stacks().resolve(StackId(2)), [Pc(0x2000), Pc(0x1000)]);
        let mut from = trace.events_from(EventId(123)).unwrap();
        assert_eq!(format!("{:?}", from.next().unwrap().unwrap()), events[123].1);
        trace.keep([480, 3, 200, 3, 1 << 40].map(EventId)).unwrap();
        for id in [3, 200, 480, 481] {
            let seen = trace.look_at(EventId(id), |event| format!("{event:?}")).unwrap();
            assert_eq!(seen.as_ref(), Some(&events[id as usize].1));
        }
        assert_eq!(trace.look_at(EventId(1 << 40), |_| ()).unwrap(), None);
        // From what is kept of the passes before.
        assert_eq!((listing(&trace), trace.damage()), (events, Vec::new()));
    }
}

#[test]
fn every_operation_survives() {
    let mut b = TraceBuilder::default().chunk_words(50);
    for op in every_op() {
        b.op(1, op);
    }
    let trace = b.into_trace().unwrap();
    let mut events = trace.events();
    for op in every_op() {
        assert_eq!(events.next().unwrap().map(|event| event.op), Some(op));
    }
    assert_eq!(trace.damage(), []);
}

#[test]
fn schedule_counts_steps() {
    let trace = Trace::from_bytes(sample(50, 4)).unwrap();
    let schedule = schedule_of(&trace).unwrap();
    assert_eq!(schedule.threads, [ThreadName::MAIN, ThreadName { parent: 0, nth: 0 }]);
    let steps: Vec<_> = schedule.segments.iter().map(|s| (s.thread.0, s.steps)).collect();
    assert_eq!(steps, [(0, 2), (1, 1), (0, 8), (1, 8), (0, 8), (1, 9), (0, 2)]);
}

#[test]
fn cut_anywhere_is_a_prefix() {
    let whole = sample(60, 12);
    let all = listing(&Trace::from_bytes(whole.clone()).unwrap());
    let mut longest = 0;
    for cut in 0..whole.len() {
        match Trace::from_bytes(whole[..cut].to_vec()) {
            Err(error) => assert!(cut < 32 && matches!(error, Error::NotATrace { .. }), "cut at {cut}: {error}"),
            Ok(trace) => {
                let events = listing(&trace);
                assert_eq!(events, all[..events.len()], "cut at {cut}");
                assert!(trace.footer().is_none());
                // A cut chunk gives up what it holds before the cut.
                assert!(events.len() + 20 > longest, "cut at {cut}: {} events, {longest} before", events.len());
                longest = longest.max(events.len());
            }
        }
    }
    assert_eq!(longest, all.len());
}

#[test]
fn one_damaged_chunk_is_skipped() {
    let whole = sample(60, 30);
    let all = listing(&Trace::from_bytes(whole.clone()).unwrap());
    for position in 32..whole.len() {
        let mut bytes = whole.clone();
        bytes[position] ^= 0x41;
        let trace = Trace::from_bytes(bytes).unwrap();
        let events = listing(&trace);
        let _ = (trace.symbols(), trace.stacks());
        let damage = trace.damage();
        assert!(!damage.is_empty(), "flip at {position} unnoticed");
        assert!(damage.iter().any(|d| d.position <= position as u64), "flip at {position}: {damage:?}");
        assert!(events.len() + 40 > all.len(), "flip at {position} lost {}", all.len() - events.len());
        for (id, event) in &events {
            assert_eq!(event, &all[*id as usize].1, "flip at {position}: ids are still right");
        }
    }
}

#[test]
fn other_files_are_refused_clearly() {
    let message = |bytes: &[u8]| Trace::from_bytes(bytes.to_vec()).err().expect("refused").to_string();
    assert!(message(b"").contains("the file is empty"));
    assert!(message(b"\x7fELF and so on").contains("not a reweave trace"));
    let mut newer = sample(60, 1);
    newer[8..12].copy_from_slice(&4u32.to_le_bytes());
    assert!(message(&newer).contains("damaged"), "a wrong version with a wrong checksum is damage");
    let crc = crc32fast::hash(&newer[..28]);
    newer[28..32].copy_from_slice(&crc.to_le_bytes());
    assert_eq!(message(&newer), "trace format 4 is newer than this build (2): record again or upgrade");
}

/// `tests/data/v1.rwt` was written by the first build that had this format and must stay readable for ever.
/// `REWEAVE_WRITE_SAMPLE=1` makes it anew: only right while version 1 is not released.
#[test]
fn version_1_stays_readable() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/v1.rwt");
    if std::env::var_os("REWEAVE_WRITE_SAMPLE").is_some() {
        let meta = Meta { program: vec!["./bank".into(), "7".into()], seed: 42, ..Meta::default() };
        let mut b = TraceBuilder::create(&path, &meta).unwrap().chunk_words(40);
        b.define_stack(StackId(1), StackId(0), Pc(0x1000)).unwrap();
        for (i, op) in every_op().into_iter().enumerate() {
            b.set_stack(ThreadId(i as u32 % 2), StackId(i as u32 / 4 % 2));
            b.push(ThreadId(i as u32 % 2), Pc(0x40_0000 + i as u64), op).unwrap();
        }
        let place = |line| Place { file: "bank.c".into(), line, function: "main".into() };
        let symbols = Symbols::from_places((0..10).map(|i| (Pc(0x40_0000 + u64::from(i)), place(i + 1))));
        b.finish(Footer { outcome: Outcome::Hung, ..Footer::default() }, Some(&symbols)).unwrap();
    }
    let trace = Trace::open(&path).unwrap();
    let mut events = trace.events();
    // Operations that came later than that file.
    let is_later = |op: &Op<'_>| {
        matches!(
            op,
            Op::Put { .. }
                | Op::Get { .. }
                | Op::Accumulate { .. }
                | Op::EpochBegin { .. }
                | Op::EpochEnd { .. }
                | Op::Stopped
        )
    };
    for (i, op) in every_op().into_iter().filter(|op| !is_later(op)).enumerate() {
        let event = events.next().unwrap().unwrap();
        assert_eq!((event.id, event.op), (EventId(i as u64), op));
        assert_eq!((event.thread, event.stack), (ThreadId(i as u32 % 2), StackId(i as u32 / 4 % 2)));
    }
    assert!(events.next().unwrap().is_none());
    assert_eq!((trace.damage(), trace.meta().seed), (vec![], 42));
    assert_eq!(trace.footer().unwrap().outcome, Outcome::Hung);
    assert_eq!(trace.symbols().place(Pc(0x40_0003)).line, 4);
    assert_eq!(trace.stacks().resolve(StackId(1)), [Pc(0x1000)]);
}

/// Whether a wait or a take had a deadline came later than the first traces, which say it had none.
#[test]
fn deadlines_are_kept() {
    let object = ObjectId(0x40);
    let wait = |timed| Op::Wait { condition: object, mutex: ObjectId(0x80), timed };
    let take = |tried| Op::SemaphoreTake { semaphore: object, value: 3, tried };
    let ops = [wait(true), take(true), wait(false), take(false)];
    let mut builder = TraceBuilder::default();
    for op in ops {
        builder.push(ThreadId(0), Pc(1), op).unwrap();
    }
    let trace = builder.into_trace().unwrap();
    let mut events = trace.events();
    for op in ops {
        assert_eq!(events.next().unwrap().unwrap().op, op);
    }
}

/// Reads everything there is to read; the point is that nothing panics.
fn read_all(bytes: Vec<u8>) {
    if let Ok(trace) = Trace::from_bytes(bytes) {
        let mut events = trace.events();
        let mut last = None;
        while let Some(event) = events.next().unwrap() {
            assert!(last < Some(event.id), "ids grow");
            last = Some(event.id);
        }
        let _ = schedule_of(&trace);
        trace.stacks().resolve(StackId(1));
        trace.symbols();
        trace.damage();
    }
}

/// A chunk header that is right in itself around whatever payload.
fn forged(kind: u8, packing: u8, raw_len: u32, events: u32, thread: u32, payload: &[u8]) -> Vec<u8> {
    let header = reweave_trace::format::v1::ChunkHeader {
        kind,
        packing,
        sequence: 1,
        first_event: 0,
        events,
        thread,
        raw_len,
        stored_len: payload.len() as u32,
        payload_crc: crc32fast::hash(payload),
    };
    let mut bytes = reweave_trace::format::v1::file_header(1).to_vec();
    bytes.extend_from_slice(&header.to_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000), with_header in any::<bool>()) {
        let mut file = if with_header { reweave_trace::format::v1::file_header(1).to_vec() } else { Vec::new() };
        file.extend_from_slice(&bytes);
        read_all(file);
    }

    #[test]
    fn forged_chunks_never_panic(
        kind in 0u8..8, packing in 0u8..5, raw_len in any::<u32>(), events in any::<u32>(), thread in any::<u32>(),
        payload in prop::collection::vec(any::<u8>(), 0..300), small in any::<bool>(),
    ) {
        let raw_len = if small { raw_len % 4096 / 8 * 8 } else { raw_len };
        read_all(forged(kind, packing, raw_len, events, thread, &payload));
        read_all(forged(2, 0, payload.len() as u32, events, thread, &payload));
    }

    #[test]
    fn forged_packed_records_never_panic(
        codes in prop::collection::vec(0u8..64, 0..64), literals in prop::collection::vec(0u8..60, 0..400),
        raw_len in 0u32..4096,
    ) {
        let mut payload = Vec::new();
        for len in [codes.len(), literals.len(), codes.len(), literals.len()] {
            payload.extend_from_slice(&(len as u32).to_le_bytes());
        }
        payload.extend_from_slice(&codes);
        payload.extend_from_slice(&literals);
        for packing in 2..4 {
            let file = forged(2, packing, raw_len / 8 * 8, 9, 0, &payload);
            read_all(file[..file.len() - file.len() % 7].to_vec());
            read_all(file);
        }
    }

    #[test]
    fn many_flips_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40)) {
        let mut bytes = sample(60, 8);
        for (index, byte) in flips {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        read_all(bytes);
    }

    #[test]
    fn any_words_pack_and_unpack(words in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..60, (0u64..58).prop_map(|k| k | 0x1234_0800)], 0..400)) {
        let mut packer = reweave_trace::format::pack::Packer::default();
        let mut out = Vec::new();
        let packed = packer.pack(&words, &mut out, |_, _| {});
        let mut back = Vec::new();
        let mut unpacker = reweave_trace::format::pack::Unpacker::default();
        unpacker.unpack(&out, packed.words * 8, &mut back).unwrap();
        prop_assert_eq!(&back[..], &words[..packed.words]);
        for cut in [out.len() / 3, out.len() / 2, out.len() - 1] {
            unpacker.unpack_prefix(&out[..cut], packed.words * 8, &mut back);
            prop_assert_eq!(&back[..], &words[..back.len()]);
        }
    }

    /// What programs do most: a few accesses again and again, some over an array, with values that stay or change.
    #[test]
    fn loops_pack_and_unpack(
        body in prop::collection::vec((any::<bool>(), prop_oneof![Just(0u64), Just(8), Just(1 << 20)], any::<bool>(), any::<bool>()), 1..6),
        rounds in 1u64..200,
        leaves_at in 0u64..400,
        seed in any::<u64>(),
    ) {
        let (mut words, mut random) = (Vec::new(), seed | 1);
        for round in 0..rounds {
            for (at, &(write, stride, changes, calls)) in body.iter().enumerate() {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let kind = if write { wire::kind::WRITE } else { wire::kind::READ };
                let value = if changes { random >> (random % 61) } else { at as u64 };
                let addr = 0x7000_0000 + (at as u64 % 3) * 4096 + round * stride;
                if calls {
                    words.push(u64::from(wire::kind::STACK) | (at as u64 + 1) << 16);
                }
                words.extend([wire::access_word(kind, 8, 0, 0x40_0000 + at as u64), addr, value]);
            }
            if round == leaves_at {
                words.extend([u64::from(wire::kind::SWITCH) | 1 << 32]);
            }
        }
        let mut packer = reweave_trace::format::pack::Packer::default();
        let mut out = Vec::new();
        let packed = packer.pack(&words, &mut out, |_, _| {});
        prop_assert_eq!(packed.words, words.len());
        prop_assert_eq!(u64::from(packed.events), rounds * body.len() as u64);
        let calls = body.iter().filter(|(.., calls)| *calls).count() as u64;
        prop_assert_eq!(packer.counts[wire::kind::STACK as usize], rounds * calls);
        let mut back = Vec::new();
        reweave_trace::format::pack::Unpacker::default().unpack(&out, words.len() * 8, &mut back).unwrap();
        prop_assert_eq!(&back, &words);
    }
}
