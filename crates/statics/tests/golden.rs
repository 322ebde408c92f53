//! The programs of the paper and of its open questions, by its rule and by ours.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use reweave_script::language::{self, parse};
use reweave_statics::domain::value::{Domain, Precision, Value};
use reweave_statics::domain::views::Partition;
use reweave_statics::frames::ThreadId;
use reweave_statics::paper::{Memories, Projection, Reading, Step, Writer};
use reweave_statics::values::locations::LocationId;
use reweave_statics::verdict::{Kind, OutputDiffers, SameBecause, Verdict, Verdicts, races};
use reweave_statics::{Program, Settings, values};

fn read(name: &str) -> language::Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/statics").join(format!("{name}.rwi"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse(&format!("{name}.rwi"), &text).unwrap_or_else(|error| panic!("{error}"))
}

fn analyse(program: &language::Program) -> (Program<'_>, Verdicts) {
    let settings = Settings { memories: true, ..Settings::default() };
    let analysed = Program::new(program, settings);
    assert!(analysed.lacking.is_empty(), "no solution at {:?}", analysed.lacking);
    let verdicts = Verdicts::new(&analysed);
    (analysed, verdicts)
}

fn location(program: &Program<'_>, name: &str) -> LocationId {
    let found =
        program.locations.ids().find(|at| program.locations.name(&program.skeleton, &program.points_to, *at) == name);
    found.unwrap_or_else(|| panic!("there is no location {name}"))
}

/// What is said of the reads of a location, by line; those at the end of main apart.
fn kinds(program: &Program<'_>, verdicts: &Verdicts, name: &str) -> Vec<(u32, &'static str)> {
    let line = |at: reweave_statics::frames::Point| program.skeleton.statement(at.statement).position.line;
    let reads = verdicts.reads.get(&location(program, name)).into_iter().flatten();
    let mut all: Vec<_> = reads.map(|read| (line(read.at), word(&read.kind))).collect();
    all.sort_unstable();
    all
}

fn at_end(program: &Program<'_>, verdicts: &Verdicts, name: &str) -> &'static str {
    let all = &verdicts.last[&location(program, name)];
    assert_eq!(all.len(), 1);
    word(&all[0].kind)
}

const fn word(kind: &Kind) -> &'static str {
    match kind {
        Kind::Fixed => "fixed",
        Kind::SameValue(SameBecause::Constant) => "same constant",
        Kind::SameValue(SameBecause::OrderFree) => "order-free",
        Kind::PartOfUpdate => "part of update",
        Kind::Derived => "derived",
        Kind::Choice(_) => "choice",
        Kind::Unknown => "unknown",
    }
}

/// The paper's analysis: one domain, numbers without end, no thresholds.
fn by_paper(program: &language::Program, precision: Precision, patience: u32) -> Program<'_> {
    let domain = Domain { precision, wraps: false };
    let values = values::Settings { domain, patience, thresholds: false };
    let analysed = Program::new(program, Settings { values, memories: true, ..Settings::default() });
    assert!(analysed.lacking.is_empty(), "no solution at {:?}", analysed.lacking);
    analysed
}

fn memories<'a>(program: &'a Program<'_>) -> &'a Memories {
    program.memories.as_ref().expect("they were asked for")
}

/// Of a location, when main ends: what each thread may have written, and all of it.
fn written(program: &Program<'_>, name: &str) -> (Vec<(String, String)>, String) {
    let memories = memories(program);
    let state =
        memories.states.iter().find(|state| state.thread == ThreadId::MAIN && state.step == Step::Ends).unwrap();
    let at = location(program, name);
    let kind = program.locations.get(at).kind;
    let name = |writer: &Writer| match writer {
        Writer::System => "System".to_owned(),
        Writer::Thread(thread) => program.skeleton.name(*thread),
    };
    let level1 = state.memory[&at].iter().map(|(writer, value)| (name(writer), value.shown(kind)));
    (level1.collect(), memories.level2(state)[&at].0.shown(kind))
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
}

