//! The commands of a page of the documentation, run as somebody who follows it would: one after the other in one shell.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::run::{Done, run_with};
use super::{has, skip};

/// Even where all of it has to be compiled first.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// The project of a reader who builds with CMake.
const PROJECT: &str = "cmake_minimum_required(VERSION 3.10)
project(bank C)
find_package(Threads REQUIRED)
enable_testing()
add_executable(bank_test bank.c)
target_compile_options(bank_test PRIVATE -g)
target_link_libraries(bank_test Threads::Threads)
add_test(NAME bank_test COMMAND bank_test)
";

/// A line of a `console` block that begins with `$ `, and the exit code that its comment names (0 without one):
/// `$ reweave test -- ./bank  # exit code 1: what it does`.
pub struct Line {
    pub command: String,
    pub code: i32,
}

pub fn console(text: &str) -> Vec<Line> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(line) = line.strip_prefix("$ ").filter(|_| inside) {
            let (command, comment) = line.split_once("  # ").unwrap_or((line, ""));
            let code = comment.strip_prefix("exit code ").map_or(0, |code| {
                code.split(':').next().and_then(|code| code.trim().parse().ok()).expect("a number behind `exit code`")
            });
            lines.push(Line { command: command.trim_end().to_owned(), code });
        }
    }
    lines
}

/// Runs the lines from `start` on, with these folders in front of PATH and `home` as the home of who does it. Each
/// command has to end as the page says.
pub fn follow(lines: &[Line], start: &Path, home: &Path, programs: &Path, settings: &[(&str, OsString)]) -> Done {
    let own = home.join(".local/bin");
    fs::create_dir_all(home).expect("a folder");
    fs::write(home.join("CMakeLists.txt"), PROJECT).expect("written");
    let mut script = String::from("set -u\n");
    for Line { command, code } in lines {
        let tools = ["cmake", "ctest", "gdb"];
        if let Some(tool) = tools.into_iter().find(|tool| command.contains(tool) && !has(tool)) {
            skip(command, &format!("no {tool}"));
            continue;
        }
        if command.contains("cmake -B") {
            script += "cp ~/CMakeLists.txt .\n";
        }
        let quoted = command.replace('\'', "'\\''");
        script += &format!(
            "{command} </dev/null\ngot=$?; [ $got -eq {code} ] || {{ echo \"$got instead of {code}: \"'{quoted}' >&2; exit 99; }}\n"
        );
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [programs.to_owned(), own].into_iter().chain(std::env::split_paths(&path));
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &script])
        .current_dir(start)
        .env("PATH", std::env::join_paths(path).expect("folders"))
        .env("HOME", home)
        .env_remove("LD_PRELOAD")
        .env_remove("LD_LIBRARY_PATH")
        .envs(settings.iter().map(|(name, value)| (name, value)));
    let done = run_with(&mut shell, None, LIMIT);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done
}
