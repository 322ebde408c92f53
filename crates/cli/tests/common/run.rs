//! Runs a command to its end or to a time limit, and keeps what it said.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing that a test runs once takes this long, on however busy a machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// What came of a command.
#[derive(Debug)]
pub struct Done {
    /// The status, or 128 plus the signal; `None` if the time was up.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// Fails the test unless the command ended like this.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\nstdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Fails the test unless stderr has this text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "stderr lacks {text:?}: {}", self.stderr);
        self
    }

    /// How often a text is in stderr.
    pub fn count(&self, text: &str) -> usize {
        self.stderr.matches(text).count()
    }

    pub fn last_line(&self) -> &str {
        self.stdout.lines().next_back().unwrap_or_default()
    }
}

/// Runs without input.
pub fn run(command: &mut Command) -> Done {
    run_with(command, None, LIMIT)
}

/// Runs with this input. When the time is up the whole process group is ended: a target outlives its `reweave`.
pub fn run_with(command: &mut Command, input: Option<&str>, limit: Duration) -> Done {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut running = Running::start(command);
    if let (Some(input), Some(mut stdin)) = (input, running.child.stdin.take()) {
        // One that ends without reading its input is none of our business.
        let _ = stdin.write_all(input.as_bytes());
    }
    running.wait(limit)
}

/// A command that has been started.
pub struct Running {
    child: Child,
}

impl Running {
    /// Starts a command in a process group of its own, with its output in pipes.
    pub fn start(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Self { child: command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")) }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid")
    }

    pub fn wait(mut self, limit: Duration) -> Done {
        let stdout = collect(self.child.stdout.take());
        let stderr = collect(self.child.stderr.take());
        let deadline = Instant::now() + limit;
        let code = loop {
            match self.child.try_wait().expect("our child") {
                Some(status) => break Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))),
                None if Instant::now() > deadline => {
                    // SAFETY: signals only the group that this child leads; it has not been waited for.
                    unsafe { libc::kill(-self.pid(), libc::SIGKILL) };
                    let _ = self.child.wait();
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        Done { code, stdout: stdout.join().unwrap_or_default(), stderr: stderr.join().unwrap_or_default() }
    }
}

fn collect(from: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = from.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
