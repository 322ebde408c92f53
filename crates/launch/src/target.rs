//! Starts the program under test: where it is, what it is, its environment, its stdin, its address space.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use reweave_conductor::shared::ENV_SOCKET;
use reweave_trace::Aslr;

use crate::front_end::{FrontEnd, FrontEnds, Invocation, Recognition, Variables, Visibility};
use crate::{Error, Result};

/// What the program reads.
#[derive(Clone, Debug)]
pub enum Input {
    /// Our own stdin. Unless it is a terminal, it is copied here on the way, for replay.
    Ours {
        copy: Option<PathBuf>,
    },
    File(PathBuf),
    Nothing,
}

/// Where its stdout and stderr go.
#[derive(Clone, Debug, Default)]
pub enum Output {
    #[default]
    Ours,
    File(PathBuf),
}

/// A program found and examined.
#[derive(Clone, Debug)]
pub struct Program {
    /// As it was called.
    pub name: OsString,
    pub path: PathBuf,
    pub args: Vec<OsString>,
    /// Who knows how to run it.
    pub front_end: &'static dyn FrontEnd,
    pub visibility: Visibility,
}

impl Program {
    /// `command` is the program's name and its arguments; the name is looked up as a shell would, from `cwd`.
    pub fn find(front_ends: FrontEnds, command: &[OsString], cwd: &Path) -> Result<Self> {
        let (name, args) = match command {
            [name, args @ ..] if !name.is_empty() => (name, args),
            _ => return Err(Error::NotFound { program: "(empty name)".into() }),
        };
        let program = name.to_string_lossy().into_owned();
        let path = look_up(front_ends, name, cwd).ok_or_else(|| Error::NotFound { program: program.clone() })?;
        match front_ends.recognise(&path) {
            Ok(Some((front_end, Recognition::Program(visibility)))) => {
                Ok(Self { name: name.clone(), path, args: args.to_vec(), front_end, visibility })
            }
            Ok(Some((_, Recognition::Refused(why)))) => Err(Error::Refused { program, why }),
            Ok(Some((_, Recognition::NotMine)) | None) => Err(Error::NotExecutable { program }),
            Err(source) => Err(Error::CannotRun { program, source }),
        }
    }

    /// How to start it so that it and what it starts can be recorded; `socket` is the session's.
    pub fn invocation(&self, front_ends: FrontEnds, socket: &Path) -> Result<Invocation> {
        let mut invocation = self.front_end.invocation(self)?;
        let others = front_ends.iter().filter(|other| other.name() != self.front_end.name());
        for other in others.filter(|_| self.front_end.starts_others()) {
            for (name, value) in other.variables_for_others()? {
                invocation.set(name, value);
            }
        }
        invocation.set(ENV_SOCKET, socket);
        Ok(invocation)
    }
}

fn look_up(front_ends: FrontEnds, name: &OsStr, cwd: &Path) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        let path = cwd.join(name);
        return path.exists().then_some(path);
    }
    let known = |file: &Path| if file.is_file() { front_ends.recognise(file).ok().flatten() } else { None };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates = std::env::split_paths(&path).map(|folder| cwd.join(folder).join(name));
    candidates.find(|file| known(file).is_some()).or_else(|| {
        let here = cwd.join(name);
        known(&here).is_some_and(|(front_end, _)| front_end.is_interpreted()).then_some(here)
    })
}

pub struct Started {
    pub child: Child,
    pub aslr: Aslr,
    /// Copies our stdin on; ends by itself with the program or with the input.
    pub feeder: Option<std::thread::JoinHandle<()>>,
}

/// Fills up the environment.
const PADDING: &str = "REWEAVE_PADDING";
/// To a multiple of so many bytes.
const ENVIRONMENT: usize = 32 << 10;

/// The environment lies above the main thread's stack: with another size of it every address there is another one, and
/// programs that look at addresses go another way. So it always has the same size, nearly.
fn padding(command: &Command) -> String {
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => drop(all.insert(name.to_owned(), value.to_owned())),
            None => drop(all.remove(name)),
        }
    }
    all.insert(PADDING.into(), OsString::new());
    // `name=value` with its end, and a pointer to it.
    let size: usize = all.iter().map(|(name, value)| name.len() + value.len() + 2 + size_of::<usize>()).sum();
    "-".repeat(size.next_multiple_of(ENVIRONMENT) - size)
}

/// Under this name a trace tells the descriptors that its program was given.
pub const DESCRIPTORS: &str = "descriptors";

