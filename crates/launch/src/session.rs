//! One run of a target: a private folder with a socket, the program, and a collector for every process of it that is to
//! be recorded. The program's own process need not be one of them: it may be a script or a test runner.

use std::ffi::OsString;
use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use reweave_trace::{Aslr, ProcessTrace, RunSet, set};

use crate::collector::Collected;
use crate::family;
use crate::folder::{PrivateFolder, beside};
use crate::front_end::{Coverage, FrontEnds};
use crate::interrupt;
use crate::pidfd::PidFd;
use crate::region::Policy;
use crate::registry::{Registry, listen, lock, lost};
use crate::sink::Watcher;
use crate::target::{Input, Output, Program, StartOptions, Started};
use crate::{Error, Result};

/// Steps of a slice while only recording: long enough that hand-overs cost little.
pub const QUANTUM: u32 = 5000;
/// And for who only watches, slices more at a stretch for a thread that only accesses memory.
pub const QUIET_SLICES: u32 = 7;
pub const MAX_TRACE: u64 = 2 << 30;
/// Processes that outlive the program are waited for so long.
const STRAGGLERS: Duration = Duration::from_secs(2);

/// A schedule for one process of the run.
#[derive(Clone, Debug)]
pub struct Script {
    /// Which process: its program, and whether it was forked. The first that fits gets it.
    pub executable: String,
    pub forked: bool,
    /// As made by `policy::replay::encode`.
    pub schedule: Vec<u8>,
    pub start_realtime: u64,
    pub stop_at: u64,
}

#[derive(Clone, Debug)]
pub struct Options {
    /// Who knows programs.
    pub front_ends: FrontEnds,
    pub command: Vec<OsString>,
    pub cwd: PathBuf,
    /// Set for the program, over our own environment.
    pub env: Vec<(String, String)>,
    pub trace: PathBuf,
    pub policy: Policy,
    pub seed: u64,
    pub quantum: u32,
    /// Slices that a thread gets at a stretch beyond the first, as long as it only accesses memory: for who does not
    /// look at where between two synchronizations threads take turns.
    pub quiet_slices: u32,
    pub max_trace: u64,
    /// Threads run free between synchronizations.
    pub free: bool,
    /// After so many events a process goes on without being recorded.
    pub max_recorded: u64,
    pub input: Input,
    pub output: Output,
    /// Further descriptors that it is to have; `None`: those that we have.
    pub descriptors: Option<Vec<i32>>,
    pub scripts: Vec<Script>,
    pub timeout: Option<Duration>,
    /// A process that has recorded more is ended, too.
    pub max_events: u64,
    /// The program runs in a copy of its folder.
    pub isolate: bool,
    /// Takes the events in place of traces.
    pub watcher: Option<Arc<dyn Watcher>>,
}

impl Options {
    pub fn new(front_ends: FrontEnds, command: Vec<OsString>, trace: PathBuf) -> Self {
        Self {
            front_ends,
            command,
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            env: Vec::new(),
            input: Input::Ours { copy: Some(beside(&trace, "stdin")) },
            trace,
            policy: Policy::Quantum,
            seed: 0,
            quantum: QUANTUM,
            quiet_slices: 0,
            max_trace: MAX_TRACE,
            free: false,
            max_recorded: u64::MAX,
            output: Output::Ours,
            descriptors: None,
            scripts: Vec::new(),
            timeout: None,
            max_events: u64::MAX,
            isolate: false,
            watcher: None,
        }
    }

    /// For a run of which nothing goes to disk, see [`crate::watch`].
    pub fn watched(front_ends: FrontEnds, command: Vec<OsString>) -> Self {
        let options = Self::new(front_ends, command, PathBuf::new());
        Self { input: Input::Ours { copy: None }, ..options }
    }
}

/// How many functions are left out.
pub fn left_out(options: &Options) -> u64 {
    let variable = options.env.iter().rev().find(|(name, _)| name == crate::ENV_IGNORE);
    variable.map_or(0, |(_, names)| names.split(',').filter(|name| !name.is_empty()).count() as u64)
}

/// What becomes of processes that still run when the program has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Survivors {
    /// They are the user's: a service that a script has started, say.
    GoOn,
    /// The run is one of many: they would keep their ports from the next one.
    AreEnded,
}

/// What came of a run.
#[derive(Debug)]
pub struct Run {
    pub status: ExitStatus,
    pub program: Program,
    pub aslr: Aslr,
    /// One per trace, the first one being the trace asked for.
    pub processes: Vec<Collected>,
    pub warnings: Vec<String>,
    pub timed_out: bool,
    pub took: Duration,
}

