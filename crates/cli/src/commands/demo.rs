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
use reweave_report::view::Limits;
use reweave_report::{Report, story};

use super::predict::Deny;
use super::test::Passing;
use crate::front_ends::FRONT_ENDS;
use crate::triage::Judge;
use crate::{evidence, output};

/// A small program with one bug.
struct Program {
    /// The kind of finding.
    kind: Kind,
    name: &'static str,
    source: &'static str,
    about: &'static str,
}

const PROGRAMS: [Program; 6] = [
    Program {
        kind: Kind::Race,
        name: "bank",
        source: include_str!("../../demo/bank.c"),
        about: "A bank whose two tellers share an account, one of them without the lock",
    },
    Program {
        kind: Kind::Deadlock,
        name: "transfer",
        source: include_str!("../../demo/transfer.c"),
        about: "Two tellers move money between two accounts and lock them in different orders",
    },
    Program {
        kind: Kind::Atomicity,
        name: "tickets",
        source: include_str!("../../demo/tickets.c"),
        about: "Two counters sell the last ticket: every access is locked, the sale is not",
    },
    Program {
        kind: Kind::Failure,
        name: "ledger",
        source: include_str!("../../demo/ledger.c"),
        about: "An auditor who comes between the two sides of a booking",
    },
    Program {
        kind: Kind::Misuse,
        name: "forgotten",
        source: include_str!("../../demo/forgotten.c"),
        about: "Threads that nobody waits for, one more in every round",
    },
    Program {
        kind: Kind::Nondeterminism,
        name: "auction",
        source: include_str!("../../demo/auction.c"),
        about: "Two bidders and one lock: no race, but the schedule decides who wins",
    },
];

fn kinds() -> impl clap::builder::TypedValueParser<Value = Kind> {
    use clap::builder::TypedValueParser as _;
    let values =
        PROGRAMS.iter().map(|program| clap::builder::PossibleValue::new(program.kind.name()).help(program.about));
    clap::builder::PossibleValuesParser::new(values).map(|name| Kind::from_name(&name).unwrap_or(Kind::Race))
}

/// See it work: build a small program with a bug, find the bug, and replay it
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  reweave demo\n  reweave demo deadlock\n  reweave demo race --java\n  reweave demo race --keep ~/reweave-demo"
)]
pub struct Args {
    /// The kind of bug
    #[arg(value_name = "KIND", default_value = "race", value_parser = kinds())]
    kind: Kind,
    /// A program in Java, for `java` in PATH; there is one for races
    #[arg(long)]
    java: bool,
    /// Leave program and findings in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub fn run(args: Args) -> i32 {
    if args.java && args.kind != Kind::Race {
        eprintln!("reweave: the demo in Java is about a race: `reweave demo race --java`");
        return exit::USAGE;
    }
    let Some(program) = PROGRAMS.iter().find(|program| program.kind == args.kind) else { return exit::USAGE };
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
    let shown = if args.java { demo_java(&folder) } else { demo(program, &folder) };
    let code = shown.unwrap_or_else(|error| output::fail(&error));
    if code == exit::CLEAN {
        let java = if args.java { " --java" } else { "" };
        match &args.keep {
            None => {
                eprintln!("\nKeep the program and its findings with `reweave demo {}{java} --keep DIR`.", program.kind)
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
    if shown(&cc, folder)? != exit::CLEAN {
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

/// Finds the bug of a program in this folder, makes it happen again, and tells the story.
fn test_and_replay(command: &str, kind: Kind, folder: &Path) -> Result<i32, Error> {
    // Information rather than a defect, unless it is said so.
    let deny = (kind == Kind::Nondeterminism).then_some(Deny::Nondeterminism);
    eprintln!("$ reweave test {}-- {command}", if deny.is_some() { "--deny nondeterminism " } else { "" });
    let out = folder.join("reweave-out");
    let mut plan = Plan::new(FRONT_ENDS, command.split(' ').map(OsString::from).collect(), out.clone());
    plan.options.cwd = folder.to_owned();
    let passing = Passing { deny, ..Passing::default() };
    if super::test::test(&plan, &Judge::default(), Detail::Normal, passing) != exit::FINDINGS {
        eprintln!("reweave: the demo should have found a bug: this is a bug in reweave or in its environment");
        return Ok(exit::INTERNAL);
    }
    let report = pipeline::load_report(&out)?;
    let Some(item) = most_instructive(&report, kind) else { return Ok(exit::INTERNAL) };
    eprintln!("\nFinding {} can be had again at will:\n\n$ reweave replay reweave-out/{}", item.id, item.id);
    let replayed = replay(&Recording::open(FRONT_ENDS, &out.join(item.id.to_string()))?)?;
    let again = super::replay::tell(&replayed) == exit::FINDINGS;
    eprintln!("\nAnd this is what happened:\n\n$ reweave explain reweave-out/{}", item.id);
    let evidence = evidence::of(item, &out, Limits::default())?;
    let _ = story::tell(item, &evidence).write(&mut std::io::stderr());
    Ok(if again { exit::CLEAN } else { exit::INTERNAL })
}

/// Runs one of our own commands, as the user would.
fn shown(command: &str, folder: &Path) -> Result<i32, Error> {
    eprintln!("$ reweave {command}");
    let own = std::env::current_exe().map_err(|source| Error::System { action: "finding our own program", source })?;
    let status = Command::new(own).args(command.split(' ')).current_dir(folder).status();
    let status = status.map_err(|source| Error::CannotRun { program: "reweave".into(), source })?;
    Ok(exit::of_program(status))
}

/// The most instructive finding of this kind: a confirmed run that failed.
fn most_instructive(report: &Report, kind: Kind) -> Option<&reweave_report::Item> {
    let confirmed = || report.findings.iter().filter(|item| item.schedule.is_some() && item.kind == kind);
    let failed = confirmed().find(|item| item.harm == Some(Harm::Status));
    failed.or_else(|| confirmed().next())
}
