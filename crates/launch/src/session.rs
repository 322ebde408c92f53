//! One run of a target: a private folder with a socket, the program, and a collector for every process of it that is to
//! be recorded. The program's own process need not be one of them: it may be a script or a test runner.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use reweave_conductor::shared::Hello;
use reweave_native::Instrumentation;
use reweave_trace::{Aslr, Meta, Writer};

use crate::collector::{self, Collected, Job, Signals};
use crate::interrupt;
use crate::pidfd::PidFd;
use crate::region::{Configuration, Mapping, Policy};
use crate::target::{Input, Output, Program, Start, Started};
use crate::{Error, Result, handshake};

/// Steps of a slice while only recording: long enough that hand-overs cost little.
pub const QUANTUM: u32 = 5000;
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
    pub command: Vec<OsString>,
    pub cwd: PathBuf,
    /// Set for the program, over our own environment.
    pub env: Vec<(String, String)>,
    pub trace: PathBuf,
    pub policy: Policy,
    pub seed: u64,
    pub quantum: u32,
    pub max_trace: u64,
    pub input: Input,
    pub output: Output,
    pub scripts: Vec<Script>,
    pub timeout: Option<Duration>,
}

impl Options {
    pub fn new(command: Vec<OsString>, trace: PathBuf) -> Self {
        Self {
            command,
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            env: Vec::new(),
            input: Input::Ours { copy: Some(beside(&trace, "stdin")) },
            trace,
            policy: Policy::Quantum,
            seed: 0,
            quantum: QUANTUM,
            max_trace: MAX_TRACE,
            output: Output::Ours,
            scripts: Vec::new(),
            timeout: None,
        }
    }
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

/// `TRACE.suffix`
pub fn beside(trace: &Path, suffix: &str) -> PathBuf {
    let mut name = trace.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

/// A folder only we can enter, removed with everything in it.
pub struct PrivateFolder(PathBuf);

impl PrivateFolder {
    pub fn new() -> Result<Self> {
        let base = std::env::temp_dir();
        let mut last = io::Error::other("no free name");
        for attempt in 0..100u32 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // Always of the same length: the name is part of the program's environment, which shifts its stack.
            let tag =
                (now.subsec_nanos() ^ attempt.wrapping_mul(0x9e37_79b9)) as u64 ^ u64::from(std::process::id()) << 8;
            let path = base.join(format!("reweave-{:08x}", tag as u32));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(Error::output("create", &path)(error)),
            }
        }
        Err(Error::output("create a folder in", &base)(last))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What the listener hands out; behind a lock because the session looks at it when the program has ended.
struct Registry {
    options: Options,
    aslr: Aslr,
    root_pid: u32,
    scripts: Vec<Option<Script>>,
    numbered: u32,
    jobs: Vec<(u32, Arc<Signals>, JoinHandle<Collected>)>,
    warnings: Vec<String>,
    root_status: Option<ExitStatus>,
    hands_off: bool,
}

/// A listening session without a program of its own: `reweave replay --gdb` lets the debugger start it.
pub struct Session {
    folder: PrivateFolder,
    registry: Arc<Mutex<Registry>>,
    stop: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Session {
    pub fn new(options: &Options, hands_off: bool) -> Result<Self> {
        let folder = PrivateFolder::new()?;
        let path = folder.path().join("s");
        let socket = UnixListener::bind(&path).map_err(Error::io("listen at", &path))?;
        socket.set_nonblocking(true).map_err(Error::io("listen at", &path))?;
        let registry = Arc::new(Mutex::new(Registry {
            options: options.clone(),
            aslr: Aslr::Unknown,
            root_pid: 0,
            scripts: options.scripts.iter().cloned().map(Some).collect(),
            numbered: 0,
            jobs: Vec::new(),
            warnings: Vec::new(),
            root_status: None,
            hands_off,
        }));
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
                tell_status(signals, status);
            }
        }
    }

    /// Waits for what is still being recorded, then takes the results.
    pub fn finish(mut self) -> (Vec<Collected>, Vec<String>) {
        let deadline = Instant::now() + STRAGGLERS;
        while self.registry().jobs.iter().any(|(_, _, job)| !job.is_finished()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.stop.store(true, Ordering::Release);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let mut registry = self.registry();
        let mut collected = Vec::new();
        for (pid, signals, job) in std::mem::take(&mut registry.jobs) {
            // Symbols may take a while; only a process that still runs is left alone.
            if !job.is_finished() && PidFd::open(pid).is_ok_and(|process| !process.has_ended()) {
                signals.abandon.store(true, Ordering::Release);
                signals.finish.store(true, Ordering::Release);
            }
            match job.join() {
                Ok(one) => collected.push(one),
                Err(_) => registry.warnings.push(format!("the trace of process {pid} was lost by an internal error")),
            }
        }
        let warnings = std::mem::take(&mut registry.warnings);
        drop(registry);
        (collected, warnings)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn tell_status(signals: &Signals, status: ExitStatus) {
    *lock(&signals.status) = Some(status);
    signals.status_known.notify_all();
}

fn listen(socket: &UnixListener, registry: &Mutex<Registry>, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor; wakes up now and then to see whether to stop.
        unsafe { libc::poll(&raw mut poll, 1, 20) };
        while let Ok((stream, _)) = socket.accept() {
            let _ = stream.set_nonblocking(false);
            admit(stream, registry);
        }
    }
}

fn admit(mut stream: UnixStream, registry: &Mutex<Registry>) {
    let answer = handshake::receive(&mut stream).and_then(|hello| {
        let mut registry = lock(registry);
        let job = registry.job(&hello).map_err(|error| io::Error::other(error.to_string()))?;
        handshake::welcome(&stream, job.mapping.memory(), job.mapping.size())?;
        registry.begin(job);
        Ok(())
    });
    if let Err(error) = answer {
        lock(registry).warnings.push(format!("a process of the program is not recorded: {error}"));
        let _ = handshake::refuse(&stream);
    }
}

impl Registry {
    fn job(&mut self, hello: &Hello) -> Result<Job> {
        let instrumented = hello.instrumented != 0;
        let is_root = hello.pid == self.root_pid;
        for (pid, signals, _) in &self.jobs {
            if *pid == hello.pid {
                // The same process again: it went on as another program.
                signals.finish.store(true, Ordering::Release);
            }
        }
        // One that started within the last tick would otherwise be written while it is read.
        let process = PidFd::open(hello.pid).map_err(Error::system("pidfd_open"))?;
        let executable = executable_of(hello.pid);
        let forked = hello.forked != 0;
        let script = self.scripts.iter_mut().find(|script| {
            script.as_ref().is_some_and(|script| script.executable == executable && script.forked == forked)
        });
        let script = script.and_then(Option::take);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let configuration = Configuration {
            policy: self.options.policy.clone(),
            seed: self.options.seed,
            quantum: self.options.quantum,
            start_realtime: script.as_ref().map_or(now.as_nanos() as u64, |script| script.start_realtime),
            stop_at: script.as_ref().map_or(0, |script| script.stop_at),
            schedule: script.map(|script| script.schedule),
        };
        let mapping = Mapping::new(&configuration).map_err(Error::system("making shared memory"))?;
        let path = self.path_for(instrumented);
        let meta = self.meta(hello, &configuration, executable);
        let writer = Writer::create(&path, &meta)?;
        Ok(Job {
            pid: hello.pid,
            process,
            mapping,
            writer,
            path,
            max_bytes: self.options.max_trace,
            replaying: configuration.schedule.is_some(),
            hands_off: self.hands_off,
            is_root,
            instrumented,
            signals: Arc::default(),
        })
    }

    fn begin(&mut self, job: Job) {
        let (pid, signals) = (job.pid, job.signals.clone());
        if let Some(status) = self.root_status.filter(|_| job.is_root) {
            tell_status(&signals, status);
        }
        self.jobs.push((pid, signals, std::thread::spawn(move || collector::run(job))));
    }

    /// The first instrumented process gets the name asked for, later ones a number.
    fn path_for(&mut self, instrumented: bool) -> PathBuf {
        if !instrumented {
            return beside(&self.options.trace, &format!("plain{}", self.jobs.len()));
        }
        self.numbered += 1;
        match self.numbered {
            1 => self.options.trace.clone(),
            n => beside(&self.options.trace, &n.to_string()),
        }
    }

    fn meta(&self, hello: &Hello, configuration: &Configuration, executable: String) -> Meta {
        let options = &self.options;
        let own = fs::read(format!("/proc/{}/cmdline", hello.pid)).unwrap_or_default();
        let own = own.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let mut own: Vec<String> = own.collect();
        own.pop();
        let command: Vec<String> = options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut env: BTreeMap<String, String> = crate::target::environment_for_replay().into_iter().collect();
        env.extend(options.env.iter().cloned());
        let stdin = match &options.input {
            Input::Ours { copy: Some(path) } | Input::File(path) => {
                Some(path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string())
            }
            _ => None,
        };
        let mut meta = Meta {
            program: if own.is_empty() { command.clone() } else { own },
            cwd: options.cwd.display().to_string(),
            env,
            seed: configuration.seed,
            policy: if configuration.schedule.is_some() { "replay" } else { configuration.policy.name() }.to_owned(),
            started: configuration.start_realtime / 1_000_000_000,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            pid: hello.pid,
            aslr: self.aslr,
            instrumented: hello.instrumented != 0,
            stdin,
            ..Meta::default()
        };
        meta.other.insert("command".into(), command.into());
        meta.other.insert("executable".into(), executable.into());
        meta.other.insert("forked".into(), (hello.forked != 0).into());
        meta.other.insert("start_realtime".into(), configuration.start_realtime.into());
        meta
    }
}

fn executable_of(pid: u32) -> String {
    fs::read_link(format!("/proc/{pid}/exe")).map_or_else(|_| String::new(), |path| path.display().to_string())
}

/// Runs the program to its end and records it.
pub fn run(options: &Options) -> Result<Run> {
    let program = Program::find(&options.command, &options.cwd)?;
    let installed = reweave_native::cache::unpack()?;
    clear_old(&options.trace)?;
    let session = Session::new(options, false)?;
    let socket = session.socket();
    let guard = interrupt::Guard::new();
    let began = Instant::now();
    let mut started = session.start(|| {
        Start {
            program: &program,
            cwd: &options.cwd,
            env: &options.env,
            runtime: &installed.runtime,
            socket: &socket,
            input: &options.input,
            output: &options.output,
        }
        .start()
    })?;
    guard.target(started.child.id());
    let mut timed_out = false;
    let status = match options.timeout {
        None => started.child.wait(),
        Some(limit) => loop {
            match started.child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if began.elapsed() > limit && !timed_out => {
                    timed_out = true;
                    let _ = started.child.kill();
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => break Err(error),
            }
        },
    };
    guard.target(0);
    let status = status.map_err(Error::system("waiting for the program"))?;
    let took = began.elapsed();
    session.root_ended(status);
    let (mut processes, mut warnings) = session.finish();
    settle_names(&options.trace, &mut processes, &mut warnings);
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
    for n in 2.. {
        let path = beside(trace, &n.to_string());
        let is_ours = fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"reweave"));
        if !is_ours || fs::remove_file(&path).is_err() {
            break;
        }
    }
    Ok(())
}

/// A process without instrumentation is kept only if nothing better was recorded.
fn settle_names(trace: &Path, processes: &mut Vec<Collected>, warnings: &mut Vec<String>) {
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
    /// What the user should know about how much could be seen, if not everything.
    pub fn shortcoming(&self) -> Option<String> {
        let name = self.program.name.display();
        let build = "build it with `reweave cc` or `reweave c++` (CC=reweave-cc make)";
        match (&self.program.kind, self.processes.first()) {
            (_, Some(first)) if first.instrumented => None,
            (_, Some(_)) => {
                Some(format!("{name} was not built with reweave cc: only lock-level events were recorded; {build}"))
            }
            (Instrumentation::Static, None) => {
                Some(format!("{name} is statically linked, so that nothing was recorded: link it without -static"))
            }
            (Instrumentation::Script { .. }, None) => {
                Some(format!("{name} started no program built with reweave cc, so that nothing was recorded; {build}"))
            }
            (_, None) => Some(format!(
                "{name} did not connect, so that nothing was recorded: is it set-uid, or was LD_PRELOAD removed?"
            )),
        }
    }
}
