//! Who is recorded: answers the processes that introduce themselves, names their traces, gives each a region and a
//! collector.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use reweave_conductor::shared::{Hello, MAX_IGNORED};
use reweave_trace::set::numbered;
use reweave_trace::{Aslr, Meta, ProcessTrace};

use crate::collector::{self, Collected, Job, Signals};
use crate::front_end::{FrontEnd, Process};
use crate::pidfd::PidFd;
use crate::region::{Configuration, Mapping, Policy};
use crate::session::{Options, Script};
use crate::sink::{Limits, ToTrace};
use crate::target::{DESCRIPTORS, Input, environment_for_replay, inherited};
use crate::{Error, Result, beside, handshake};

/// The policy of a recording whose threads ran free: nobody decided.
pub const FREE: &str = "free";

/// Names of functions to be left out, with commas between: kept with a trace, so that replays leave out the same.
pub const ENV_IGNORE: &str = "REWEAVE_IGNORE";

/// How many collectors are done.
#[derive(Default)]
pub struct FinishedCount {
    count: Mutex<usize>,
    more: Condvar,
}

impl FinishedCount {
    /// Waits until there are so many; whether there were in time.
    pub fn wait_for(&self, count: usize, deadline: Instant) -> bool {
        let wait = deadline.saturating_duration_since(Instant::now());
        let (done, _) = self
            .more
            .wait_timeout_while(lock(&self.count), wait, |done| *done < count)
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *done >= count
    }
}

/// Tells that one more is done when it is dropped, which a panic does, too.
struct CountOnDrop(Arc<FinishedCount>);

impl Drop for CountOnDrop {
    fn drop(&mut self) {
        *lock(&self.0.count) += 1;
        self.0.more.notify_all();
    }
}

/// What the listener hands out; behind a lock because the session looks at it when the program has ended.
pub struct Registry {
    options: Options,
    pub aslr: Aslr,
    pub root_pid: u32,
    scripts: Vec<Option<Script>>,
    numbered: u32,
    pub jobs: Vec<(u32, Arc<Signals>, JoinHandle<Collected>)>,
    /// Jobs that began, and those of them that are done.
    pub begun: usize,
    pub done: Arc<FinishedCount>,
    /// Of jobs that are over.
    pub collected: Vec<Collected>,
    pub warnings: Vec<String>,
    pub root_status: Option<ExitStatus>,
    under_debugger: bool,
}

pub fn listen(socket: &UnixListener, registry: &Mutex<Registry>, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        let mut poll = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor; wakes up now and then to see whether to stop.
        unsafe { libc::poll(&raw mut poll, 1, 20) };
        while let Ok((stream, _)) = socket.accept() {
            if stop.load(Ordering::Acquire) {
                return;
            }
            let _ = stream.set_nonblocking(false);
            admit(stream, registry);
        }
    }
}

fn admit(mut stream: UnixStream, registry: &Mutex<Registry>) {
    let answer = handshake::receive(&mut stream).and_then(|hello| {
        let mut registry = lock(registry);
        let job = registry.job(&hello).map_err(|error| io::Error::other(error.to_string()))?;
        let mapping = &job.signals.mapping;
        handshake::welcome(&stream, mapping.memory(), mapping.size())?;
        registry.begin(job);
        Ok(())
    });
    if let Err(error) = answer {
        lock(registry).warnings.push(format!("a process of the program is not recorded: {error}"));
        let _ = handshake::refuse(&stream);
    }
}

