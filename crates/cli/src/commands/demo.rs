//! `reweave demo`

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reweave_launch::pipeline::{self, Plan};
use reweave_launch::replay::{Recording, replay};
use reweave_launch::{Error, PrivateFolder, exit};

use crate::output;

const SOURCE: &str = include_str!("../../demo/bank.c");

/// See it work: build a small bank with a bug, find the bug, and replay it
#[derive(clap::Args)]
#[command(after_help = "Example:\n  reweave demo --keep ~/reweave-demo")]
pub struct Args {
    /// Leave program and findings in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

pub fn run(args: Args) -> i32 {
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
    let code = demo(&folder).unwrap_or_else(|error| output::fail(&error));
    if args.keep.is_none() && code == exit::CLEAN {
        eprintln!("\nKeep the program and its findings with `reweave demo --keep DIR`.");
    }
    code
}

fn demo(folder: &Path) -> Result<i32, Error> {
    let (source, program, out) = (folder.join("bank.c"), folder.join("bank"), folder.join("reweave-out"));
    fs::write(&source, SOURCE).map_err(|source_error| Error::Output {
        action: "write",
        path: source.clone(),
        source: source_error,
    })?;
    eprintln!("A bank whose two tellers share an account, one of them without the lock:\n");
    eprintln!("$ reweave cc -g -o bank bank.c -lpthread");
    let own = std::env::current_exe().map_err(|source| Error::System { action: "finding our own program", source })?;
    let built = Command::new(own).args(["cc", "-g", "-o"]).arg(&program).arg(&source).arg("-lpthread").status();
    let built = built.map_err(|source| Error::CannotRun { program: "reweave cc".into(), source })?;
    if !built.success() {
        eprintln!("reweave: the demo could not be built: install a C compiler (Debian, Ubuntu: apt install gcc)");
        return Ok(exit::USAGE);
    }
    eprintln!("$ reweave test -- ./bank");
    let mut plan = Plan::new(vec![OsString::from("./bank")], out.clone());
    plan.options.cwd = folder.to_owned();
    let code = super::test::test(&plan, &crate::living::Judge::default(), reweave_report::text::Detail::Normal);
    if code != exit::FINDINGS {
        eprintln!("reweave: the demo should have found a race: this is a bug in reweave or in its environment");
        return Ok(exit::INTERNAL);
    }
    // The most telling one: a confirmed run in which money was lost.
    let report = pipeline::load_report(&out)?;
    let confirmed = || report.findings.iter().filter(|item| item.schedule.is_some());
    let lost = confirmed().find(|item| item.outcome.as_deref().is_some_and(|how| how.contains("status")));
    let Some(item) = lost.or_else(|| confirmed().next()) else { return Ok(exit::INTERNAL) };
    eprintln!("\nFinding {} can be had again at will:\n\n$ reweave replay reweave-out/{}", item.id, item.id);
    let replayed = replay(&Recording::open(&out.join(item.id.to_string()))?)?;
    let again = super::replay::tell(&replayed) == exit::FINDINGS;
    Ok(if again { exit::CLEAN } else { exit::INTERNAL })
}
