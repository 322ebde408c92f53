//! A program and the processes it has started: those that introduced themselves, and any others.

use std::fs;

use crate::pidfd::PidFd;

/// Ends a program and everything it has started: a script that is killed does not end its server.
pub fn end(program: &PidFd, pid: u32) {
    // Stopped, so that they start nobody else while they are looked for.
    let mut family = vec![(pid, None)];
    program.kill(libc::SIGSTOP);
    let mut at = 0;
    while let Some(&(parent, _)) = family.get(at) {
        for child in children_of(parent) {
            if let Ok(process) = PidFd::open(child)
                // Still its child, and not another process of the same number.
                && parent_of(child) == Some(parent)
            {
                process.kill(libc::SIGSTOP);
                family.push((child, Some(process)));
            }
        }
        at += 1;
    }
    for (_, process) in &family {
        process.as_ref().unwrap_or(program).kill(libc::SIGKILL);
    }
}

fn children_of(parent: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|&pid| parent_of(pid) == Some(parent)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, parentheses too.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn children_of_children_end_too() {
        let script = "sh -c 'sleep 60 & echo $!; wait' & wait";
        let mut shell = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().expect("sh starts");
        let mut line = String::new();
        let out = shell.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("it tells its child");
        let grandchild = PidFd::open(line.trim().parse().expect("a process")).expect("it runs");
        let program = PidFd::open(shell.id()).expect("it runs");
        end(&program, shell.id());
        assert!(grandchild.ends_within(Duration::from_secs(5)), "nobody ended it");
        shell.wait().expect("our child");
    }
}
