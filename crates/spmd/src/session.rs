//! Running programs: record, and make what was found happen.
//!
//! Only this module starts processes. The command is whatever starts the ranks (`mpirun …`, a script):
//! the runtime is handed down by the environment, and wakes up in whatever calls `MPI_Init`.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::event::Logs;
use crate::look::Look;
use crate::owner::Found;
use crate::plan::{Anchor, Memory, Plan, Said, Step, What, anchor, step};
use crate::{hang, logfile};

/// How long one access of a pair waits for the other one.
const PATIENCE: u64 = 400;

/// By how much it waits longer in a second try.
const MORE_PATIENCE: u64 = 5;

/// Bytes of the environment that say what a run is to do.
const ENVIRONMENT: usize = 2048;

/// A program and how it is started.
#[derive(Clone, Debug)]
pub struct Program {
    pub command: Vec<OsString>,
    pub cwd: PathBuf,
    /// The runtime library.
    pub runtime: PathBuf,
    /// When a run is given up.
    pub limit: Duration,
    /// Bytes that the log of one rank may take.
    pub max_log: Option<u64>,
    /// The ranks analyse what they do while they run, and keep no logs of it.
    pub online: bool,
    /// What runs without a plan look at.
    pub look: Look,
    /// It is ended when all ranks wait for each other for some seconds.
    pub ends_when_stuck: bool,
    /// Whether somebody wants it to end now.
    pub interrupted: fn() -> bool,
}

/// Where a run's output goes, and whether it may read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// To where ours goes; it reads what we would read.
    Ours,
    /// Into the folder of the run.
    File,
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
    pub fn run(&self, folder: &Path, plan: Option<&Plan>, to: Output) -> io::Result<Ended> {
        let (program, arguments) = self.command.split_first().ok_or_else(|| io::Error::other("no command"))?;
        let output = folder.join("output");
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.cwd).env("REWEAVE_SPMD_FOLDER", folder);
        command.env("LD_PRELOAD", self.preloaded());
        // The environment lies above the stack: of another size, it would shift every address there.
        let plan = plan.map_or_else(|| self.look.to_string(), ToString::to_string);
        if self.online {
            command.env("REWEAVE_SPMD_ONLINE", "1");
        }
        let limit = self.max_log.map_or(0, |bytes| "REWEAVE_SPMD_LIMIT=".len() + bytes.to_string().len() + 1);
        let used = folder.as_os_str().len() + plan.len() + limit;
        command
            .env("REWEAVE_SPMD_PLAN", &plan)
            .env("REWEAVE_SPMD_PADDING", "-".repeat(ENVIRONMENT.saturating_sub(used)));
        if let Some(bytes) = self.max_log {
            command.env("REWEAVE_SPMD_LIMIT", bytes.to_string());
        }
        if to == Output::File || io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        if to == Output::File {
            command.stdout(std::fs::File::create(&output)?).stderr(std::fs::File::create(folder.join("errors"))?);
        }
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
        let mut progress = Progress { bytes: 0, since: Instant::now() };
        let (status, timed_out) = loop {
            if let Some(status) = child.try_wait()? {
                break (status, false);
            }
            if Instant::now() > until || (self.interrupted)() || (self.ends_when_stuck && progress.is_stuck(folder)) {
                break (end(&mut child)?, true);
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        let output = if to == Output::File { std::fs::read(output)? } else { Vec::new() };
        Ok(Ended { status, timed_out, output })
    }

    /// Ours before what the user preloads.
    fn preloaded(&self) -> OsString {
        let mut all = self.runtime.clone().into_os_string();
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            all.push(":");
            all.push(others);
        }
        all
    }
}

/// How long nobody logs anything before it is asked whether everybody waits.
const STUCK: Duration = Duration::from_secs(5);

/// Whether a run goes on.
struct Progress {
    bytes: u64,
    since: Instant,
}

impl Progress {
    /// Has nobody logged anything for a while, and does everybody wait for somebody?
    fn is_stuck(&mut self, folder: &Path) -> bool {
        if self.since.elapsed() < STUCK {
            return false;
        }
        let Ok(logs) = logfile::read_all(folder) else { return false };
        let bytes = logfile::size(folder, logs.len());
        if std::mem::replace(&mut self.bytes, bytes) != bytes {
            self.since = Instant::now();
            return false;
        }
        let finished = logfile::read_notes(folder, logs.len()).finished;
        let stuck = hang::waits(&logs, &finished).is_some();
        // Asked again after as long.
        self.since = Instant::now();
        stuck
    }
}

