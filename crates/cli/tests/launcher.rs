//! What can go wrong with a program, a machine or a user: each has a clear end.

mod lab;

use std::time::{Duration, Instant};

use lab::{Lab, reweave};
use reweave_trace::RunSet;

/// Two threads count for ever.
const ENDLESS: &str = "#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long count;
static void *work(void *arg) {
    for (;;) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    return 0;
}
";

/// Many accesses that do not compress.
const NOISY: &str = "#include <pthread.h>
#include <stdlib.h>
static unsigned table[4096];
static int rounds = 300000;
static void *work(void *arg) {
    unsigned seed = 1;
    for (int i = 0; i < rounds; i++) {
        seed = seed * 1103515245 + 12345;
        table[seed >> 8 & 4095] ^= seed;
    }
    return arg;
}
int main(int count, char **words) {
    pthread_t one, two;
    if (count > 1)
        rounds = atoi(words[1]);
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
";

#[test]
fn programs_that_cannot_be_run() {
    let lab = Lab::new();
    lab.write("text", "hello");
    for (program, part) in
        [("./nothing", "no such program"), ("nothing-in-path", "no such program"), ("./text", "not executable")]
    {
        let said = lab.reweave(&["record", "--", program]);
        assert_eq!(said.code, 3, "{said:?}");
        assert!(said.stderr.contains(part), "{said:?}");
        assert_eq!(lab.reweave(&["test", "--", program]).code, 3);
    }
}

#[test]
fn places_that_cannot_be_written() {
    let lab = Lab::new();
    lab.build_text("int main(void) { return 0; }", "quiet");
    let said = lab.reweave(&["record", "-o", "no/such/folder/x.rwt", "--", "./quiet"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.stderr.contains("-o"), "{said:?}");
    lab.write("file", "");
    let said = lab.reweave(&["test", "-o", "file/out", "--", "./quiet"]);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn a_file_of_random_bytes_is_no_trace() {
    let lab = Lab::new();
    let noise: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(lab.path("noise.rwt"), noise).expect("the lab can be written");
    lab.write("empty.rwt", "");
    for file in ["noise.rwt", "empty.rwt", "missing.rwt"] {
        for command in ["inspect", "replay", "predict"] {
            let said = lab.reweave(&[command, file]);
            assert_eq!(said.code, 2, "{command} {file}: {said:?}");
            assert!(said.stderr.contains(file), "{said:?}");
        }
    }
}

#[test]
fn failures_keep_their_status_and_replay() {
    for (source, status, how) in [
        ("abort", 134, "SIGABRT"),
        ("segv", 139, "SIGSEGV"),
        ("kill_self", 137, "SIGKILL"),
        ("exit_in_thread", 5, "status 5"),
    ] {
        let lab = Lab::new();
        lab.build(&format!("bad_days/{source}.c"), "program");
        let said = lab.reweave(&["record", "--", "./program"]);
        assert_eq!(said.code, status, "{said:?}");
        assert!(said.stderr.contains(how), "{said:?}");
        let again = lab.reweave(&["replay", "reweave.rwt"]);
        assert_eq!(again.code, 1, "{source}: {again:?}");
        assert!(again.stderr.contains("identically"), "{source}: {again:?}");
    }
}

#[test]
fn a_failing_run_is_a_finding() {
    let lab = Lab::new();
    lab.build("bad_days/segv.c", "program");
    let said = lab.reweave(&["test", "--", "./program"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("confirmed failure"), "{said:?}");
    assert_eq!(lab.reweave(&["replay", "reweave-out/1"]).code, 1);
}

#[test]
fn a_hang_is_ended_and_explained() {
    let lab = Lab::new();
    lab.build_text(
        "#include <pthread.h>\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
         static void *work(void *arg) { pthread_mutex_lock(&lock); return arg; }\n\
         int main(void) { pthread_t one; pthread_mutex_lock(&lock); pthread_create(&one, 0, work, 0);\n\
         pthread_join(one, 0); return 0; }",
        "stuck",
    );
    let said = lab.reweave(&["record", "--", "./stuck"]);
    assert_eq!(said.code, 137, "{said:?}");
    assert!(said.stderr.contains("hung"), "{said:?}");
    assert!(said.stderr.contains("wait for lock lock"), "{said:?}");
    assert!(said.stderr.contains("wait for the end of thread 1"), "{said:?}");
    let again = lab.reweave(&["replay", "reweave.rwt"]);
    assert_eq!(again.code, 1, "{again:?}");
}

#[test]
fn scripts_are_followed_to_their_children() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_ok.c", "bank");
    let script = lab.write("run.sh", "#!/bin/sh\n./bank\n./bank\nexit 5\n");
    let mut mode = std::fs::metadata(&script).expect("just written").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&script, mode).expect("ours");
    let said = lab.reweave(&["record", "--", "./run.sh"]);
    assert_eq!((said.code, said.stdout.as_str()), (5, "balance 100\nbalance 100\n"), "{said:?}");
    for trace in ["reweave.rwt", "reweave.rwt.2"] {
        assert!(lab.reweave(&["inspect", trace]).stdout.contains("T2"), "{trace}");
    }
    assert!(!lab.path("reweave.rwt.3").exists());
    let set = RunSet::of(&lab.path("reweave.rwt.run"));
    let [first, second] = set.processes() else { panic!("two processes: {set:?}") };
    assert!(first.executable.ends_with("/bank") && first.executable == second.executable, "{set:?}");
    assert!(first.parent == second.parent && first.pid != second.pid && !second.forked, "{set:?}");
    assert!(lab.reweave(&["inspect", "reweave.rwt"]).stdout.contains("processes  2 in this run"));
    let all = lab.reweave(&["inspect", "reweave.rwt.run"]).stdout;
    assert!(all.contains("process 1 of 2: ") && all.contains("process 2 of 2: "), "{all}");
    assert_eq!(lab.reweave(&["predict", "reweave.rwt.run"]).code, 0);
    // Another recording of the same name leaves nothing of this one.
    assert_eq!(lab.reweave(&["record", "--", "./bank"]).code, 0);
    assert!(!lab.path("reweave.rwt.2").exists() && !lab.path("reweave.rwt.run").exists());
}

#[test]
fn fork_and_exec_get_traces_of_their_own() {
    let lab = Lab::new();
    lab.build("bad_days/fork_threads.c", "forks");
    lab.build("bad_days/exec_self.c", "execs");
    assert_eq!(lab.reweave(&["record", "-o", "f.rwt", "--", "./forks"]).code, 0);
    assert!(lab.path("f.rwt.2").exists());
    assert_eq!(lab.reweave(&["record", "-o", "e.rwt", "--", "./execs"]).code, 0);
    assert!(lab.reweave(&["inspect", "e.rwt"]).stdout.contains("went on as another program"));
    assert!(lab.path("e.rwt.2").exists());
}

#[test]
fn a_plain_program_is_said_to_be_one() {
    let lab = Lab::new();
    let source = lab.write("plain.c", "int main(void) { return 7; }");
    let built = lab.command("cc").arg("-o").arg(lab.path("plain")).arg(&source).status().expect("a compiler");
    assert!(built.success());
    let said = lab.reweave(&["record", "--", "./plain"]);
    assert_eq!(said.code, 7, "{said:?}");
    assert!(said.stderr.contains("was not built with reweave cc: only lock-level events"), "{said:?}");
}

#[test]
fn a_size_limit_ends_the_recording_not_the_run() {
    let lab = Lab::new();
    lab.build_text(NOISY, "noisy");
    let said = lab.reweave(&["record", "--max-trace", "300k", "--", "./noisy"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.stderr.matches("warning").count(), 1, "{said:?}");
    assert!(said.stderr.contains("--max-trace"), "{said:?}");
    let size = std::fs::metadata(lab.path("reweave.rwt")).expect("a trace").len();
    assert!(size < 2 << 20, "{size}");
    assert!(lab.reweave(&["inspect", "reweave.rwt"]).stdout.contains("--max-trace"));
    let again = lab.reweave(&["replay", "reweave.rwt"]);
    assert_eq!(again.code, 0, "{again:?}");
}

#[test]
fn a_full_disk_ends_the_recording_not_the_run() {
    let lab = Lab::new();
    lab.build_text(NOISY, "noisy");
    // A file-size limit gives the same error as a full disk, on any machine. In blocks of 512 bytes; the shared region
    // (8 MB) counts as a file too.
    let said = lab.shell("ulimit -f 18500 && exec \"$REWEAVE\" record -- ./noisy 1200000");
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.stderr.matches("warning").count(), 1, "{said:?}");
    let inspected = lab.reweave(&["inspect", "reweave.rwt"]);
    assert_eq!(inspected.code, 0, "{inspected:?}");
    assert!(inspected.stdout.contains("T1"), "{inspected:?}");
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_signal_is_passed_on_and_the_trace_finished() {
    let lab = Lab::new();
    lab.build_text(ENDLESS, "endless");
    let mut command = lab.command(reweave());
    command.args(["record", "--", "./endless"]).stderr(std::process::Stdio::piped());
    let child = command.spawn().expect("reweave starts");
    wait_for("the trace", || std::fs::metadata(lab.path("reweave.rwt")).is_ok_and(|about| about.len() > 4096));
    // SAFETY: a signal to our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    let said: lab::Said = child.wait_with_output().expect("it ends").into();
    assert_eq!(said.code, 143, "{said:?}");
    assert!(said.stderr.contains("SIGTERM"), "{said:?}");
    assert!(lab.reweave(&["inspect", "reweave.rwt"]).stdout.contains("ended by SIGTERM"));
}

#[test]
fn a_killed_reweave_leaves_a_readable_trace_and_a_running_program() {
    let lab = Lab::new();
    lab.build_text(ENDLESS, "endless");
    let mut child = lab.command(reweave()).args(["record", "--", "./endless"]).spawn().expect("reweave starts");
    wait_for("the trace", || std::fs::metadata(lab.path("reweave.rwt")).is_ok_and(|about| about.len() > 4096));
    let target = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).expect("its child");
    let target: i32 = target.trim().parse().expect("one pid");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    std::thread::sleep(Duration::from_millis(500));
    let state = std::fs::read_to_string(format!("/proc/{target}/stat")).unwrap_or_default();
    // SAFETY: the program we started, now an orphan.
    unsafe { libc::kill(target, libc::SIGKILL) };
    assert!(state.contains("endless") && !state.contains(") Z"), "the program is gone: {state}");
    let inspected = lab.reweave(&["inspect", "reweave.rwt"]);
    assert_eq!(inspected.code, 0, "{inspected:?}");
    assert!(inspected.stdout.contains("cut off"), "{inspected:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_ok.c", "bank");
    assert_eq!(lab.reweave(&["record", "--", "./bank"]).code, 0);
    let said = lab.shell("\"$REWEAVE\" inspect reweave.rwt --events | head -1; \"$REWEAVE\" inspect reweave.rwt >&-");
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!said.stderr.contains("panicked"), "{said:?}");
    let full = lab.shell("\"$REWEAVE\" inspect reweave.rwt >/dev/full");
    assert_eq!(full.code, 2, "{full:?}");
}