/// A listening session without a program of its own: `reweave replay --gdb` lets the debugger start it.
pub struct Session {
    folder: PrivateFolder,
    registry: Arc<Mutex<Registry>>,
    stop: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Session {
    pub fn new(options: &Options, under_debugger: bool) -> Result<Self> {
        let folder = PrivateFolder::new()?;
        let path = folder.path().join("s");
        let socket = UnixListener::bind(&path).map_err(Error::io("listen at", &path))?;
        socket.set_nonblocking(true).map_err(Error::io("listen at", &path))?;
        let registry = Arc::new(Mutex::new(Registry::new(options, under_debugger)));
        let stop = Arc::new(AtomicBool::new(false));
        let listener = std::thread::spawn({
            let (registry, stop) = (registry.clone(), stop.clone());
            move || listen(&socket, &registry, &stop)
        });
        Ok(Self { folder, registry, stop, listener: Some(listener) })
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn registry(&self) -> std::sync::MutexGuard<'_, Registry> {
        lock(&self.registry)
    }

    /// Tells who the program is. Its first greeting cannot be answered before: the registry is locked meanwhile.
    fn start(&self, start: impl FnOnce() -> Result<Started>) -> Result<Started> {
        let mut registry = self.registry();
        let started = start()?;
        registry.root_pid = started.child.id();
        registry.aslr = started.aslr;
        Ok(started)
    }

    fn root_ended(&self, status: ExitStatus) {
        let mut registry = self.registry();
        registry.root_status = Some(status);
        for (pid, signals, _) in &registry.jobs {
            if *pid == registry.root_pid {
                signals.set_status(status);
            }
        }
    }

    fn stop_listening(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(listener) = self.listener.take() {
            // So that it does not wait for the next look at the time: many runs are short.
            let _ = UnixStream::connect(self.socket());
            let _ = listener.join();
        }
    }

    /// Waits for all collectors; whether they were done in time.
    fn wait_for_all(&self, deadline: Instant) -> bool {
        let done = Arc::clone(&self.registry().done);
        loop {
            let begun = self.registry().begun;
            if !done.wait_for(begun, deadline) {
                return false;
            }
            // Another one may have begun meanwhile.
            if self.registry().begun == begun {
                return true;
            }
        }
    }

    /// Waits for what is still being recorded, then takes the results.
    pub fn finish(mut self, survivors: Survivors) -> (Vec<Collected>, Vec<String>) {
        let deadline = Instant::now() + STRAGGLERS;
        let all_done = self.wait_for_all(deadline);
        if survivors == Survivors::AreEnded && !all_done {
            for (pid, _, job) in self.registry().jobs.iter().filter(|(_, _, job)| !job.is_finished()) {
                // invariant: not another process of the same number, as its collector still waits for its end.
                if let Ok(process) = PidFd::open(*pid)
                    && !job.is_finished()
                {
                    process.kill(libc::SIGKILL);
                    process.ends_within(STRAGGLERS);
                }
            }
        }
        self.stop_listening();
        let mut registry = self.registry();
        let mut collected = std::mem::take(&mut registry.collected);
        for (pid, signals, job) in std::mem::take(&mut registry.jobs) {
            // Symbols may take a while; only a process that still runs is left alone.
            if !job.is_finished() && PidFd::open(pid).is_ok_and(|process| !process.has_ended()) {
                signals.abandon.store(true, Ordering::Release);
                signals.finish.store(true, Ordering::Release);
            }
            match job.join() {
                Ok(one) => collected.push(one),
                Err(_) => registry.warnings.push(lost(pid)),
            }
        }
        let warnings = std::mem::take(&mut registry.warnings);
        drop(registry);
        (collected, warnings)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop_listening();
    }
}

/// Runs the program to its end and records it.
pub fn run(options: &Options) -> Result<Run> {
    let program = Program::find(options.front_ends, &options.command, &options.cwd)?;
    if options.free && !program.front_end.runs_free() {
        return Err(Error::NotFree { program: program.name.display().to_string() });
    }
    let own = if options.isolate { Some(PrivateFolder::copy_of(&options.cwd)?) } else { None };
    let cwd = own.as_ref().map_or(&*options.cwd, PrivateFolder::path);
    let session = Session::new(options, false)?;
    let invocation = program.invocation(options.front_ends, &session.socket())?;
    // A program that cannot be started costs no earlier trace.
    if options.watcher.is_none() {
        clear_old(&options.trace)?;
    }
    let guard = interrupt::Guard::new(options.watcher.is_some());
    let began = Instant::now();
    let mut started = session.start(|| {
        let started = StartOptions {
            invocation: &invocation,
            cwd,
            env: &options.env,
            input: &options.input,
            output: &options.output,
            descriptors: options.descriptors.as_deref(),
        }
        .start()?;
        // Before its greeting is answered: when anything is reported about it, signals for it are passed on.
        guard.target(started.child.id());
        Ok(started)
    })?;
    let mut timed_out = false;
    if let Some(limit) = options.timeout {
        let process = PidFd::open(started.child.id()).map_err(Error::system("pidfd_open"));
        // Without it the end could not be waited for in time.
        let process = process.inspect_err(|_| drop(started.child.kill()))?;
        if !process.ends_within(limit) {
            timed_out = true;
            family::end(&process, started.child.id());
        }
    }
    let status = started.child.wait();
    guard.over();
    let status = status.map_err(Error::system("waiting for the program"))?;
    let took = began.elapsed();
    session.root_ended(status);
    let survivors =
        if timed_out || matches!(options.output, Output::File(_)) { Survivors::AreEnded } else { Survivors::GoOn };
    let (mut processes, mut warnings) = session.finish(survivors);
    timed_out |= processes.iter().any(|process| process.too_long);
    if options.watcher.is_none() {
        keep_one_uninstrumented(&options.trace, &mut processes, &mut warnings);
        if let Some(set) = set_of(&options.trace, &processes)
            && let Err(error) = set.save()
        {
            warnings.push(format!("the list of which trace is of which process could not be written: {error}"));
        }
    } else {
        processes.sort_by_key(|process| !process.instrumented);
    }
    Ok(Run { status, program, aslr: started.aslr, processes, warnings, timed_out, took })
}

/// Makes sure that the trace can be written, before the program runs, and removes what an earlier recording of the same
/// name left: its other processes and its input would be taken for this one's.
fn clear_old(trace: &Path) -> Result<()> {
    let file = fs::OpenOptions::new().create(true).append(true).open(trace).map_err(Error::output("write", trace))?;
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        // A device or a pipe: not ours to remove.
        return Ok(());
    }
    fs::remove_file(trace).map_err(Error::output("replace", trace))?;
    let _ = fs::remove_file(beside(trace, "stdin"));
    let _ = fs::remove_file(set::manifest_of(trace));
    for n in 2.. {
        let path = set::numbered(trace, n);
        let is_ours = fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"reweave"));
        if !is_ours || fs::remove_file(&path).is_err() {
            break;
        }
    }
    Ok(())
}

