//! What a confirmed finding keeps, and doing it again.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reweave_launch::{Error, PrivateFolder, Result};
use serde::{Deserialize, Serialize};

use super::Unpacked;
use super::recording::{cannot_run, program};
use crate::ids::Rank;
use crate::logfile;
use crate::plan::Plan;
use crate::session::{Ordered, Output, steer};

/// The file in the folder of a finding.
const FILE: &str = "orders.json";

/// How both orders of a pair are made to happen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Again {
    command: Vec<String>,
    cwd: PathBuf,
    /// The pair, once in each order.
    plans: [String; 2],
    /// How long a run may take, in seconds.
    limit: u64,
}

/// How it went.
pub struct Replayed {
    /// For each order: whether it happened, and what was read or left then.
    pub orders: Vec<(bool, String)>,
    /// Both happened.
    pub happened: bool,
}

impl Again {
    pub(super) fn new(command: &[OsString], cwd: &Path, plans: &[Plan; 2], limit: Duration) -> Again {
        Again {
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            cwd: cwd.to_owned(),
            plans: plans.each_ref().map(ToString::to_string),
            limit: limit.as_secs().max(1),
        }
    }

    /// The finding in this folder, if it is one of ranks.
    pub fn open(folder: &Path) -> Option<Again> {
        serde_json::from_str(&fs::read_to_string(folder.join(FILE)).ok()?).ok()
    }

    /// Is there a finding of ranks in this folder?
    pub fn is_in(folder: &Path) -> bool {
        folder.join(FILE).exists()
    }

    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).map_err(Error::output("create", folder))?;
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        fs::write(&path, text).map_err(Error::output("write", &path))
    }

    fn command(&self) -> Vec<OsString> {
        self.command.iter().map(OsString::from).collect()
    }

    fn plans(&self) -> Result<[Plan; 2]> {
        let [one, other] = self.plans.each_ref().map(|plan| {
            plan.parse().map_err(|()| Error::NotReplayable {
                path: FILE.into(),
                why: "its plan cannot be read: run `reweave test` again".into(),
            })
        });
        Ok([one?, other?])
    }

    /// Runs the program in both orders.
    pub fn replay(&self) -> Result<Replayed> {
        let unpacked = Unpacked::new()?;
        let command = self.command();
        let program = program(&command, &self.cwd, &unpacked, Duration::from_secs(self.limit));
        let mut orders: Vec<Ordered> = Vec::new();
        for plan in self.plans()? {
            let folder = PrivateFolder::new()?;
            let run = steer(&program, folder.path(), &plan, Output::File);
            orders.push(run.map_err(|source| cannot_run(&command, source))?);
        }
        let happened = orders.iter().all(|order| order.happened);
        let told = |(number, order): (usize, &Ordered)| (order.happened, values(order, number == 0));
        Ok(Replayed { happened, orders: orders.iter().enumerate().map(told).collect() })
    }
}

/// While a debugger looks at a rank, nobody's patience ends.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a run may take to get to the access, and to end once nobody looks at it any more.
const SOON: Duration = Duration::from_secs(30);
static LEFT_ALONE: AtomicBool = AtomicBool::new(false);

/// Goes up to the statement of the program, out of the library for ranks.
const SELECT: &str = "set pagination off
continue
python
frame = gdb.newest_frame()
while frame is not None and 'libreweave_ranks' in (gdb.solib_name(frame.pc()) or ''):
    frame = frame.older()
if frame is not None:
    frame.select()
end
frame
";