#[test]
fn account() {
    let program = read("account");
    let (analysed, verdicts) = analyse(&program);
    let expected = [(11, "part of update"), (21, "part of update"), (34, "order-free")];
    assert_eq!(kinds(&analysed, &verdicts, "amount"), expected);
    assert_eq!(at_end(&analysed, &verdicts, "amount"), "order-free");
    assert_eq!(verdicts.location(location(&analysed, "amount")), Verdict::Proved);
    assert_eq!(verdicts.output(), Verdict::Proved);
    assert!(races(&analysed).is_empty());

    let intervals = by_paper(&program, Precision::Intervals, 4);
    let (level1, level2) = written(&intervals, "amount");
    assert_eq!(level1, pairs(&[("deposit", "[1000..1100]"), ("withdraw", "[900..1000]")]));
    assert_eq!(level2, "[900..1100]");
    assert_eq!(intervals.rounds, 3);
    for reading in [Reading::Printed, Reading::Corrected] {
        let everything = Projection::default();
        assert!(!memories(&intervals).is_deterministic(reading, &everything));
        assert!(!memories(&intervals).is_deterministic_at_level2(reading, &everything));
        assert!(!memories(&intervals).is_weakly_deterministic(reading, &everything, Partition::Constant));
    }
    // Widening before the third round.
    let (level1, _) = written(&by_paper(&program, Precision::Intervals, 1), "amount");
    assert!(level1.iter().any(|(_, value)| value.starts_with("[-∞")), "{level1:?}");
}

#[test]
fn account_by_signs() {
    let program = read("account");
    let signs = by_paper(&program, Precision::Signs, 4);
    let (level1, level2) = written(&signs, "amount");
    assert_eq!(level1, pairs(&[("deposit", "any number"), ("withdraw", "any number")]));
    assert_eq!(level2, "any number");
    let at = Projection {
        threads: Some([ThreadId::MAIN].into()),
        locations: Some([location(&signs, "amount")].into()),
        steps: Some([Step::Reads].into()),
        points: None,
    };
    // Unknown equals unknown: read literally, this is weakly deterministic.
    assert!(memories(&signs).is_weakly_deterministic(Reading::Printed, &at, Partition::Sign));
    assert!(!memories(&signs).is_weakly_deterministic(Reading::Corrected, &at, Partition::Sign));
}

#[test]
fn withdraw2() {
    let program = read("withdraw2");
    let (analysed, verdicts) = analyse(&program);
    let amount = location(&analysed, "amount");
    assert_eq!(kinds(&analysed, &verdicts, "amount"), [(10, "choice"), (20, "choice"), (38, "choice")]);
    assert_eq!(verdicts.location(amount), Verdict::CanDiffer);
    assert!(verdicts.is_weakly_deterministic(&analysed, amount, Partition::Sign));
    assert!(!verdicts.is_weakly_deterministic(&analysed, amount, Partition::Constant));
    let enough = Partition::Predicate(language::Test::Ge, 0);
    assert!(verdicts.is_weakly_deterministic(&analysed, amount, enough));

    let signs = by_paper(&program, Precision::Signs, 4);
    let everything = Projection::default();
    assert_eq!(written(&signs, "amount").1, "[1..∞]");
    for reading in [Reading::Printed, Reading::Corrected] {
        assert!(!memories(&signs).is_deterministic(reading, &everything));
        assert!(memories(&signs).is_weakly_deterministic(reading, &everything, Partition::Sign));
    }
    let intervals = by_paper(&program, Precision::Intervals, 4);
    for reading in [Reading::Printed, Reading::Corrected] {
        assert!(!memories(&intervals).is_weakly_deterministic(reading, &everything, Partition::Constant));
    }
}