/// The processes of a run as a set of traces; `None` if there are none, or only one.
fn set_of(trace: &Path, processes: &[Collected]) -> Option<RunSet> {
    let with_file = |process: &Collected| {
        let file = process.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        ProcessTrace { file, ..process.about.clone() }
    };
    (processes.len() > 1).then(|| RunSet::new(trace, processes.iter().map(with_file).collect()))
}

/// A process without instrumentation is kept only if nothing better was recorded.
fn keep_one_uninstrumented(trace: &Path, processes: &mut Vec<Collected>, warnings: &mut Vec<String>) {
    let any_instrumented = processes.iter().any(|process| process.instrumented);
    let mut kept = false;
    processes.retain_mut(|process| {
        if process.instrumented {
            return true;
        }
        if any_instrumented || kept {
            let _ = fs::remove_file(&process.path);
            return false;
        }
        kept = true;
        match fs::rename(&process.path, trace) {
            Ok(()) => process.path = trace.to_owned(),
            Err(error) => warnings.push(format!("the trace stays in {}: {error}", process.path.display())),
        }
        true
    });
}

impl Run {
    /// Why it says nothing about the program that nothing was found in it.
    pub fn unchecked(&self) -> Option<String> {
        if let Some(shortcoming) = self.shortcoming() {
            return Some(shortcoming);
        }
        if self.processes.iter().all(|process| process.events == 0) {
            return Some("nothing was recorded".into());
        }
        // It was there, and ended before it could do anything: it was refused, or killed.
        if let Some(unseen) = self.processes.iter().find(|process| process.instrumented && process.events == 0) {
            return Some(format!("nothing was recorded of a process it started ({})", unseen.about.executable));
        }
        let ended = "the program did not end and was stopped: only what it did until then was checked (see --budget)";
        self.timed_out.then(|| ended.into())
    }

    /// What cannot be seen of a program although it was built for us.
    pub fn blind_spot(&self) -> Option<String> {
        self.processes.first().filter(|first| first.instrumented)?;
        self.program.front_end.blind_spot(&self.program.path)
    }

    /// What the user should know about how much could be seen, if not everything.
    pub fn shortcoming(&self) -> Option<String> {
        let first = self.processes.first();
        if first.is_some_and(|first| first.instrumented) {
            return None;
        }
        if first.is_none() && self.timed_out {
            let name = self.program.name.display();
            return Some(format!("{name} was stopped before it started: it needs more time (see --budget)"));
        }
        Some(self.program.front_end.shortcoming(&Coverage { program: &self.program, recorded: first.is_some() }))
    }
}
