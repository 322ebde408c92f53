//! `reweave watch`: findings while the program runs, the program's own end, and what must not go wrong on the way.

mod lab;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use lab::Lab;
use reweave_model::{Kind, Strength};
use reweave_report::{Operation, Report};

/// A watched program whose words are read as they come.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(lab: &Lab, args: &[&str]) -> Self {
        let mut command = lab.command(lab::reweave());
        command.arg("watch").args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Tests that run in the background of a shell ignore Ctrl-C, and so would `reweave` and the program.
        // SAFETY: async-signal-safe, and nothing is allocated.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let mut child = command.spawn().expect("reweave starts");
        let (send, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        Self { child, lines }
    }

    /// Waits for a line with this text; what came before it is passed over.
    #[track_caller]
    fn hears(&self, text: &str) -> String {
        let mut heard = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(60)) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => heard.push(line),
                Err(_) => panic!("no {text:?} in: {heard:#?}"),
            }
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a child of ours that has not been waited for.
        unsafe { libc::kill(self.child.id() as i32, signal) };
    }

    fn ends_with(mut self, code: i32) {
        use std::os::unix::process::ExitStatusExt;
        let mut out = String::new();
        self.child.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
        let status = self.child.wait().expect("our child");
        assert_eq!(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)), code, "{out}");
    }
}

