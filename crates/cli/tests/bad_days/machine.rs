//! Machines that refuse: disks, permissions, address spaces.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Day;
use crate::common::traces::Checked;
use crate::common::{REWEAVE, Scratch, has, is_root, run, skip};
use reweave_trace::{Aslr, Outcome};

/// A file system of its own, unmounted at the end.
struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// `None` where mounting is not allowed.
    fn mount(path: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(path).ok()?;
        let options = format!("size={size}");
        let mounted = is_root() && has("mount") && has("umount") && {
            let mut command = Command::new("mount");
            run(command.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(path)).code == Some(0)
        };
        mounted.then(|| Self { path: path.to_owned() })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

/// The program ends as always, one warning tells why its trace is short, and the trace is whole up to there.
#[track_caller]
fn cut_short(day: &Day, trace: &Path, options: &[&str], word: &str) {
    let plain = run(day.scratch.command(&day.program).arg("10")).expect(0);
    let mut command = day.scratch.reweave(["record", "-o"]);
    command.arg(trace).args(options).arg("--").arg(&day.program).arg("10");
    let done = run(&mut command).expect(0);
    assert_eq!(done.stdout, plain.stdout);
    assert_eq!(done.count("warning"), 1, "{}", done.stderr);
    assert!(done.stderr.contains("recording stopped, and the program continued without it"), "{}", done.stderr);
    assert!(done.stderr.contains(word), "{}", done.stderr);
    let checked = Checked::open(trace).unwrap_or_else(|why| panic!("{why}"));
    assert!(checked.report.is_consistent() && checked.report.events > 1000);
    day.scratch.run(["inspect".as_ref(), trace.as_os_str()]).expect(0);
}

#[test]
fn full_disk() {
    let day = Day::new("endless_writer.c");
    let folder = day.scratch.join("disk");
    let Some(disk) = SmallDisk::mount(&folder, "100k") else {
        return skip("full_disk", "mounting needs root; the tests of the launcher limit the size of files instead");
    };
    cut_short(&day, &disk.path.join("run.rwt"), &[], "make room");
}

#[test]
fn max_trace_reached() {
    let day = Day::new("endless_writer.c");
    cut_short(&day, &day.trace(), &["--max-trace", "60k"], "--max-trace");
    let checked = day.checked();
    assert!(checked.trace.file_len() < 1 << 20, "{}", checked.trace.file_len());
    // What was recorded can be replayed; nothing after it is compared.
    day.scratch.run(["replay", "run.rwt"]).expect(0).says("identically");
}

#[test]
fn max_events_reached() {
    let day = Day::new("endless_writer.c");
    cut_short(&day, &day.trace(), &["--max-events", "3000"], "--max-events");
    day.scratch.run(["replay", "run.rwt"]).expect(0).says("identically");
}

/// Nobody: may write neither our scratch folders nor anything of the user who runs the tests.
const NOBODY: u32 = 65534;

#[test]
fn no_permission_for_the_output_folder() {
    let scratch = Scratch::new("day");
    let program = scratch.build("golden/mutex/bank_ok.c");
    let closed = scratch.join("closed");
    fs::create_dir(&closed).expect("a folder");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).expect("chmod");
    // Where another user can run it.
    let command = scratch.join("reweave");
    fs::copy(REWEAVE, &command).expect("a copy of the command");
    let cache = scratch.join("cache");
    fs::create_dir(&cache).expect("a folder");
    for words in [["record", "-o", "closed/run.rwt"], ["test", "-o", "closed/out"]] {
        let mut command = scratch.command(&command);
        command.args(words).arg("--").arg(&program).env("REWEAVE_CACHE", &cache);
        if is_root() {
            chown(&cache, Some(NOBODY), Some(NOBODY)).expect("root may");
            command.uid(NOBODY).gid(NOBODY);
        }
        let done = run(&mut command).expect(2).says("closed/").says("Permission denied").says("-o");
        assert_eq!(done.stdout, "", "the program must not have run");
    }
}

#[test]
fn output_folder_that_is_a_file() {
    let scratch = Scratch::new("day");
    let program = scratch.build("golden/mutex/bank_ok.c");
    scratch.file("taken", "");
    for words in
        [["record", "-o", "taken/run.rwt"], ["test", "-o", "taken/out"], ["record", "-o", "no/such/folder.rwt"]]
    {
        let done = run(scratch.reweave(words).arg("--").arg(&program)).expect(2).says("-o");
        assert_eq!(done.stdout, "", "the program must not have run");
    }
}

/// Lets the system call `personality` fail in a process and its children, as some containers do.
fn refuse_personality() -> io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        step(LOAD, 0, 0, 0),
        step(JUMP, 0, 1, libc::SYS_personality as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: a filter of four steps, which the kernel copies.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
fn aslr_that_cannot_be_turned_off() {
    let day = Day::new("fork_threads.c");
    let run_refused = |command: &mut Command| {
        // SAFETY: installs a filter in the new process; calls nothing that allocates.
        unsafe { command.pre_exec(refuse_personality) };
        run(command)
    };
    let done = run_refused(&mut day.command(&[], &[]));
    if done.code.is_none() {
        return skip("aslr_that_cannot_be_turned_off", "no seccomp here");
    }
    let done = done.expect(0).says("addresses stay random");
    assert_eq!(done.count("addresses stay random"), 1, "{}", done.stderr);
    for checked in day.all() {
        assert_eq!(checked.trace.meta().aslr, Aslr::On);
        assert!(matches!(checked.outcome(), Outcome::Exited { .. }));
    }
    for _ in 0..3 {
        run_refused(&mut day.scratch.reweave(["replay", "run.rwt"])).expect(0).says("identically");
    }
    // Recorded at random addresses, replayed at fixed ones.
    day.replays(false);
    day.record();
    assert_eq!(day.checked().trace.meta().aslr, Aslr::Off);
}
