//! A scratch folder with its own cache, in which a test compiles and runs programs for real.

#![expect(dead_code, reason = "each test file uses its own part of the helpers")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A pair of drivers.
#[derive(Debug, Clone, Copy)]
pub struct Compiler {
    pub cc: &'static str,
    pub cxx: &'static str,
}

pub const GCC: Compiler = Compiler { cc: "gcc", cxx: "g++" };
pub const CLANG: Compiler = Compiler { cc: "clang-19", cxx: "clang++-19" };

/// The compilers of the test matrix that are installed here; the others are named on stderr.
pub fn compilers() -> Vec<Compiler> {
    let clang = Compiler { cc: "clang", cxx: "clang++" };
    let clang = if has(CLANG.cc) { CLANG } else { clang };
    [GCC, clang].into_iter().filter(|compiler| installed(compiler.cc) && installed(compiler.cxx)).collect()
}

/// Whether `tool` is there. If not, says so past the test harness, which would swallow it.
pub fn installed(tool: &str) -> bool {
    let found = has(tool);
    if !found {
        let _ = writeln!(std::io::stderr(), "SKIPPED: {tool} is not installed");
    }
    found
}

fn has(tool: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(tool).is_file())
}

/// A folder that is removed at the end of the test.
pub struct Scratch {
    pub path: PathBuf,
    compiler: Compiler,
}

impl Scratch {
    pub fn new(compiler: Compiler) -> Scratch {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("reweave-native-{}-{serial}", std::process::id()));
        fs::create_dir_all(path.join("bin")).unwrap();
        for name in ["reweave-cc", "reweave-c++"] {
            symlink(env!("CARGO_BIN_EXE_reweave-native-wrapper"), path.join("bin").join(name)).unwrap();
        }
        Scratch { path, compiler }
    }

    pub fn file(&self, name: &str, content: &str) -> &Scratch {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.path.join(name)).unwrap()).into_owned()
    }

    pub fn exists(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }

    /// The folder of this test's cache.
    pub fn cache(&self) -> PathBuf {
        self.path.join("cache")
    }

    /// A command in the folder, with the wrappers in PATH.
    pub fn command(&self, program: &str) -> Command {
        let mut path = self.path.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(program);
        command
            .current_dir(&self.path)
            .env("PATH", path)
            .env("REWEAVE_CACHE", self.cache())
            .env("REWEAVE_CC", self.compiler.cc)
            .env("REWEAVE_CXX", self.compiler.cxx)
            .env("LC_ALL", "C")
            .env_remove("CC")
            .env_remove("CXX")
            .env_remove("CFLAGS")
            .env_remove("CXXFLAGS")
            .env_remove("LDFLAGS")
            .stdin(Stdio::null());
        command
    }

    /// Runs a line of words and returns what came of it. The first word is looked up in the
    /// scratch folder's `bin`, too.
    pub fn try_run(&self, line: &str) -> Output {
        let mut words = line.split_whitespace();
        let program = words.next().unwrap();
        let wrapper = self.path.join("bin").join(program);
        let program = if wrapper.exists() { wrapper.to_str().unwrap().to_owned() } else { program.to_owned() };
        self.command(&program).args(words).output().unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Runs a line that must succeed; returns its standard output.
    pub fn run(&self, line: &str) -> String {
        let output = self.try_run(line);
        assert!(
            output.status.success(),
            "{line} ({}) ended with {}\n{}{}",
            self.compiler.cc,
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// As `run`, for a compilation that must not print anything either.
    pub fn quiet(&self, line: &str) {
        let output = self.try_run(line);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(output.status.success() && text.is_empty(), "{line} ({}): {text}", self.compiler.cc);
    }

    /// Symbols of a file, as `nm` with the given flags prints them.
    pub fn symbols(&self, flags: &str, file: &str) -> Vec<String> {
        self.run(&format!("nm {flags} {file}"))
            .lines()
            .filter_map(|line| line.split_whitespace().last())
            .map(str::to_owned)
            .collect()
    }

    pub fn is_hooked(&self, object: &str) -> bool {
        self.symbols("-u", object).iter().any(|symbol| symbol.starts_with("__tsan_func_entry"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A program that counts in two threads, with an atomic, a fence and a 128-bit atomic beside it.
pub const COUNTER_C: &str = include_str!("../programs/counter.c");
pub const COUNTER_CPP: &str = include_str!("../programs/counter.cpp");
/// What both print.
pub const COUNTER_OUTPUT: &str = "plain 2000 atomic 2000 copy hello\n";

pub fn kind(path: &Path) -> reweave_native::Instrumentation {
    reweave_native::is_instrumented(path).unwrap()
}
