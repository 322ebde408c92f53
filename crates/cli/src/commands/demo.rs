//! `reweave demo`

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reweave_hunt::pipeline::{self, Plan};
use reweave_hunt::replay::{Recording, replay};
use reweave_launch::{Error, PrivateFolder, exit};
use reweave_model::{Harm, Kind};
use reweave_report::text::Detail;
use reweave_report::view::ViewLimits;
use reweave_report::{Report, story};

use super::predict::Deny;
use super::test::ExitRule;
use crate::front_ends::FRONT_ENDS;
use crate::triage::TriageFiles;
use crate::{evidence, output};

/// A small program with one bug.
struct Program {
    /// The kind of finding.
    kind: Kind,
    name: &'static str,
    source: &'static str,
    about: &'static str,
}

/// `Kind name "about"`, for a file in `demo`.
macro_rules! programs {
    ($($kind:ident $name:literal $about:literal;)+) => {
        &[$(Program {
            kind: Kind::$kind,
            name: $name,
            source: include_str!(concat!("../../demo/", $name, ".c")),
            about: $about,
        }),+]
    };
}

const PROGRAMS: &[Program] = programs! {
    Race "bank" "A bank whose two tellers share an account, one of them without the lock";
    Deadlock "transfer" "Two tellers move money between two accounts and lock them in different orders";
    Atomicity "tickets" "Two counters sell the last ticket: every access is locked, the sale is not";
    Failure "ledger" "An auditor who looks between the two halves of a booking";
    Misuse "forgotten" "Threads that are never joined, one more in every round";
    Nondeterminism "auction" "Two bidders and one lock: no race, but the schedule decides who wins";
};

/// What is shown: a kind of bug, a program of many ranks, or what can differ without running anything.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    Kind(Kind),
    Ranks,
    Determinism,
}

impl Choice {
    const fn name(self) -> &'static str {
        match self {
            Self::Kind(kind) => kind.name(),
            Self::Ranks => RANKS,
            Self::Determinism => DETERMINISM,
        }
    }
}

const RANKS: &str = "spmd";
const ABOUT_RANKS: &str = "Two ranks of an MPI program, one of which reads what the other is still putting there";
const DETERMINISM: &str = "determinism";
const ABOUT_DETERMINISM: &str = "Workers that fill their own places of an array: what can differ, without running it";

fn choices() -> impl clap::builder::TypedValueParser<Value = Choice> {
    use clap::builder::{PossibleValue, TypedValueParser as _};
    let kinds = PROGRAMS.iter().map(|program| PossibleValue::new(program.kind.name()).help(program.about));
    let others = [(RANKS, ABOUT_RANKS), (DETERMINISM, ABOUT_DETERMINISM)];
    let values = kinds.chain(others.map(|(name, about)| PossibleValue::new(name).help(about)));
    clap::builder::PossibleValuesParser::new(values).map(|name| match name.as_str() {
        RANKS => Choice::Ranks,
        name => Kind::from_name(name).map_or(Choice::Determinism, Choice::Kind),
    })
}

/// See it work: build a small program with a bug, find the bug, and replay it
#[derive(clap::Args)]
#[command(after_help = "Examples:
  reweave demo
  reweave demo deadlock
  reweave demo race --java
  \
        reweave demo spmd
  reweave demo determinism
  reweave demo race --keep ~/reweave-demo")]