/// Descriptors beyond the standard ones that programs get from us, because we got them.
pub fn inherited() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // SAFETY: asks for a flag.
    let passed = |&number: &i32| number > 2 && unsafe { libc::fcntl(number, libc::F_GETFD) } == 0;
    let mut passed: Vec<i32> = numbers.filter(passed).collect();
    passed.sort_unstable();
    passed
}

/// Makes programs get descriptors with these numbers: with more or fewer of them, those that they open themselves have
/// other numbers, by which some go. What takes the place of one that we did not get is empty. Best effort: a number may
/// be in use.
fn pass_on(numbers: &[i32]) {
    let ours = inherited();
    let nothing = numbers.iter().any(|number| !ours.contains(number)).then(|| File::open("/dev/null").ok()).flatten();
    // SAFETY: changes flags of descriptors that we do not use, and makes new ones where there are none.
    unsafe {
        for &number in ours.iter().filter(|number| !numbers.contains(number)) {
            libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        for &number in numbers.iter().filter(|number| !ours.contains(number)) {
            if let Some(nothing) = &nothing {
                // Others may open something meanwhile: what is taken is not replaced.
                let made = libc::fcntl(nothing.as_raw_fd(), libc::F_DUPFD, number);
                if made >= 0 && made != number {
                    libc::close(made);
                }
            }
        }
    }
}

pub struct StartOptions<'a> {
    pub invocation: &'a Invocation,
    pub cwd: &'a Path,
    pub env: &'a [(String, String)],
    pub input: &'a Input,
    pub output: &'a Output,
    /// Further descriptors that it is to have; `None`: those that we have.
    pub descriptors: Option<&'a [i32]>,
}

impl StartOptions<'_> {
    pub fn start(&self) -> Result<Started> {
        let Invocation { path, name, args, env } = self.invocation;
        let mut command = Command::new(path);
        command.arg0(name).args(args).current_dir(self.cwd);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        for (name, value) in env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let padding = padding(&command);
        command.env(PADDING, padding);
        let mut copy = None;
        match self.input {
            Input::Nothing => {
                command.stdin(Stdio::null());
            }
            Input::File(path) => {
                command.stdin(File::open(path).map_err(Error::io("read", path))?);
            }
            Input::Ours { copy: Some(path) } if !io::stdin().is_terminal() => {
                command.stdin(Stdio::piped());
                copy = Some(path.clone());
            }
            Input::Ours { .. } => {}
        }
        if let Output::File(path) = self.output {
            let file = File::create(path).map_err(Error::output("create", path))?;
            command.stderr(file.try_clone().map_err(Error::io("open", path))?).stdout(file);
        }
        if let Some(numbers) = self.descriptors {
            pass_on(numbers);
        }
        let fixed = FixedAddresses::new();
        let child = command.spawn();
        let aslr = fixed.state();
        drop(fixed);
        let program = || self.invocation.name.display().to_string();
        let mut child = child.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => Error::NotFound { program: program() },
            io::ErrorKind::PermissionDenied => Error::NotExecutable { program: program() },
            _ => Error::CannotRun { program: program(), source },
        })?;
        let feeder = copy
            .and_then(|copy| child.stdin.take().map(|pipe| (pipe, copy)))
            .map(|(pipe, copy)| std::thread::spawn(move || feed(pipe, &copy)));
        Ok(Started { child, aslr, feeder })
    }
}

/// Passes stdin on as it comes, and keeps what was passed. A program that stops reading ends it.
fn feed(mut pipe: ChildStdin, copy: &Path) {
    let mut kept: Option<File> = None;
    let mut buffer = vec![0u8; 64 << 10];
    let mut stdin = io::stdin().lock();
    loop {
        let len = match stdin.read(&mut buffer) {
            Ok(0) => return,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if kept.is_none() {
            // An input that cannot be kept is still an input: replay then has only what was intercepted.
            kept = File::create(copy).ok();
        }
        if let Some(file) = &mut kept
            && file.write_all(&buffer[..len]).is_err()
        {
            let _ = fs::remove_file(copy);
            kept = None;
        }
        if pipe.write_all(&buffer[..len]).is_err() {
            return;
        }
    }
}

/// Turns address-space randomisation off for processes that this thread starts, while it lives. Containers may refuse.
struct FixedAddresses {
    before: Option<libc::c_int>,
}

impl FixedAddresses {
    fn new() -> Self {
        const ASK: libc::c_ulong = 0xffff_ffff;
        // SAFETY: personality only changes a flag of this thread, inherited by its children.
        let before = unsafe { libc::personality(ASK) };
        if before < 0 {
            return Self { before: None };
        }
        // SAFETY: as above.
        let changed = unsafe { libc::personality((before | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) };
        Self { before: (changed >= 0).then_some(before) }
    }

    const fn state(&self) -> Aslr {
        if self.before.is_some() { Aslr::Off } else { Aslr::On }
    }
}

impl Drop for FixedAddresses {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: as in `new`.
            unsafe { libc::personality(before as libc::c_ulong) };
        }
    }
}

