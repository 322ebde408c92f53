//! Java programs as a front end: recognises a Java machine, and starts it with the agent.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use reweave_guest::restart::{ENV_RESTART, ENV_RESTARTED, SEPARATOR, STARTED_BY};
use reweave_launch::cache;
use reweave_launch::front_end::{Coverage, FrontEnd, Invocation, Process, Recognition, Variables, Visibility};
use reweave_launch::target::Program;
use reweave_launch::{Error, Result};
use reweave_model::Pc;
use reweave_trace::{Language, Module, Symbols};

use crate::symbols;

/// The agent, made by the build script.
static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libreweave_agent.so"));

/// Names the folder of the cache that holds it.
const AGENT_HASH: &str = env!("REWEAVE_AGENT_HASH");

/// The oldest and the newest JDK that is known.
const OLDEST: u32 = 17;
const NEWEST: u32 = 25;

/// Programs that a Java machine runs: the program is the machine (`java …`).
#[derive(Clone, Copy, Debug)]
pub struct Jvm;

impl FrontEnd for Jvm {
    fn name(&self) -> &'static str {
        "jvm"
    }

    fn language(&self) -> Language {
        let all = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Language {
            name: "Java".into(),
            library_prefixes: all(&["java/", "javax/", "jdk/", "sun/", "com/sun/"]),
            entry: "main".into(),
            failure_words: all(&["exception in thread", "error", "exception"]),
            how_to_instrument: "nothing: classes are rewritten as they are loaded".into(),
            threads_need_no_join: true,
            libraries_guard_themselves: true,
            locks_wait_for_ever: true,
            constructor: ".<init>".into(),
            ..Language::default()
        }
    }

    fn recognise(&self, file: &Path) -> io::Result<Recognition> {
        let Some(home) = home_of(file)? else { return Ok(Recognition::NotMine) };
        if !is_hotspot(&home) && version(&home).is_none_or(|version| version >= OLDEST) {
            let why = format!("a Java machine other than HotSpot: HotSpot of JDK {OLDEST} to {NEWEST} can be recorded");
            return Ok(Recognition::Refused(why));
        }
        Ok(match version(&home) {
            Some(version) if version < OLDEST => Recognition::Refused(format!(
                "a Java machine of version {version}: JDK {OLDEST} to {NEWEST} can be recorded"
            )),
            _ => Recognition::Program(Visibility::Full),
        })
    }

    fn invocation(&self, program: &Program) -> Result<Invocation> {
        let mut invocation = Invocation::of(program);
        let version = home_of(&program.path).ok().flatten().and_then(|home| version(&home)).unwrap_or(OLDEST);
        let mut args = vec![agent_option()?];
        args.extend(options(version).iter().map(OsString::from));
        args.append(&mut invocation.args);
        invocation.args = args;
        // What it starts in turn is not started by us.
        for (name, value) in self.variables_for_others()? {
            invocation.set(name, value);
        }
        invocation.set(ENV_RESTARTED, format!("{STARTED_BY}{}", std::process::id()));
        Ok(invocation)
    }

    /// A machine that a script or a build starts is started again, with the options of every version: one that does not
    /// know an option leaves it out.
    fn variables_for_others(&self) -> Result<Vec<(OsString, OsString)>> {
        let mut words = OsString::from("java");
        let mut add = |word: OsString| {
            words.push(SEPARATOR.to_string());
            words.push(word);
        };
        add("-XX:+IgnoreUnrecognizedVMOptions".into());
        add(agent_option()?);
        options(NEWEST).into_iter().for_each(|option| add(option.into()));
        Ok(vec![(ENV_RESTART.into(), words)])
    }

    fn replay_variables(&self) -> Variables {
        Variables { names: &["CLASSPATH", "JAVA_HOME", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"], prefixes: &[] }
    }

    fn is_own_process(&self, process: &Process) -> bool {
        home_of(Path::new(&process.executable)).is_ok_and(|home| home.is_some())
    }

    fn symbols(&self, modules: &[Module], pcs: &[Pc]) -> Symbols {
        match folder() {
            Ok(folder) => symbols::read(&folder, modules, pcs),
            Err(_) => Symbols::default(),
        }
    }

    fn shortcoming(&self, seen: &Coverage<'_>) -> String {
        let name = seen.program.name.display();
        format!(
            "{name} did not load the agent, so nothing was recorded: is it a HotSpot machine, JDK {OLDEST} or later?"
        )
    }
}

fn agent_option() -> Result<OsString> {
    let mut option = OsString::from("-agentpath:");
    option.push(agent()?);
    option.push("=symbols=");
    option.push(folder()?);
    Ok(option)
}

/// Options that make runs repeatable, in front of the user's own.
fn options(version: u32) -> Vec<&'static str> {
    let mut options = vec![
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+UnlockExperimentalVMOptions",
        // Identity hashes are a sequence: unique, and the same in every run.
        "-XX:hashCode=3",
        // Methods that became long are compiled all the same.
        "-XX:-DontCompileHugeMethods",
        "-XX:DisableIntrinsic=_nanoTime,_currentTimeMillis,_copyOf,_copyOfRange",
        // Compiled code that puts strings together does what interpreted code does.
        "-XX:-OptimizeStringConcat",
        // The machine would say on stdout that natives are replaced.
        "-Xlog:jni+resolve=off",
        "-ea",
    ];
    if version >= 21 {
        // Every virtual thread is a thread of the system.
        options.push("-XX:-VMContinuations");
    }
    if version >= 24 {
        options.push("-XX:-UseCompactObjectHeaders");
    }
    options
}