impl Again {
    /// Runs the program up to the rank's access, with everybody else on the way, and gives the rank to gdb. Returns
    /// gdb's status.
    pub fn debug(&self, rank: Option<u32>, arguments: &[OsString]) -> Result<i32> {
        let plans = self.plans()?;
        let ranks = [plans[0].first.rank, plans[0].second.rank];
        let rank = rank.map_or(ranks[0], Rank);
        // Its own access comes first, so that the other one is pending then.
        let plan = plans.iter().find(|plan| plan.first.rank == rank).ok_or_else(|| Error::NotReplayable {
            path: FILE.into(),
            why: format!("the accesses of this finding are made by ranks {} and {}, not by {rank}", ranks[0], ranks[1]),
        })?;
        let plan = Plan { patience: LONG.as_millis() as u64, stop: Some(rank), ..*plan };
        let (unpacked, folder, command) = (Unpacked::new()?, PrivateFolder::new()?, self.command());
        let mut program = program(&command, &self.cwd, &unpacked, LONG);
        program.ends_when_stuck = false;
        program.interrupted = || LEFT_ALONE.load(Ordering::Relaxed);
        let script = folder.path().join("gdb");
        fs::write(&script, SELECT).map_err(Error::output("write", &script))?;
        std::thread::scope(|scope| {
            let run = scope.spawn(|| steer(&program, folder.path(), &plan, Output::File));
            let stopped = folder.path().join(logfile::stopped_name(rank.0));
            let until = Instant::now() + SOON;
            while !stopped.exists() && !run.is_finished() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            let process = fs::read_to_string(&stopped).ok();
            let status = process.map(|process| {
                let mut gdb = Command::new("gdb");
                gdb.args(["-q", "-p", &process, "-x"]).arg(&script).args(arguments).status()
            });
            let until = Instant::now() + SOON;
            while !run.is_finished() && Instant::now() < until && status.is_some() {
                std::thread::sleep(Duration::from_millis(20));
            }
            LEFT_ALONE.store(true, Ordering::Relaxed);
            let _ = run.join();
            match status {
                Some(Ok(status)) => Ok(status.code().unwrap_or(1)),
                Some(Err(source)) => Err(Error::CannotRun { program: "gdb".into(), source }),
                None => Err(Error::NotReplayable {
                    path: FILE.into(),
                    why: format!("rank {rank} did not come to its access this time: try again"),
                }),
            }
        })
    }
}

/// What the accesses of a run found, and what was left: `(1) found 0, 2 was left`. `forward`: the first of the plan is
/// (1).
pub(super) fn values(order: &Ordered, forward: bool) -> String {
    let name = |step| if (step == order.plan.first) == forward { "(1)" } else { "(2)" };
    let mut parts: Vec<String> =
        order.values.iter().map(|value| format!("{} found {}", name(value.step), number(&value.bytes))).collect();
    parts.extend(order.left.as_ref().map(|bytes| format!("{} was left", number(bytes))));
    parts.join(", ")
}

/// Hexadecimal bytes as a number, if they may be one. Eight bytes that are no small integer are read as a
/// floating-point number, which is said.
fn number(bytes: &str) -> String {
    let byte = |at: usize| bytes.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let all: Option<Vec<u8>> = (0..bytes.len()).step_by(2).map(byte).collect();
    match all.as_deref() {
        Some(all) if all.iter().all(|byte| *byte == 0) => "0".into(),
        Some([one]) => one.to_string(),
        Some(&[a, b]) => i16::from_le_bytes([a, b]).to_string(),
        Some(&[a, b, c, d]) => i32::from_le_bytes([a, b, c, d]).to_string(),
        Some(&[a, b, c, d, e, f, g, h]) => {
            let word = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let (integer, real) = (word.cast_signed(), f64::from_bits(word));
            match () {
                () if integer.unsigned_abs() < SMALL => integer.to_string(),
                () if ORDINARY.contains(&real.abs()) => format!("{real:?} (as a double)"),
                () => format!("{word:#x}"),
            }
        }
        _ => format!("0x{bytes}"),
    }
}

/// Eight bytes below this are rather an integer: no floating-point number that programs deal in looks so.
const SMALL: u64 = 1 << 48;
/// Sizes of floating-point numbers that programs deal in.
const ORDINARY: std::ops::Range<f64> = 1e-12..1e15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_may_be_a_number_are_one() {
        assert_eq!(number("02000000"), "2");
        assert_eq!(number("ffffffff"), "-1");
        assert_eq!(number("0000000000000000"), "0");
        assert_eq!(number("000000000000f03f"), "1.0 (as a double)");
        assert_eq!(number("000000000000f8bf"), "-1.5 (as a double)");
        assert_eq!(number("0700000000000000"), "7");
        assert_eq!(number("feffffffffffffff"), "-2");
        assert_eq!(number("efcdab8967452301"), "0x123456789abcdef");
        assert_eq!(number("x"), "0xx");
    }
}