pub struct Args {
    /// The kind of bug
    #[arg(value_name = "KIND", default_value = "race", value_parser = choices())]
    kind: Choice,
    /// A program in Java, for `java` in PATH; there is one for races
    #[arg(long)]
    java: bool,
    /// Keep the program and its findings in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub fn run(args: Args) -> i32 {
    if args.java && args.kind != Choice::Kind(Kind::Race) {
        eprintln!("reweave: the demo in Java is about a race: `reweave demo race --java`");
        return exit::USAGE;
    }
    let temporary;
    let folder = match &args.keep {
        Some(folder) => {
            if let Err(source) = fs::create_dir_all(folder) {
                return output::fail(&Error::Output { action: "create", path: folder.clone(), source });
            }
            match folder.canonicalize() {
                Ok(folder) => folder,
                Err(source) => return output::fail(&Error::Output { action: "open", path: folder.clone(), source }),
            }
        }
        None => match PrivateFolder::new() {
            Ok(folder) => {
                temporary = folder;
                temporary.path().to_owned()
            }
            Err(error) => return output::fail(&error),
        },
    };
    let program = PROGRAMS.iter().find(|program| args.kind == Choice::Kind(program.kind));
    let shown = match program {
        _ if args.java => demo_java(&folder),
        Some(program) => demo(program, &folder),
        None if args.kind == Choice::Ranks => demo_ranks(&folder),
        None => return demo_determinism(&folder).unwrap_or_else(|error| output::fail(&error)),
    };
    let code = shown.unwrap_or_else(|error| output::fail(&error));
    if code == exit::CLEAN {
        let java = if args.java { " --java" } else { "" };
        match &args.keep {
            None => {
                let name = args.kind.name();
                eprintln!("\nKeep the program and its findings with `reweave demo {name}{java} --keep DIR`.")
            }
            Some(folder) => eprintln!(
                "\nSee the interleavings in the browser: `reweave report {}/reweave-out --html report.html`.",
                folder.display()
            ),
        }
    }
    code
}

fn demo(program: &Program, folder: &Path) -> Result<i32, Error> {
    let name = program.name;
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, program.source).map_err(Error::output("write", &source))?;
    eprintln!("{}:\n", program.about);
    let cc = format!("cc -g -o {name} {name}.c -lpthread");
    if shown(&cc, folder, &[])? != exit::CLEAN {
        eprintln!("reweave: the demo could not be built: install a C compiler (Debian, Ubuntu: apt install gcc)");
        return Ok(exit::USAGE);
    }
    test_and_replay(&format!("./{name}"), program.kind, folder)
}

/// The same in Java: its class file is here, so that nothing is compiled.
fn demo_java(folder: &Path) -> Result<i32, Error> {
    for (name, bytes) in [
        ("Bank.java", &include_bytes!("../../demo/java/Bank.java")[..]),
        ("Bank.class", &include_bytes!("../../demo/java/Bank.class")[..]),
    ] {
        let file = folder.join(name);
        fs::write(&file, bytes).map_err(Error::output("write", &file))?;
    }
    eprintln!("A bank in Java whose two tellers share an account, one of them without the lock:\n");
    test_and_replay("java -cp . Bank", Kind::Race, folder)
}

/// What can differ between two runs of a program in Java whose class files are here.
fn demo_determinism(folder: &Path) -> Result<i32, Error> {
    for (name, bytes) in [
        ("Report.java", &include_bytes!("../../demo/determinism/Report.java")[..]),
        ("Report.class", &include_bytes!("../../demo/determinism/Report.class")[..]),
        ("Report$Worker.class", &include_bytes!("../../demo/determinism/Report$Worker.class")[..]),
    ] {
        let file = folder.join(name);
        fs::write(&file, bytes).map_err(Error::output("write", &file))?;
    }
    eprintln!("{ABOUT_DETERMINISM}:\n");
    let code = shown("determinism . --require deterministic:Report.total", folder, &[])?;
    eprintln!("\nThe last writer of `last` differs, and everybody can see that:\n");
    let differs = shown("determinism . --require deterministic:Report.last --explain Report.last", folder, &[])?;
    Ok(if code == exit::CLEAN && differs == exit::FINDINGS { exit::CLEAN } else { exit::INTERNAL })
}