#[test]
fn disjoint_blocks() {
    let program = read("disjoint_blocks");
    let (analysed, verdicts) = analyse(&program);
    for name in ["x", "y"] {
        assert_eq!(verdicts.location(location(&analysed, name)), Verdict::Proved, "{name}");
        assert!(kinds(&analysed, &verdicts, name).iter().all(|(_, kind)| *kind == "fixed"));
    }
    assert_eq!(verdicts.output(), Verdict::Proved);
    let everything = Projection::default();
    assert!(!memories(&analysed).is_deterministic(Reading::Printed, &everything));
    assert!(memories(&analysed).is_deterministic(Reading::Corrected, &everything));
}

#[test]
fn one_writer_two_values() {
    let program = read("same_writer");
    let (analysed, verdicts) = analyse(&program);
    assert_eq!(kinds(&analysed, &verdicts, "x"), [(8, "choice")]);
    assert_eq!(verdicts.output(), Verdict::CanDiffer);
    let read = &verdicts.reads[&location(&analysed, "x")][0];
    assert_eq!(read.seen.value.shown(language::Type::I32), "{1, 2}");
    assert!(memories(&analysed).is_deterministic(Reading::Printed, &Projection::default()), "as the paper has it");
}

#[test]
fn input_is_no_choice() {
    let program = read("input_shifts");
    let (analysed, verdicts) = analyse(&program);
    for name in ["x", "y"] {
        assert_eq!(verdicts.location(location(&analysed, name)), Verdict::Proved, "{name}");
    }
    assert_eq!(verdicts.output(), Verdict::Proved);
    assert!(memories(&analysed).is_deterministic(Reading::Corrected, &Projection::default()));
}

#[test]
fn many_threads_of_one_site() {
    let program = read("two_instances");
    let (analysed, verdicts) = analyse(&program);
    assert!(analysed.skeleton.threads[1].is_many);
    assert_eq!(kinds(&analysed, &verdicts, "x"), [(7, "choice")]);
    assert!(!races(&analysed).is_empty());
    let worker =
        Projection { threads: Some([ThreadId(1)].into()), steps: Some([Step::Ends].into()), ..Projection::default() };
    assert!(memories(&analysed).is_deterministic(Reading::Printed, &worker), "one abstract thread, one writer");
    assert!(!memories(&analysed).is_deterministic(Reading::Corrected, &worker));
}

#[test]
fn what_nobody_reads_is_read_at_the_end() {
    let program = read("blind_writers");
    let (analysed, verdicts) = analyse(&program);
    assert!(kinds(&analysed, &verdicts, "x").is_empty());
    assert_eq!(at_end(&analysed, &verdicts, "x"), "choice");
    assert_eq!(verdicts.location(location(&analysed, "x")), Verdict::CanDiffer);
    // An initial write, by the system.
    assert_eq!(at_end(&analysed, &verdicts, "untouched"), "fixed");
    assert_eq!(written(&analysed, "untouched").0, pairs(&[("System", "7")]));
}

#[test]
fn two_writers_before_a_read() {
    let program = read("read_after_joins");
    let (analysed, verdicts) = analyse(&program);
    let read = &verdicts.reads[&location(&analysed, "x")][0];
    let Kind::Choice(pairs) = &read.kind else { panic!("{read:?}") };
    assert!(pairs.iter().all(|(one, other)| *one != read.at && *other != read.at), "writes, not the read");
    assert!(read.seen.beside.is_empty());
}

#[test]
fn a_choice_may_be_the_same_value() {
    let program = read("same_constant");
    let (analysed, verdicts) = analyse(&program);
    assert_eq!(kinds(&analysed, &verdicts, "done"), [(17, "same constant")]);
    assert_eq!(verdicts.output(), Verdict::Proved);
    assert!(!races(&analysed).is_empty());
}

#[test]
fn what_a_choice_decides_is_derived() {
    let program = read("derived");
    let (analysed, verdicts) = analyse(&program);
    assert_eq!(kinds(&analysed, &verdicts, "x"), [(17, "choice")]);
    assert_eq!(kinds(&analysed, &verdicts, "copy"), [(27, "derived")]);
    assert_eq!(kinds(&analysed, &verdicts, "flag"), [(28, "derived")]);
    assert_eq!(kinds(&analysed, &verdicts, "after"), [(29, "fixed")]);
    let output = verdicts.outputs.values().next().unwrap();
    assert_eq!(output[..], [OutputDiffers::Tainted]);
}

