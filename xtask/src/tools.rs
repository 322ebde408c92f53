//! The tools that the tests use beside Rust. What is missing is installed where that is allowed; where not, it is said
//! what to install and which tests are left out.

use std::env;
use std::process::{Command, Stdio};

struct Tool {
    program: &'static str,
    /// Its package on Debian and Ubuntu.
    package: &'static str,
    /// What is not tested without it.
    left_out: &'static str,
}

const TOOLS: [Tool; 13] = [
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
    Tool { program: "chromium", package: "chromium", left_out: "the HTML report in a browser" },
    Tool { program: "pkg-config", package: "pkg-config", left_out: "programs on top of GLib" },
    // One of the tools that come with the development files, which have no program of their own.
    Tool { program: "glib-genmarshal", package: "libglib2.0-dev", left_out: "programs on top of GLib" },
];

fn missing() -> Vec<&'static Tool> {
    TOOLS.iter().filter(|tool| !is_installed(tool.program)).collect()
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Installs what is missing, if this is a Debian-like system and we may.
pub fn provide() {
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
    let mut install = vec!["install", "-y", "-q", "--no-install-recommends"];
    install.extend(&packages);
    // The package lists of a fresh image are empty, those of an old one out of date: refresh only if needed.
    if !apt(&install) {
        let _ = apt(&["update", "-q"]) && apt(&install);
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
pub fn tell_missing() {
    let missing = missing();
    if missing.is_empty() {
        return;
    }
    eprintln!("\nxtask: not tested here, because a tool is missing:");
    for tool in &missing {
        eprintln!("  {} (no {})", tool.left_out, tool.program);
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    eprintln!("Debian, Ubuntu: apt install {}", packages.join(" "));
}