/// Two ranks. Their tests are those of their own commands.
fn demo_ranks(folder: &Path) -> Result<i32, Error> {
    let source = folder.join("halo.c");
    fs::write(&source, include_str!("../../demo/halo.c")).map_err(Error::output("write", &source))?;
    eprintln!("{ABOUT_RANKS}:\n");
    // Of Open MPI: root may run it, and there may be fewer cores than ranks.
    let settings = [
        ("REWEAVE_CC", "mpicc"),
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ];
    let built = Command::new("mpicc").arg("-show").output().is_ok_and(|output| output.status.success())
        && shown("cc -g -o halo halo.c", folder, &settings)? == exit::CLEAN;
    if !built {
        eprintln!(
            "\nreweave: the demo could not be built: install an MPI (Debian, Ubuntu: apt install libopenmpi-dev)"
        );
        return Ok(exit::USAGE);
    }
    if shown("test -- mpirun -n 2 ./halo", folder, &settings)? != exit::FINDINGS {
        eprintln!("reweave: the demo should have found a bug: this is a bug in reweave or in its environment");
        return Ok(exit::INTERNAL);
    }
    eprintln!("\nBoth orders can be replayed:\n");
    let again = shown("replay reweave-out/1", folder, &settings)? == exit::FINDINGS;
    Ok(if again { exit::CLEAN } else { exit::INTERNAL })
}

/// Finds the bug of a program in this folder, makes it happen again, and tells the story.
fn test_and_replay(command: &str, kind: Kind, folder: &Path) -> Result<i32, Error> {
    // Information rather than a defect, unless it is said so.
    let deny = (kind == Kind::Nondeterminism).then_some(Deny::Nondeterminism);
    eprintln!("$ reweave test {}-- {command}", if deny.is_some() { "--deny nondeterminism " } else { "" });
    let out = folder.join("reweave-out");
    let mut plan = Plan::new(FRONT_ENDS, command.split(' ').map(OsString::from).collect(), out.clone());
    plan.options.cwd = folder.to_owned();
    let passing = ExitRule { deny, ..ExitRule::default() };
    if super::test::test(&plan, &TriageFiles::default(), Detail::Normal, passing) != exit::FINDINGS {
        eprintln!("reweave: the demo should have found a bug: this is a bug in reweave or in its environment");
        return Ok(exit::INTERNAL);
    }
    let report = pipeline::load_report(&out)?;
    let Some(item) = most_instructive(&report, kind) else { return Ok(exit::INTERNAL) };
    eprintln!("\nFinding {} can be replayed any number of times:\n\n$ reweave replay reweave-out/{}", item.id, item.id);
    let replayed = replay(&Recording::open(FRONT_ENDS, &out.join(item.id.to_string()))?)?;
    let again = super::replay::print_replay(&replayed) == exit::FINDINGS;
    eprintln!("\nAnd this is what happened:\n\n$ reweave explain reweave-out/{}", item.id);
    let evidence = evidence::of(item, &out, ViewLimits::default())?;
    let _ = story::of_item(item, &evidence).write(&mut std::io::stderr());
    Ok(if again { exit::CLEAN } else { exit::INTERNAL })
}

/// Runs one of our own commands, as the user would.
fn shown(command: &str, folder: &Path, settings: &[(&str, &str)]) -> Result<i32, Error> {
    // Of the settings, which compiler it is is worth showing.
    let compiler = settings.iter().find(|(name, _)| *name == "REWEAVE_CC" && command.starts_with("cc "));
    let compiler = compiler.map_or(String::new(), |(name, value)| format!("{name}={value} "));
    eprintln!("$ {compiler}reweave {command}");
    let own = std::env::current_exe().map_err(|source| Error::System { action: "finding our own program", source })?;
    let status = Command::new(own).args(command.split(' ')).envs(settings.iter().copied()).current_dir(folder).status();
    let status = status.map_err(|source| Error::CannotRun { program: "reweave".into(), source })?;
    Ok(exit::of_program(status))
}

/// The most instructive finding of this kind: a confirmed run that failed.
fn most_instructive(report: &Report, kind: Kind) -> Option<&reweave_report::Item> {
    let confirmed = || report.findings.iter().filter(|item| item.schedule.is_some() && item.kind == kind);
    let failed = confirmed().find(|item| item.harm == Some(Harm::Status));
    failed.or_else(|| confirmed().next())
}