impl Registry {
    pub fn new(options: &Options, under_debugger: bool) -> Self {
        Self {
            options: options.clone(),
            aslr: Aslr::Unknown,
            root_pid: 0,
            scripts: options.scripts.iter().cloned().map(Some).collect(),
            numbered: 0,
            jobs: Vec::new(),
            begun: 0,
            done: Arc::default(),
            collected: Vec::new(),
            warnings: Vec::new(),
            root_status: None,
            under_debugger,
        }
    }

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
        let about = process_of(hello.pid);
        let front_end = self.options.front_ends.of_process(&about).ok_or_else(|| Error::Refused {
            program: about.executable.clone(),
            why: "no front end knows this program".into(),
        })?;
        let executable = front_end.executable(&about);
        let forked = hello.forked != 0;
        let script = self.scripts.iter_mut().find(|script| {
            script.as_ref().is_some_and(|script| script.executable == executable && script.forked == forked)
        });
        let script = script.and_then(Option::take);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ignored = self.ignored(front_end, &about);
        let configuration = Configuration {
            policy: self.options.policy.clone(),
            seed: self.options.seed,
            quantum: self.options.quantum,
            start_realtime: script.as_ref().map_or(now.as_nanos() as u64, |script| script.start_realtime),
            stop_at: script.as_ref().map_or(0, |script| script.stop_at),
            skip_repeats: self.options.watcher.as_ref().is_some_and(|watcher| watcher.allows_skipping_repeats()),
            // Where threads take turns at every step, nothing can be foreseen; where they run free, nothing is.
            foresee: self.options.watcher.is_none()
                && !self.options.free
                && script.is_none()
                && matches!(self.options.policy, Policy::Quantum),
            quiet_slices: self.options.quiet_slices,
            free: self.options.free && front_end.runs_free(),
            ignored,
            schedule: script.map(|script| script.schedule),
        };
        let mapping = Mapping::new(&configuration).map_err(Error::system("making shared memory"))?;
        let path = self.path_for(instrumented);
        let place_in_run = ProcessTrace {
            // Which it keeps is settled when the run is over.
            file: String::new(),
            executable: executable.clone(),
            pid: hello.pid,
            parent: hello.parent,
            forked,
            rank: front_end.rank(&about),
        };
        let meta = self.meta(hello, &configuration, about.command, executable, front_end);
        let limits = Limits { bytes: self.options.max_trace, events: self.options.max_recorded };
        let sink = match &self.options.watcher {
            Some(watcher) => watcher.admit(&meta, front_end),
            None => ToTrace::open(&path, &meta, limits, front_end)?,
        };
        Ok(Job {
            pid: hello.pid,
            process,
            sink,
            path,
            replaying: configuration.schedule.is_some(),
            under_debugger: self.under_debugger,
            is_root,
            instrumented,
            max_events: self.options.max_events,
            about: place_in_run,
            signals: Arc::new(Signals::new(mapping)),
        })
    }

    /// Where the functions lie in a process that are to be left out; what cannot be found is told, once.
    fn ignored(&mut self, front_end: &dyn FrontEnd, process: &Process) -> Vec<[u64; 2]> {
        let variable = self.options.env.iter().rev().find(|(name, _)| name == ENV_IGNORE);
        let names = variable.map(|(_, names)| names.clone()).unwrap_or_default();
        let mut all = Vec::new();
        for name in names.split(',').filter(|name| !name.is_empty()) {
            let problem = match front_end.code_of(process, name) {
                Some(code) if !code.is_empty() => {
                    all.extend(code);
                    continue;
                }
                Some(_) => {
                    let executable = &process.executable;
                    format!(
                        "{executable} has no function {name} (inlined ones are part of their callers): --ignore does \
                         nothing for it"
                    )
                }
                None => format!(
                    "--ignore {name} does nothing for {}: only C and C++ functions can be left out",
                    process.executable
                ),
            };
            if !self.warnings.contains(&problem) {
                self.warnings.push(problem);
            }
        }
        if all.len() > MAX_IGNORED {
            let problem =
                format!("--ignore: only the first {MAX_IGNORED} of {} pieces of code are left out", all.len());
            self.warnings.push(problem);
            all.truncate(MAX_IGNORED);
        }
        all
    }

    /// Ended threads keep their stacks until they are joined, and a test runner may start any number of processes.
    fn reap(&mut self) {
        let Self { jobs, collected, warnings, .. } = self;
        for (pid, _, job) in jobs.extract_if(.., |(_, _, job)| job.is_finished()) {
            match job.join() {
                Ok(one) => collected.push(one),
                Err(_) => warnings.push(lost(pid)),
            }
        }
    }

    fn begin(&mut self, job: Job) {
        if self.options.watcher.is_some() {
            self.reap();
        }
        let (pid, signals) = (job.pid, job.signals.clone());
        if let Some(status) = self.root_status.filter(|_| job.is_root) {
            signals.set_status(status);
        }
        let one_more = CountOnDrop(Arc::clone(&self.done));
        self.begun += 1;
        let run = move || {
            let _one_more = one_more;
            collector::run(job)
        };
        self.jobs.push((pid, signals, std::thread::spawn(run)));
    }

    /// The first instrumented process gets the name asked for, later ones a number.
    fn path_for(&mut self, instrumented: bool) -> PathBuf {
        if !instrumented {
            return beside(&self.options.trace, &format!("plain{}", self.jobs.len() + self.collected.len()));
        }
        self.numbered += 1;
        match self.numbered {
            1 => self.options.trace.clone(),
            n => numbered(&self.options.trace, n),
        }
    }

    fn meta(
        &self,
        hello: &Hello,
        configuration: &Configuration,
        own: Vec<String>,
        executable: String,
        front_end: &dyn FrontEnd,
    ) -> Meta {
        let options = &self.options;
        let command: Vec<String> = options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut env: BTreeMap<String, String> = environment_for_replay(options.front_ends).into_iter().collect();
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
            policy: match configuration.schedule {
                _ if configuration.free => FREE,
                Some(_) => "replay",
                None => configuration.policy.name(),
            }
            .to_owned(),
            started: configuration.start_realtime / 1_000_000_000,
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            pid: hello.pid,
            aslr: self.aslr,
            instrumented: hello.instrumented != 0,
            stdin,
            language: Some(front_end.language()),
            ..Meta::default()
        };
        meta.other.insert("command".into(), command.into());
        if let Some(build) = front_end.build(Path::new(&executable)) {
            meta.other.insert(reweave_trace::BUILD.into(), build.into());
        }
        meta.other.insert("executable".into(), executable.into());
        meta.other.insert("forked".into(), (hello.forked != 0).into());
        meta.other.insert("start_realtime".into(), configuration.start_realtime.into());
        meta.other.insert(DESCRIPTORS.into(), inherited().into());
        if let Some(bounds) = arguments_of(hello.pid) {
            meta.other.insert(reweave_trace::ARGUMENTS.into(), bounds.to_vec().into());
        }
        meta
    }
}

/// What the system tells about a process.
fn process_of(pid: u32) -> Process {
    let executable = fs::read_link(format!("/proc/{pid}/exe"));
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = words.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let mut command: Vec<String> = words.collect();
    // Every word ends with a zero byte.
    command.pop();
    Process { pid, executable: executable.map_or_else(|_| String::new(), |path| path.display().to_string()), command }
}

/// Where the words of its command line begin and end in the memory of a process.
fn arguments_of(pid: u32) -> Option<[u64; 2]> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Fields 48 and 49 of proc(5); the name, field 2, may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(48 - 3);
    let bounds = [fields.next()?.parse().ok()?, fields.next()?.parse().ok()?];
    // 0 if they are hidden from us.
    (bounds[0] > 0).then_some(bounds)
}

pub fn lost(pid: u32) -> String {
    format!("the trace of process {pid} was lost due to an internal error")
}

pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