/// Variables that decide how any program runs.
const FOR_ALL: Variables = Variables { names: &["PATH", "LANG", "TZ", "HOME", "TMPDIR", "TERM"], prefixes: &["LC_"] };

/// The variables that decide how a program runs: kept with the trace. Not all of them: an environment holds secrets.
pub fn environment_for_replay(front_ends: FrontEnds) -> Vec<(String, String)> {
    let all =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    all.filter(|(name, _)| FOR_ALL.contain(name) || front_ends.decides(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front_end::{Coverage, Process};
    use reweave_model::Pc;
    use reweave_trace::{Language, Module, Symbols};

    /// Knows files by how their names end.
    #[derive(Debug)]
    struct BySuffix {
        suffix: &'static str,
        interpreted: bool,
    }

    impl FrontEnd for BySuffix {
        fn name(&self) -> &'static str {
            self.suffix
        }

        fn language(&self) -> Language {
            Language::default()
        }

        fn recognise(&self, file: &Path) -> io::Result<Recognition> {
            let name = file.to_string_lossy();
            Ok(match name.strip_suffix(self.suffix) {
                None => Recognition::NotMine,
                Some(name) if name.ends_with("old.") => Recognition::Refused("too old".into()),
                Some(_) => Recognition::Program(Visibility::Full),
            })
        }

        fn is_interpreted(&self) -> bool {
            self.interpreted
        }

        fn invocation(&self, program: &Program) -> Result<Invocation> {
            let mut invocation = Invocation::of(program);
            invocation.set("OWN", self.suffix);
            Ok(invocation)
        }

        fn variables_for_others(&self) -> Result<Vec<(OsString, OsString)>> {
            Ok(vec![("OTHERS".into(), self.suffix.into())])
        }

        fn is_own_process(&self, process: &Process) -> bool {
            process.executable.ends_with(self.suffix)
        }

        fn symbols(&self, _: &[Module], _: &[Pc]) -> Symbols {
            Symbols::default()
        }

        fn shortcoming(&self, _: &Coverage<'_>) -> String {
            String::new()
        }
    }

    const BOTH: FrontEnds = FrontEnds::new(&[
        &BySuffix { suffix: "text", interpreted: true },
        &BySuffix { suffix: "code", interpreted: false },
    ]);

    #[test]
    fn programs_are_found_by_whoever_knows_them() {
        let folder = crate::PrivateFolder::new().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), "").unwrap();
        ["a.text", "a.code", "old.code", "other"].into_iter().for_each(write);
        let find = |name: &str| Program::find(BOTH, &[name.into(), "argument".into()], folder.path());
        assert_eq!(find("./a.text").unwrap().front_end.name(), "text");
        assert_eq!(find("a.text").unwrap().front_end.name(), "text", "read, not executed: it need not be in PATH");
        assert_eq!(find("./a.code").unwrap().front_end.name(), "code");
        assert!(matches!(find("a.code"), Err(Error::NotFound { .. })), "executed: PATH decides");
        assert!(matches!(find("./other"), Err(Error::NotExecutable { .. })));
        assert!(matches!(find("./missing"), Err(Error::NotFound { .. })));
        assert_eq!(find("./old.code").unwrap_err().to_string(), "./old.code: too old");
        let process = Process { pid: 1, executable: "/bin/a.code".into(), command: Vec::new() };
        assert_eq!(BOTH.of_process(&process).unwrap().name(), "code");
    }

    #[test]
    fn a_program_gets_what_it_and_what_it_starts_need() {
        let folder = crate::PrivateFolder::new().unwrap();
        fs::write(folder.path().join("a.text"), "").unwrap();
        let program = Program::find(BOTH, &["a.text".into()], folder.path()).unwrap();
        let invocation = program.invocation(BOTH, Path::new("/socket")).unwrap();
        let variable = |name: &str| invocation.variable(name).and_then(OsStr::to_str);
        assert_eq!(variable("OWN"), Some("text"));
        assert_eq!(variable("OTHERS"), Some("code"), "of the other front end");
        assert_eq!(variable(ENV_SOCKET), Some("/socket"));
        assert_eq!(variable("PATH"), None);
    }
}