/// Races, then waits for a line of input; `trap` makes it deaf to Ctrl-C.
const WAITS: &str = "#include <pthread.h>
#include <signal.h>
#include <stdio.h>
static int shared;
static void *work(void *arg) { shared++; return arg; }
int main(int count, char **words) {
    char line[16];
    pthread_t one, two;
    if (count > 1)
        signal(SIGINT, SIG_IGN);
    pthread_create(&one, 0, work, 0);
    pthread_create(&two, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    puts(fgets(line, sizeof line, stdin) ? line : \"no input\");
    return 7;
}
";

#[test]
fn a_race_is_reported_before_the_program_ends() {
    let lab = Lab::new();
    lab.build_text(WAITS, "waits");
    let mut watching = Watching::start(&lab, &["--json", "findings.json", "--", "./waits"]);
    watching.hears("data race on shared");
    watching.hears("waits.c:5 in work");
    assert!(watching.child.try_wait().expect("our child").is_none(), "it waits for us");
    drop(watching.child.stdin.take());
    watching.hears("potential findings (");
    watching.ends_with(7);
    let report =
        Report::from_json(&std::fs::read_to_string(lab.path("findings.json")).expect("written")).expect("JSON");
    assert_eq!(report.program, ["./waits"]);
    assert!(report.findings.iter().any(|item| item.analysis == "hb" && item.accesses[0].location.line == 5));
    assert!(report.findings.iter().all(|item| item.strength == Strength::Potential && item.kind == Kind::Race));
    assert!(report.stats["events"] > 10 && report.stats["threads"] == 3 && report.stats["processes"] == 1);
}

#[test]
fn each_pair_of_places_is_reported_once() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_bad.c", "bank");
    let said = lab.reweave(&["watch", "--", "./bank"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("balance"), "{said:?}");
    // Read and write against a locked read and write, less the two reads: one of them speaks for all.
    assert_eq!(said.stderr.matches("potential: data race on balance").count(), 1, "{said:?}");
    assert!(said.stderr.contains("2 more findings are about the same variables or locks"), "{said:?}");
    assert!(said.stderr.contains("holding account (taken at bank_bad.c:"), "{said:?}");
    assert!(said.stderr.contains("the first two that nothing ordered in this run, so a race"), "{said:?}");
    let good = Lab::new();
    good.build("golden/mutex/bank_ok.c", "bank");
    let said = good.reweave(&["watch", "--", "./bank"]);
    assert!(said.code == 0 && said.stderr.contains("no findings"), "{said:?}");
}

#[test]
fn ctrl_c_goes_to_the_program_and_the_summary_comes() {
    let lab = Lab::new();
    lab.build_text(WAITS, "waits");
    let watching = Watching::start(&lab, &["--json", "findings.json", "--", "./waits"]);
    watching.hears("data race on shared");
    watching.signal(libc::SIGINT);
    watching.hears("reweave: watched ");
    watching.hears("SIGINT");
    watching.hears("potential findings (");
    watching.ends_with(128 + libc::SIGINT);
    assert!(lab.path("findings.json").metadata().expect("written").len() > 100);
    // One that does not listen is ended by the second. Two that come while nobody looks are one to the kernel: on a
    // busy machine it takes more. Those that come too late do not keep the summary from being told.
    let mut watching = Watching::start(&lab, &["--", "./waits", "deaf"]);
    watching.hears("data race on shared");
    for _ in 0..600 {
        watching.signal(libc::SIGINT);
        std::thread::sleep(Duration::from_millis(50));
        if watching.child.try_wait().expect("our child").is_some() {
            break;
        }
    }
    watching.hears("potential findings (");
    watching.ends_with(128 + libc::SIGKILL);
}

#[test]
fn children_and_other_programs_are_watched_too() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_bad.c", "bank");
    let parent = "#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static int mine;
static void *work(void *arg) { mine++; return arg; }
int main(void) {
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            pthread_t one, two;
            pthread_create(&one, 0, work, 0);
            pthread_create(&two, 0, work, 0);
            pthread_join(one, 0);
            pthread_join(two, 0);
            _exit(0);
        }
    while (wait(0) > 0)
        ;
    execl(\"./bank\", \"bank\", (char *)0);
    return 1;
}
";
    lab.build_text(parent, "parent");
    let said = lab.reweave(&["watch", "--json", "findings.json", "--", "./parent"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("in 5 processes"), "{said:?}");
    assert!(said.stderr.contains("data race on balance"), "{said:?}");
    // Read and write, write and write: in three processes, and told once.
    let report =
        Report::from_json(&std::fs::read_to_string(lab.path("findings.json")).expect("written")).expect("JSON");
    let mine = report.findings.iter().filter(|item| item.summary.contains("on mine")).count();
    assert_eq!(mine, 2, "{said:?}");
    assert!(std::fs::read_dir(lab.path(".")).expect("a folder").all(|file| {
        let name = file.expect("readable").file_name().into_string().expect("ASCII");
        !name.contains(".rwt") && !name.contains("stdin") && !name.contains("plain")
    }));
    let script = lab.shell("\"$REWEAVE\" watch -- sh -c './bank; exit 5'");
    assert!(script.code == 5 && script.stderr.contains("data race on balance"), "{script:?}");
}

/// Two threads that do nothing but touch memory.
const BUSY: &str = "#include <pthread.h>
#include <stdlib.h>
static long table[2][1 << 14];
static int rounds;
static void *work(void *arg) {
    long *mine = arg;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < 1 << 14; i++)
            mine[i] += i;
    return 0;
}
int main(int count, char **words) {
    pthread_t one, two;
    rounds = count > 1 ? atoi(words[1]) : 1;
    pthread_create(&one, 0, work, table[0]);
    pthread_create(&two, 0, work, table[1]);
    pthread_join(one, 0);
    pthread_join(two, 0);
    return 0;
}
";

#[test]
fn a_fast_program_waits_and_nothing_is_lost() {
    let lab = Lab::new();
    lab.build_text(BUSY, "busy");
    let said = lab.reweave(&["watch", "--every-access", "--json", "findings.json", "--", "./busy", "60"]);
    assert_eq!(said.code, 0, "{said:?}");
    let report =
        Report::from_json(&std::fs::read_to_string(lab.path("findings.json")).expect("written")).expect("JSON");
    // Without optimisation each round reads and writes every element.
    let accesses = 60 * 2 * (1 << 14) * 2;
    assert!(report.stats["events"] >= accesses, "{:?}", report.stats);
    assert!(report.stats["stalls"] > 0 && said.stderr.contains("no event was lost"), "{said:?}");
    assert!(said.stderr.contains("the analysis is slower than the program"), "{said:?}");
    // Most of it comes again and again.
    let said = lab.reweave(&["watch", "--sample", "--check", "--json", "findings.json", "--", "./busy", "60"]);
    let sampled =
        Report::from_json(&std::fs::read_to_string(lab.path("findings.json")).expect("written")).expect("JSON");
    assert!(sampled.stats["skipped_weaker"] > accesses / 4, "{said:?}");
    assert!(said.stderr.contains("sampling lost 0 of 0 pairs"), "{said:?}");
}

#[test]
fn memory_has_a_limit() {
    let lab = Lab::new();
    lab.build_text(BUSY, "busy");
    let said = lab.reweave(&["watch", "--every-access", "--max-memory", "1M", "--", "./busy", "80"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("memory is at its limit"), "{said:?}");
    assert!(said.stderr.contains("was forgotten (--max-memory allows more)"), "{said:?}");
    assert!(said.stderr.contains("no findings"), "{said:?}");
}

#[test]
fn what_cannot_be_watched_is_said() {
    let lab = Lab::new();
    let said = lab.reweave(&["watch", "--", "/bin/true"]);
    assert!(said.code == 0 && said.stderr.contains("build it with `reweave cc`"), "{said:?}");
    let said = lab.reweave(&["watch", "--", "sh", "-c", "exit 3"]);
    assert!(said.code == 3 && said.stderr.contains("build it with `reweave cc`"), "{said:?}");
    for (args, code, text) in [
        (&["watch", "--", "./nothing"][..], 3, "no such program"),
        (&["watch", "--analysis", "magic", "--", "/bin/true"], 2, "there is no analysis `magic`"),
        (&["watch", "--analysis", "maximal", "--", "/bin/true"], 2, "needs a recorded trace"),
        (&["watch", "--sample", "--analysis", "shb", "--", "/bin/true"], 2, "needs every access"),
        (&["watch", "--check", "--", "/bin/true"], 2, "--sample"),
        (&["watch", "--max-memory", "much", "--", "/bin/true"], 2, "use K, M, G or T"),
        (&["watch", "--json", "no/such/folder/x.json", "--", "/bin/true"], 2, "no/such/folder"),
        (&["watch"], 2, "PROG"),
    ] {
        let said = lab.reweave(args);
        assert_eq!(said.code, code, "{args:?}: {said:?}");
        assert!(said.stderr.contains(text), "{args:?}: {said:?}");
    }
    assert!(!lab.reweave(&["watch", "--help"]).stdout.is_empty());
}

#[test]
fn a_failing_program_keeps_its_status() {
    for (source, status, how) in [("abort", 134, "SIGABRT"), ("exit_in_thread", 5, "status 5")] {
        let lab = Lab::new();
        lab.build(&format!("bad_days/{source}.c"), "program");
        let said = lab.reweave(&["watch", "--", "./program"]);
        assert!(said.code == status && said.stderr.contains(how), "{source}: {said:?}");
    }
}

/// Two threads take two locks in opposite order, one after the other; then the program waits for a line of input.
const INVERTS: &str = "#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int shared, before;
static void left_first(void) {
    before = 1;
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right);
    pthread_mutex_unlock(&right);
    shared = 1;
    pthread_mutex_unlock(&left);
}
static void *one(void *arg) { left_first(); return arg; }
static void *two(void *arg) {
    pthread_mutex_lock(&right);
    pthread_mutex_lock(&left);
    pthread_mutex_unlock(&left);
    shared = 2;
    pthread_mutex_unlock(&right);
    before = 2;
    return arg;
}
int main(void) {
    char line[16];
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return !fgets(line, sizeof line, stdin);
}
";

#[test]
fn a_lock_order_inversion_is_reported_as_a_deadlock_while_the_program_runs() {
    let lab = Lab::new();
    lab.build_text(INVERTS, "inverts");
    let mut watching = Watching::start(&lab, &["--json", "findings.json", "--analysis", "goodlock", "--", "./inverts"]);
    let told = watching.hears("2 threads wait for each other");
    assert!(told.contains("potential") && told.contains("lock left") && told.contains("lock right"), "{told}");
    assert!(watching.child.try_wait().expect("our child").is_none(), "it waits for us");
    drop(watching.child.stdin.take());
    watching.hears("1 potential finding (1 by goodlock)");
    watching.ends_with(1);
    let report =
        Report::from_json(&std::fs::read_to_string(lab.path("findings.json")).expect("written")).expect("JSON");
    let [deadlock] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
    assert_eq!((deadlock.kind, deadlock.analysis.as_str()), (Kind::Deadlock, "goodlock"));
    let members: Vec<_> =
        deadlock.accesses.iter().map(|it| (it.location.line, it.op.clone(), it.locks_held.len())).collect();
    let wait_for = |lock: &str| Operation::WaitForLock(lock.into());
    assert_eq!(members, [(8, wait_for("right"), 1), (16, wait_for("left"), 1)]);
    assert!(
        deadlock.accesses[0].locks_held[0].to_string().starts_with("left (taken at inverts.c:7"),
        "{:?}",
        deadlock.accesses
    );
    assert_eq!((deadlock.accesses[0].stack.len(), deadlock.accesses[0].stack[0].function.as_str()), (1, "one"));
}

/// What locks ordered in this run only is a race by lock histories; what their order keeps apart in every run is left
/// to locksets. No analysis runs twice for that, and no pair is told twice.
#[test]
fn lock_histories_find_races_that_happens_before_misses() {
    let lab = Lab::new();
    lab.build_text(INVERTS, "inverts");
    let said = lab.shell(
        "\"$REWEAVE\" watch --json findings.json --analysis hb,goodlock,lock-history,lockset -- ./inverts < /dev/null",
    );
    assert_eq!(said.code, 1, "{said:?}");
    let report =
        Report::from_json(&std::fs::read_to_string(lab.path("findings.json")).expect("written")).expect("JSON");
    let told = |text: &str| -> Vec<(&str, &str)> {
        let about = report.findings.iter().filter(|item| item.summary.contains(text));
        about.map(|item| (item.kind.name(), item.analysis.as_str())).collect()
    };
    assert_eq!(told("data race on before"), [("race", "lock-history")], "{said:?}");
    assert_eq!(told("data race on shared"), [("race", "lockset")], "{said:?}");
    assert_eq!(told("wait for each other").len(), 1, "{said:?}");
    assert_eq!(report.findings.len(), 3, "{said:?}");
    assert!(said.stderr.contains("neither locks nor their order keep the two apart"), "{said:?}");
    // Patterns are for who asks for them.
    let said = lab.shell("\"$REWEAVE\" watch -- ./inverts < /dev/null");
    assert_eq!(said.stderr.matches("potential: data race").count(), 0, "{said:?}");
    assert_eq!(said.stderr.matches("wait for each other").count(), 1, "{said:?}");
    // Asked for alone, each says what it says.
    for (analysis, races) in [("lockset", 2), ("lock-history", 1), ("hb", 0)] {
        let said = lab.shell(&format!("\"$REWEAVE\" watch --analysis {analysis} -- ./inverts < /dev/null"));
        assert_eq!(said.stderr.matches("potential: data race").count(), races, "{analysis}: {said:?}");
    }
}