/// The folder of the JDK or runtime whose `java` the file is.
fn home_of(file: &Path) -> io::Result<Option<PathBuf>> {
    let file = match file.canonicalize() {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if file.file_name().is_none_or(|name| name != "java") {
        return Ok(None);
    }
    let home = file.parent().and_then(Path::parent).map(Path::to_path_buf);
    Ok(home.filter(|home| home.join("release").exists() || is_hotspot(home)))
}

fn is_hotspot(home: &Path) -> bool {
    home.join("lib/server/libjvm.so").exists()
}

/// The first number of the version that a JDK says it has.
fn version(home: &Path) -> Option<u32> {
    let release = fs::read_to_string(home.join("release")).ok()?;
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    let first: u32 = line.split(['.', '"', '-']).next()?.parse().ok()?;
    // Before 9 it was called 1.8.
    Some(if first == 1 { line.split('.').nth(1)?.parse().ok()? } else { first })
}

/// The agent. It lies in the cache rather than in a folder of ours: nearly all programs start no Java machine, and
/// writing it would take longer than many of them run.
fn agent() -> Result<PathBuf> {
    static INSTALLED: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(agent) = installed.as_ref().filter(|agent| agent.exists()) {
        return Ok(agent.clone());
    }
    let agent = cache::unpack(|root| {
        let folder = root.join(AGENT_HASH);
        cache::own_folder(&folder)?;
        let agent = folder.join("libreweave_agent.so");
        cache::own_file(&agent, AGENT).map(|()| agent)
    });
    Ok(installed.insert(agent.map_err(Error::front_end)?).clone())
}

/// A private folder of this process: the names of classes that its runs write.
fn folder() -> Result<PathBuf> {
    static FOLDER: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut known = FOLDER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = &*known {
        return Ok(folder.clone());
    }
    let folder = std::env::temp_dir().join(format!("reweave-jvm-{}", std::process::id()));
    // One that a process of the same number left behind may be anybody's.
    let _ = fs::remove_dir_all(&folder);
    fs::DirBuilder::new().mode(0o700).create(&folder).map_err(Error::system("make a folder for the agent"))?;
    // SAFETY: a function without arguments, which may run at any time.
    unsafe { libc::atexit(remove_folder) };
    Ok(known.insert(folder).clone())
}

extern "C" fn remove_folder() {
    let _ = fs::remove_dir_all(std::env::temp_dir().join(format!("reweave-jvm-{}", std::process::id())));
}