#[test]
fn elements_are_told_apart() {
    let program = read("array_halves");
    let (analysed, verdicts) = analyse(&program);
    for name in ["results[0]", "results[1]"] {
        assert_eq!(verdicts.location(location(&analysed, name)), Verdict::Proved, "{name}");
    }
    assert_eq!(verdicts.status, Verdict::Proved);
}

#[test]
fn floats_are_not_associative() {
    let program = read("float_sum");
    let (analysed, verdicts) = analyse(&program);
    assert_eq!(verdicts.location(location(&analysed, "sum")), Verdict::CanDiffer);
    assert!(races(&analysed).is_empty());
}

#[test]
fn one_site_is_not_one_lock() {
    let program = read("own_locks");
    let (analysed, verdicts) = analyse(&program);
    assert_eq!(verdicts.location(location(&analysed, "checksum")), Verdict::CanDiffer);
    let racing: BTreeSet<LocationId> = races(&analysed).into_iter().map(|(location, _)| location).collect();
    assert!(racing.contains(&location(&analysed, "checksum")));
}

#[test]
fn threads_one_after_the_other() {
    let program = read("one_after_the_other");
    let (analysed, verdicts) = analyse(&program);
    assert!(analysed.skeleton.threads[1].is_many);
    assert_eq!(verdicts.location(location(&analysed, "x")), Verdict::Proved);
    assert_eq!(verdicts.output(), Verdict::Proved);
}

#[test]
fn locks_hide_what_is_overwritten() {
    let program = read("own_write_under_lock");
    let (analysed, verdicts) = analyse(&program);
    assert_eq!(kinds(&analysed, &verdicts, "x"), [(12, "fixed"), (12, "fixed"), (23, "choice")]);
    let reads = &verdicts.reads[&location(&analysed, "x")];
    let main = reads.iter().find(|read| analysed.skeleton.thread_of(read.at) == ThreadId::MAIN).unwrap();
    assert_eq!(main.seen.value, Value::Number(reweave_statics::domain::number::Number::Set(vec![0, 1, 2])));
}

/// Two calls that add to one sum under a lock: their order does not matter.
#[test]
fn two_additions_are_a_reduction() {
    let text = "global x: i32\nglobal m: lock\nfunc add(%k: i32) {\nentry:\n  enter m\n  %a: i32 = load x\n  \
                %b: i32 = add %a, %k\n  store x, %b\n  exit m\n  return\n}\nfunc main() {\nentry:\n  call add(1)\n  \
                call add(2)\n  %x: i32 = load x\n  output %x\n  return\n}\n";
    let code = parse("sum.rwi", text).unwrap_or_else(|error| panic!("{error}"));
    let calls: Vec<language::StatementId> = code
        .statements()
        .filter(|(_, one)| matches!(one.kind, language::StatementKind::Call { .. }))
        .map(|(_, one)| one.id)
        .collect();
    let answer = reweave_statics::parallelise::parallelise(&code, calls[0], calls[1]);
    let reweave_statics::parallelise::Answer::Parallelisable { private, reductions } = answer else {
        panic!("{answer:?}")
    };
    assert!(private.is_empty());
    assert_eq!(reductions, ["x"]);
}

#[test]
fn own_update_under_lock() {
    let program = read("own_update_under_lock");
    let (analysed, verdicts) = analyse(&program);
    assert_eq!(kinds(&analysed, &verdicts, "x")[2].1, "choice");
    assert_eq!(verdicts.output(), Verdict::CanDiffer);
}

#[test]
fn wait_with_shared_lock() {
    let program = read("wait_with_shared_lock");
    let (_, verdicts) = analyse(&program);
    assert_eq!(verdicts.status, Verdict::CanDiffer);
}
