//! Soundness: every state, value and source of every execution of random programs lies in the computed sets, and
//! nothing that is called proved is contradicted by an execution.

mod machine;
mod observe;
mod paper;
mod programs;
mod proofs;

use std::collections::{BTreeMap, BTreeSet};

use reweave_script::language::{self, Slot, StatementId, StatementKind, Type, parse};
use reweave_script::testing::{random, write};
use reweave_statics::faults::{Fault, seed};
use reweave_statics::parallelise::{Answer, parallelise, threaded};
use reweave_statics::verdict::Verdicts;
use reweave_statics::{Program, Settings};

use machine::Machine;
use observe::Observer;

/// Programs that a plain test run looks at; `REWEAVE_STATICS_PROGRAMS` asks for more, `REWEAVE_STATICS_SEED` for
/// others.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let ask = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first = ask("REWEAVE_STATICS_SEED").unwrap_or(0);
    first..first + ask("REWEAVE_STATICS_PROGRAMS").unwrap_or(usual)
}

#[derive(Default, Debug)]
struct Looked {
    programs: usize,
    states: usize,
    too_large: usize,
    precision: proofs::Precision,
    by_paper: BTreeMap<&'static str, paper::Counts>,
}

/// Looks at one program; what is wrong with what is said about it.
fn look(text: &str, most: usize, looked: &mut Looked) -> Result<(), String> {
    let program = parse("random.rwi", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let analysed = Program::new(&program, Settings { memories: true, ..Settings::default() });
    if !analysed.lacking.is_empty() {
        return Err(format!("no solution at {:?}", analysed.lacking));
    }
    let verdicts = Verdicts::new(&analysed);
    for input in [0, 1] {
        let machine = Machine { skeleton: &analysed.skeleton, program: &program, input };
        let Some(observed) = (Observer { machine, analysed: &analysed }).run(most)? else {
            looked.too_large += 1;
            return Ok(());
        };
        proofs::hold(&analysed, &verdicts, &observed, &mut looked.precision)?;
        paper::hold(&analysed, &observed, &mut looked.by_paper)?;
        looked.programs += 1;
        looked.states += observed.states;
        if !text.contains("= input") {
            break;
        }
    }
    Ok(())
}

#[test]
fn executions_lie_within_what_is_computed() {
    let mut looked = Looked::default();
    for seed in seeds(1500) {
        let text = programs::program(seed);
        look(&text, 60_000, &mut looked).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}\n{text}"));
    }
    println!("{looked:?}");
    assert!(looked.programs > 10 * looked.too_large);
}

/// The programs that the whole loop is tested with.
#[test]
fn executions_of_other_programs_lie_within_what_is_computed() {
    let mut looked = Looked::default();
    for seed in seeds(500) {
        let text = write(&random::sketch(seed, random::ProgramSize::default()));
        look(&text, 20_000, &mut looked).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}\n{text}"));
    }
    println!("{looked:?}");
    assert!(looked.programs > looked.too_large);
}

/// What is called parallelisable prints and leaves the same when it is done in parallel, whatever the order.
#[test]
fn what_is_parallelisable_is() {
    let (mut yes, mut no, mut with) = (0, 0, 0);
    for seed in seeds(600) {
        let text = programs::two_calls(seed);
        let code = parse("calls.rwi", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let main = code.main().unwrap();
        let is_call = |kind: &StatementKind| matches!(kind, StatementKind::Call { .. });
        let calls: Vec<StatementId> = code
            .statements()
            .filter(|(function, statement)| *function == main && is_call(&statement.kind))
            .map(|(_, statement)| statement.id)
            .collect();
        let Answer::Parallelisable { private, reductions } = parallelise(&code, calls[0], calls[1]) else {
            no += 1;
            continue;
        };
        yes += 1;
        with += usize::from(!reductions.is_empty());
        assert!(private.is_empty() || !private.contains(&"x".to_owned()), "x is read at the end\n{text}");
        let changed = threaded(&code, calls[0], calls[1]).expect("it was done");
        let ends = |code: &language::Program| {
            let analysed = Program::new(code, Settings::default());
            let machine = Machine { skeleton: &analysed.skeleton, program: code, input: 0 };
            let observed = (Observer { machine, analysed: &analysed }).run(60_000).unwrap().expect("it is small");
            let texts = observed.outputs.iter().map(|all| all.iter().map(|(_, text)| text.clone()).collect());
            let left = |cell: &machine::Cell| {
                let name = &code.globals[cell.base as usize].name;
                let element = format!("{name}[{}]", cell.index);
                !private.iter().any(|one| one == name || *one == element || *one == format!("{name}[]"))
            };
            let globals = code.globals.iter().filter(|global| !global.name.starts_with("result of")).count() as u64;
            let last = observed.last.iter().filter(|(cell, _)| cell.base < globals && left(cell));
            // Objects have other names in the other program.
            let is_value = |cell: &machine::Cell| {
                !matches!(code.globals[cell.base as usize].slot, Slot::Value(Type::Ref | Type::Thread))
            };
            let values = |(cell, read): (&machine::Cell, &observe::Returned)| {
                let shown = if is_value(cell) { read.values.clone() } else { [read.values.len() as u64].into() };
                (*cell, shown)
            };
            let last: BTreeMap<machine::Cell, BTreeSet<u64>> = last.map(values).collect();
            (texts.collect::<BTreeSet<Vec<String>>>(), last)
        };
        assert_eq!(ends(&changed), ends(&code), "seed {seed}\n{text}");
    }
    println!("{yes} of {} are parallelisable, {with} of them with reductions", yes + no);
    assert!(yes > 20 && no > 20);
}

/// Mistakes in the analysis do not stay unnoticed: these programs, or the check of the solution, show each of them. A
/// few need more programs than a plain test run has time for (`cargo xtask oracle faults`).
#[test]
fn seeded_faults_are_noticed() {
    let all = std::env::var_os("REWEAVE_FAULTS").is_some();
    let mut unnoticed: Vec<Fault> = Vec::new();
    for fault in Fault::ALL {
        seed(Some(*fault));
        let noticed = (0..if all { 40_000 } else { 1_000 }).find(|seed| {
            let text = programs::program(*seed);
            let look = || look(&text, 20_000, &mut Looked::default());
            // A wrong analysis may also trip over itself.
            !matches!(std::panic::catch_unwind(look), Ok(Ok(())))
        });
        seed(None);
        println!("{fault:?}: {noticed:?}");
        unnoticed.extend(noticed.is_none().then_some(*fault));
    }
    let few = if all { 0 } else { Fault::ALL.len() - 20 };
    assert!(unnoticed.len() <= few, "{unnoticed:?} stay unnoticed");
}
