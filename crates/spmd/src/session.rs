//! Running programs: record, and make what was found happen.
//!
//! Only this module starts processes. The command is whatever starts the ranks (`mpirun …`, a script):
//! the runtime is handed down by the environment, and wakes up in whatever calls `MPI_Init`.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::event::Logs;
use crate::owner::Found;
use crate::plan::{Memory, Plan, Said, step};
use crate::{logfile, offline};

/// How long one access of a pair waits for the other one.
const PATIENCE: u64 = 400;

/// A program and how it is started.
#[derive(Clone, Debug)]
pub struct Program {
    pub command: Vec<OsString>,
    /// The runtime library.
    pub runtime: PathBuf,
    /// When a run is given up.
    pub limit: Duration,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Exit code, or 128 and the signal.
    pub status: i32,
    pub timed_out: bool,
    pub output: Vec<u8>,
}

impl Program {
    /// Runs the program once; what the ranks leave is in the folder.
    pub fn run(&self, folder: &Path, plan: Option<&Plan>) -> io::Result<Ended> {
        let (program, arguments) = self.command.split_first().ok_or_else(|| io::Error::other("no command"))?;
        let output = folder.join("output");
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("REWEAVE_SPMD_FOLDER", folder)
            .env("LD_PRELOAD", &self.runtime)
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&output)?)
            .stderr(std::fs::File::create(folder.join("errors"))?);
        match plan {
            Some(plan) => command.env("REWEAVE_SPMD_PLAN", plan.to_string()),
            None => command.env_remove("REWEAVE_SPMD_PLAN"),
        };
        // SAFETY: two system calls between fork and exec. Addresses stay the same from run to run, and
        // the whole family can be ended.
        unsafe {
            command.pre_exec(|| {
                libc::personality(libc::ADDR_NO_RANDOMIZE as u64);
                libc::setpgid(0, 0);
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let until = Instant::now() + self.limit;
        let (status, timed_out) = loop {
            if let Some(status) = child.try_wait()? {
                break (status, false);
            }
            if Instant::now() > until {
                // SAFETY: the group that we made.
                unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
                break (child.wait()?, true);
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Ok(Ended { status, timed_out, output: std::fs::read(output)? })
    }
}

/// A recorded run and its races.
pub struct Recorded {
    pub ended: Ended,
    pub logs: Logs,
    pub races: offline::Races,
}

/// Runs the program and judges what its ranks did, also if it was killed or hung.
pub fn record(program: &Program, folder: &Path) -> io::Result<Recorded> {
    let ended = program.run(folder, None)?;
    let logs = logfile::read_all(folder)?;
    let races = offline::analyse(&logs);
    Ok(Recorded { ended, logs, races })
}

/// One order of a pair, as a run did it.
#[derive(Clone, Debug)]
pub struct Ordered {
    pub plan: Plan,
    pub ended: Ended,
    /// Both were under way when the first happened.
    pub met: bool,
    /// Both happened, in this order.
    pub happened: bool,
    /// What the accesses read or found, and what was left, in the order of the file.
    pub values: Vec<String>,
}

/// What came of a pair.
#[derive(Clone, Debug)]
pub struct Confirmation {
    /// First the one, then the other access first.
    pub orders: Vec<Ordered>,
}

impl Confirmation {
    /// Both orders were made to happen, and in one of them at least both were under way at once.
    pub fn confirmed(&self) -> bool {
        self.orders.len() == 2
            && self.orders.iter().all(|order| order.happened)
            && self.orders.iter().any(|order| order.met)
    }

    /// The orders differ in what was read, left or printed, or in how the program ended.
    pub fn differs(&self) -> bool {
        let [one, other] = &self.orders[..] else { return false };
        let seen = |order: &Ordered| {
            let mut values = order.values.clone();
            values.sort();
            values
        };
        seen(one) != seen(other) || one.ended != other.ended
    }
}

/// The plans for both orders of a pair. `None`: a part of it cannot be steered.
pub fn plans(logs: &Logs, found: &Found) -> Option<[Plan; 2]> {
    let (a, b) = (step(logs, &found.a, found.i)?, step(logs, &found.b, found.j)?);
    let len = found.a.len.min(found.b.len).min(16);
    let memory = Memory { rank: found.a.owner, address: found.address, len };
    let plan = |first, second| Plan { first, second, memory, patience: PATIENCE };
    Some([plan(a, b), plan(b, a)])
}

/// Runs the program once for each order.
pub fn confirm(program: &Program, folder: &Path, plans: &[Plan; 2]) -> io::Result<Confirmation> {
    let mut orders = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let folder = folder.join(format!("order.{number}"));
        std::fs::create_dir_all(&folder)?;
        orders.push(steer(program, &folder, plan)?);
    }
    Ok(Confirmation { orders })
}

/// Runs the program along a plan.
pub fn steer(program: &Program, folder: &Path, plan: &Plan) -> io::Result<Ordered> {
    let ended = program.run(folder, Some(plan))?;
    let mut said = Vec::new();
    for rank in [plan.first.rank, plan.second.rank, plan.memory.rank] {
        let text = std::fs::read_to_string(folder.join(format!("rank.{rank}.said"))).unwrap_or_default();
        said.push((rank, text.lines().filter_map(|line| line.parse::<Said>().ok()).collect::<Vec<_>>()));
    }
    let any = |wanted: &Said| said.iter().any(|(_, lines)| lines.contains(wanted));
    let mut values: Vec<String> = Vec::new();
    let mut left = None;
    for line in said.iter().flat_map(|(_, lines)| lines) {
        match line {
            // By access, not by place in the plan: the other order has them the other way round.
            Said::Value { first, bytes } => {
                values.push(format!("{} {bytes}", if *first { plan.first } else { plan.second }));
            }
            Said::Left { bytes } => left = Some(bytes.clone()),
            _ => {}
        }
    }
    values.dedup();
    values.extend(left.map(|bytes| format!("left {bytes}")));
    // Of one rank, the file says which came first; of two, the second has heard of the first.
    let alone = plan.first.rank == plan.second.rank;
    let place = |wanted: &Said| said[0].1.iter().position(|line| line == wanted);
    let in_order = !alone || place(&Said::First) < place(&Said::Second);
    let happened = any(&Said::First) && any(&Said::Second) && in_order;
    Ok(Ordered { plan: *plan, met: any(&Said::Met), happened, ended, values })
}