/// Asks the program to end, so that a launcher can end its ranks; then it is ended.
fn end(child: &mut std::process::Child) -> io::Result<std::process::ExitStatus> {
    let group = -(child.id() as i32);
    let until = Instant::now() + Duration::from_secs(3);
    // SAFETY: the group that we made.
    unsafe { libc::kill(group, libc::SIGTERM) };
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: the group that we made.
    unsafe { libc::kill(group, libc::SIGKILL) };
    child.wait()
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
    /// What the accesses read or found.
    pub values: Vec<Value>,
    /// What the memory held in the end, if its rank could say so.
    pub left: Option<String>,
}

/// What one of the accesses read or found, as hexadecimal bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Value {
    /// By step, not by place in the plan: the other order has them the other way round.
    pub step: Step,
    pub bytes: String,
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
            // Which rank's lines come first is chance.
            let mut lines: Vec<Vec<u8>> = order.ended.output.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort();
            (values, order.left.clone(), order.ended.status, order.ended.timed_out, lines)
        };
        seen(one) != seen(other)
    }
}

/// The plans for both orders of a pair. `None`: a part of it cannot be steered.
pub fn plans(logs: &Logs, found: &Found) -> Option<[Plan; 2]> {
    let address = found.address;
    let (one, other) = ((&found.a, found.i), (&found.b, found.j));
    let (a, b) = (step(logs, one.0, one.1, address, other)?, step(logs, other.0, other.1, address, one)?);
    let len = found.a.len.min(found.b.len).min(16);
    // Of two buffers nobody could say which one is meant.
    let anchor = match (a.what == What::Local, b.what == What::Local) {
        (true, _) => anchor(logs, other),
        (_, true) => anchor(logs, one),
        _ => [one, other]
            .map(|access| anchor(logs, access))
            .into_iter()
            .find(|anchor| matches!(anchor, Anchor::Window(..)))
            .unwrap_or(Anchor::Fixed),
    };
    let memory = Memory { rank: found.a.owner, address: found.address, len, anchor };
    let threads = a.rank == b.rank && found.a.strand != found.b.strand;
    let plan = |first, second| Plan { first, second, memory, threads, patience: PATIENCE, stop: None };
    Some([plan(a, b), plan(b, a)])
}

/// Runs the program once for each order, and once more with more patience where that did not do it: ranks may be slow.
pub fn confirm(program: &Program, folder: &Path, plans: &[Plan; 2]) -> io::Result<Confirmation> {
    let mut orders = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        let run = |plan: &Plan, folder: PathBuf| {
            std::fs::create_dir_all(&folder)?;
            steer(program, &folder, plan, Output::File)
        };
        let mut tried = run(plan, folder.join(format!("order.{number}")))?;
        if !tried.happened && !(program.interrupted)() {
            let patient = Plan { patience: plan.patience * MORE_PATIENCE, ..*plan };
            tried = run(&patient, folder.join(format!("order.{number}.again")))?;
        }
        orders.push(tried);
    }
    Ok(Confirmation { orders })
}

/// Runs the program along a plan.
pub fn steer(program: &Program, folder: &Path, plan: &Plan, to: Output) -> io::Result<Ordered> {
    let ended = program.run(folder, Some(plan), to)?;
    let mut said = Vec::new();
    for rank in [plan.first.rank, plan.second.rank, plan.memory.rank] {
        let text = std::fs::read_to_string(folder.join(format!("rank.{rank}.said"))).unwrap_or_default();
        said.push((rank, text.lines().filter_map(|line| line.parse::<Said>().ok()).collect::<Vec<_>>()));
    }
    let any = |wanted: &Said| said.iter().any(|(_, lines)| lines.contains(wanted));
    let mut values: Vec<Value> = Vec::new();
    let mut left = None;
    for line in said.iter().flat_map(|(_, lines)| lines) {
        match line {
            Said::Value { first, bytes } => {
                let step = if *first { plan.first } else { plan.second };
                // What was there last is what the access got.
                values.retain(|value: &Value| value.step != step);
                values.push(Value { step, bytes: bytes.clone() });
            }
            Said::Left { bytes } => left = Some(bytes.clone()),
            _ => {}
        }
    }
    values.sort();
    // Of one rank, the file says which came first; of two, the second has heard of the first.
    let alone = plan.first.rank == plan.second.rank && !plan.threads;
    let place = |wanted: &Said| said[0].1.iter().position(|line| line == wanted);
    let in_order = !alone || place(&Said::First) < place(&Said::Second);
    let happened = any(&Said::First) && any(&Said::Second) && in_order;
    Ok(Ordered { plan: *plan, met: any(&Said::Met), happened, ended, values, left })
}
