//! Programs of many ranks (MPI, OpenSHMEM): their races found, made to happen in both orders and replayed, and nothing
//! found where there is nothing.
//!
//! A normal run takes some of the golden programs of `tests/spmd`; `REWEAVE_RANKS=1` (`cargo xtask survey spmd`) takes
//! all of them, MPI programs on each MPI that is here. Without one nothing is tested, which is said.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use common::run::run_with;
use common::{Done, Scratch, has, root, skip};
use serde_json::Value;

/// For one test of a program, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Those of a normal run, each with its `_bad` and `_ok`.
const SAMPLE: [&str; 14] = [
    "put_load",
    "origin_store",
    "flush_local",
    "complete_message",
    "rget_wait",
    "lock_all_exclusive",
    "fetch_and_op",
    "openmp_sections",
    "flush_local_all",
    "free_origin",
    "string_copy",
    "type_freed",
    "shmem_fence_puts",
    "shmem_free_order",
];

/// A library of ranks: its compiler, and what starts its programs.
#[derive(Clone, Copy)]
struct Library {
    compiler: &'static str,
    launcher: &'static str,
}

const OPEN_MPI: Library = Library { compiler: "mpicc.openmpi", launcher: "mpirun.openmpi" };
const MPICH: Library = Library { compiler: "mpicc.mpich", launcher: "mpiexec.mpich" };
const SHMEM: Library = Library { compiler: "oshcc", launcher: "oshrun" };

impl Library {
    fn is_here(self) -> bool {
        has(self.compiler) && has(self.launcher)
    }

    /// Root may run it, on fewer cores than ranks.
    fn command(command: &mut Command) -> &mut Command {
        command
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
    }

    fn build(self, scratch: &Scratch, name: &str) {
        let source = golden().join(format!("{name}.c"));
        let mut command = scratch.reweave(["cc", "-g", "-fopenmp", "-o", name]);
        run_with(command.arg(source).env("REWEAVE_CC", self.compiler), None, LIMIT).expect(0);
    }

    fn test(self, scratch: &Scratch, name: &str) -> Done {
        let program = format!("./{name}");
        let words = ["test", "-o", "out", "--", self.launcher, "-n", "2", &program];
        run_with(Self::command(&mut scratch.reweave(words)), None, LIMIT)
    }
}

fn golden() -> PathBuf {
    root().join("tests/spmd")
}

fn findings(scratch: &Scratch) -> Vec<Value> {
    let text = fs::read_to_string(scratch.join("out/report.json")).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    report["findings"].as_array().expect("findings").clone()
}

/// Golden programs: all, or those of a normal run.
fn programs(library: Library) -> Vec<String> {
    let all = std::env::var_os("REWEAVE_RANKS").is_some();
    let shmem = library.compiler == SHMEM.compiler;
    let mut names: Vec<String> = fs::read_dir(golden())
        .expect("golden programs")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".c")?.to_owned()))
        .filter(|name| name.starts_with("shmem_") == shmem)
        .filter(|name| {
            all || SAMPLE.iter().any(|sample| name.rsplit_once('_').is_some_and(|(stem, _)| stem == *sample))
        })
        .collect();
    names.sort();
    names
}

/// Tests golden programs; returns how many of each strength the bad ones had.
fn judge(library: Library) -> BTreeMap<String, usize> {
    let scratch = Scratch::new("ranks");
    let mut strengths = BTreeMap::new();
    for name in programs(library) {
        library.build(&scratch, &name);
        let done = library.test(&scratch, &name);
        let bad = name.ends_with("_bad");
        assert_eq!(done.code, Some(i32::from(bad)), "{name}: {}", done.stderr);
        let found = findings(&scratch);
        let strongest = found.first().map(|finding| finding["strength"].as_str().unwrap_or_default().to_owned());
        if bad {
            *strengths.entry(strongest.unwrap_or_default()).or_default() += 1;
        }
    }
    strengths
}

#[test]
fn races_of_open_mpi_programs_are_found_and_confirmed_and_nothing_else_is() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let strengths = judge(OPEN_MPI);
    let confirmed = strengths.get("confirmed").copied().unwrap_or(0);
    let all: usize = strengths.values().sum();
    assert!(confirmed * 2 >= all, "{strengths:?}");
}

#[test]
fn races_of_shmem_programs_are_found_and_nothing_else_is() {
    if !SHMEM.is_here() {
        return skip("ranks", "no OpenSHMEM (oshcc)");
    }
    judge(SHMEM);
}

#[test]
fn races_of_mpich_programs_are_found_and_nothing_else_is() {
    if !MPICH.is_here() {
        return skip("ranks", "no MPICH (mpicc.mpich)");
    }
    if std::env::var_os("REWEAVE_RANKS").is_some() {
        judge(MPICH);
        return;
    }
    // The same file serves both; one program shows that it does. One with threads: its library replaces `mmap`, so that
    // allocating takes locks that are seen.
    let scratch = Scratch::new("ranks");
    for (name, code) in [("put_load_bad", 1), ("openmp_critical_ok", 0)] {
        MPICH.build(&scratch, name);
        MPICH.test(&scratch, name).expect(code);
    }
}

#[test]
fn a_finding_names_ranks_window_bytes_and_lines_and_is_replayed() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let scratch = Scratch::new("ranks");
    OPEN_MPI.build(&scratch, "put_load_bad");
    let told = OPEN_MPI.test(&scratch, "put_load_bad").expect(1);
    told.says("rank 0's part of the window made at put_load_bad.c:10, bytes 0–3").says("put by rank 1 at ");
    let found = findings(&scratch);
    assert_eq!(found.len(), 1, "{found:?}");
    let accesses = found[0]["accesses"].as_array().expect("accesses");
    let rank_and_line: Vec<(u64, u64)> = accesses
        .iter()
        .filter_map(|access| Some((access["rank"].as_u64()?, access["location"]["line"].as_u64()?)))
        .collect();
    assert_eq!(rank_and_line, [(0, 15), (1, 14)]);
    assert_eq!(found[0]["strength"], "confirmed");
    let mut replay = scratch.reweave(["replay", "out/1", "--times", "3"]);
    run_with(Library::command(&mut replay), None, LIMIT).expect(1).says("in 3 of 3 replays");
    // Every other form of the report has it too.
    let mut forms =
        scratch.reweave(["report", "out", "--html", "out.html", "--sarif", "out.sarif", "--junit", "out.xml"]);
    run_with(&mut forms, None, LIMIT).expect(1);
    for form in ["out.html", "out.sarif", "out.xml"] {
        let text = fs::read_to_string(scratch.join(form)).expect("written");
        assert!(text.contains("put_load_bad.c:10"), "{form}");
    }
    // Lanes of ranks, an epoch as a bar.
    let page = fs::read_to_string(scratch.join("out.html")).expect("written");
    for part in ["\"rank 0\"", "\"rank 1\"", "puts 4 bytes, rank 0, at 0", "enters a fence", "epoch "] {
        assert!(page.contains(part), "{part}");
    }
    run_with(&mut scratch.reweave(["verify", "out"]), None, LIMIT).expect(2).says("findings of many ranks");
    let story = run_with(&mut scratch.reweave(["explain", "out/1"]), None, LIMIT).expect(0);
    assert!(story.stdout.contains("put by rank 1"), "{}", story.stdout);
}

#[test]
fn a_run_is_recorded_predicted_watched_and_confirmed_by_itself() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let scratch = Scratch::new("ranks");
    OPEN_MPI.build(&scratch, "put_load_bad");
    let reweave = |words: &[&str]| run_with(Library::command(&mut scratch.reweave(words)), None, LIMIT);
    let program = ["--", OPEN_MPI.launcher, "-n", "2", "./put_load_bad"];
    let race = "put_load_bad.c:14";
    reweave(&[&["record", "-o", "run"][..], &program].concat()).expect(0).says("run: 2 ranks");
    let predicted = reweave(&["predict", "run"]).expect(1);
    assert!(predicted.stdout.contains("[1] predicted") && predicted.stdout.contains(race), "{}", predicted.stdout);
    // The program's own status, whatever is found. Nothing is kept that an order could be checked with.
    let watch = [&["watch", "--json", "watched.json"][..], &program].concat();
    reweave(&watch).expect(0).says(race).says("[1] potential").says("phases");
    reweave(&["replay", "run"]).expect(2).says("`reweave confirm run`, then replay a finding");
    reweave(&["confirm", "run"]).expect(1).says("[1] confirmed");
    reweave(&["replay", "run/1"]).expect(1).says("in 1 of 1 replays");
}

/// The lines of each pair that was found.
fn lines(scratch: &Scratch, file: &str) -> BTreeSet<Vec<u64>> {
    let text = fs::read_to_string(scratch.join(file)).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let pair = |finding: &Value| {
        let accesses = finding["accesses"].as_array().expect("accesses");
        let mut lines: Vec<u64> = accesses.iter().filter_map(|access| access["location"]["line"].as_u64()).collect();
        lines.sort_unstable();
        lines
    };
    report["findings"].as_array().expect("findings").iter().map(pair).collect()
}

#[test]
fn ranks_that_judge_while_they_run_find_what_their_logs_show() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let scratch = Scratch::new("ranks");
    let mut pairs = 0;
    // Threads that take part in no boundary are not cut by it.
    for name in programs(OPEN_MPI).into_iter().filter(|name| !name.starts_with("openmp_")) {
        OPEN_MPI.build(&scratch, &name);
        let program = ["--", OPEN_MPI.launcher, "-n", "2", &format!("./{name}")];
        let reweave = |words: &[&str]| run_with(Library::command(&mut scratch.reweave(words)), None, LIMIT);
        reweave(&[&["record", "-o", "run"][..], &program].concat());
        reweave(&["predict", "--json", "predicted.json", "run"]);
        reweave(&[&["watch", "--json", "watched.json"][..], &program].concat());
        let found = lines(&scratch, "watched.json");
        assert_eq!(found, lines(&scratch, "predicted.json"), "{name}");
        pairs += found.len();
    }
    assert!(pairs > 4, "only {pairs} pairs: the programs show nothing");
}

#[test]
fn without_hooks_calls_alone_are_seen_and_that_is_said() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let scratch = Scratch::new("ranks");
    let source = golden().join("put_put_bad.c");
    run_with(scratch.command(OPEN_MPI.compiler).args(["-g", "-o", "put_put_bad"]).arg(source), None, LIMIT).expect(0);
    OPEN_MPI.test(&scratch, "put_put_bad").expect(1).says("only calls were seen");
}

#[test]
fn what_starts_no_ranks_was_not_checked() {
    let scratch = Scratch::new("ranks");
    scratch.script("mpirun", "#!/bin/sh\nexit 0\n");
    run_with(&mut scratch.reweave(["test", "--", "./mpirun", "-n", "2", "./nothing"]), None, LIMIT)
        .expect(2)
        .says("not checked: no process of it called MPI_Init or shmem_init");
}

#[test]
fn fortran_is_seen_through_both_modules_and_told_at_its_own_lines() {
    if !OPEN_MPI.is_here() || !has("mpifort.openmpi") || !has("gfortran") {
        return skip("ranks", "no Fortran for Open MPI (mpifort.openmpi, gfortran)");
    }
    let scratch = Scratch::new("ranks");
    for (name, code) in [("put_load_bad", 1), ("put_load_ok", 0), ("put_load_08_bad", 1), ("put_load_08_ok", 0)] {
        let source = golden().join(format!("fortran/{name}.f90"));
        let mut build = scratch.reweave(["fc", "-g", "-o", name]);
        run_with(build.arg(source).env("REWEAVE_FC", "mpifort.openmpi"), None, LIMIT).expect(0);
        let told = OPEN_MPI.test(&scratch, name).expect(code);
        if code == 1 {
            told.says(&format!("{name}.f90")).says("put by rank 1 at ").says("[1] confirmed");
        }
    }
}

/// Coarrays of gfortran reach us as one-sided operations of the library behind them.
#[test]
fn coarrays_are_told_at_the_lines_of_the_program() {
    if !OPEN_MPI.is_here() || !has("mpifort.openmpi") || !has("caf.openmpi") {
        return skip("ranks", "no coarrays for Open MPI (libcoarrays-openmpi-dev, gfortran)");
    }
    let scratch = Scratch::new("ranks");
    for (name, code) in [("coarray_bad", 1), ("coarray_ok", 0)] {
        let source = golden().join(format!("fortran/{name}.f90"));
        let mut build = scratch.reweave(["fc", "-g", "-fcoarray=lib", "-o", name]);
        build.arg(source).arg("-lcaf_openmpi").env("REWEAVE_FC", "mpifort.openmpi");
        run_with(&mut build, None, LIMIT).expect(0);
        let told = OPEN_MPI.test(&scratch, name).expect(code);
        if code == 1 {
            told.says("put by rank 1 at ").says("coarray_bad.f90:9").says("coarray_bad.f90:10").says("[1] confirmed");
        }
    }
}

#[test]
fn what_is_looked_at_can_be_chosen() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let scratch = Scratch::new("ranks");
    OPEN_MPI.build(&scratch, "put_load_bad");
    let program = ["--", OPEN_MPI.launcher, "-n", "2", "./put_load_bad"];
    let reweave = |words: &[&str]| run_with(Library::command(&mut scratch.reweave(words)), None, LIMIT);
    let test = |words: &[&str]| reweave(&[&["test"], words, &program].concat());
    // A put and a load of rank 0's memory.
    test(&["--ranks", "0"]).expect(1);
    test(&["--ranks", "1"]).expect(0);
    test(&["--local", "none"]).expect(0);
    for sample in ["I", "IA", "H.5", "HA.5"] {
        reweave(&[&["record", "-o", "run", "--sample", sample][..], &program].concat()).expect(0);
        reweave(&["predict", "run"]).expect(1);
    }
    reweave(&[&["record", "-o", "run", "--sample", "NL"][..], &program].concat()).expect(0);
    reweave(&["predict", "run"]).expect(0);
    reweave(&[&["watch", "--ranks", "1"][..], &program].concat()).expect(0).says("no findings");
    reweave(&[&["watch", "--sample"][..], &program].concat()).expect(0).says("[1] potential");
    test(&["--ranks", "1-0"]).expect(2).says("no range of ranks");
    reweave(&["test", "--local", "none", "--", "true"]).expect(2).says("programs of many ranks");
}

#[test]
fn a_debugger_stops_one_rank_before_its_access() {
    if !OPEN_MPI.is_here() || !has("gdb") {
        return skip("ranks", "no Open MPI (mpicc.openmpi) or no gdb");
    }
    let scratch = Scratch::new("ranks");
    OPEN_MPI.build(&scratch, "put_load_bad");
    OPEN_MPI.test(&scratch, "put_load_bad").expect(1);
    for (rank, line) in [("0", "put_load_bad.c:15"), ("1", "put_load_bad.c:14")] {
        let words = ["replay", "out/1", "--gdb", "--rank", rank, "--", "-batch", "-ex", "print rank"];
        let told = run_with(Library::command(&mut scratch.reweave(words)), None, LIMIT).expect(0);
        assert!(told.stdout.contains(line), "{}", told.stdout);
        assert!(told.stdout.contains(&format!("$1 = {rank}")), "{}", told.stdout);
    }
    let words = ["replay", "out/1", "--gdb", "--rank", "7"];
    run_with(&mut scratch.reweave(words), None, LIMIT).expect(2).says("made by ranks 0 and 1, not by 7");
}

/// Loads of which no two can be put together, and by how much they raised the most memory that the rank ever had.
const LOADS: &str = "
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static long most(void) {
  char line[256];
  long most = 0;
  FILE *status = fopen(\"/proc/self/status\", \"r\");
  while (fgets(line, sizeof line, status))
    if (!strncmp(line, \"VmHWM:\", 6)) most = atol(line + 6);
  fclose(status);
  return most;
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  enum { COUNT = 200000 };
  char *memory;
  MPI_Win window;
  MPI_Win_allocate(COUNT * 24, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, COUNT * 24);
  long before = most(), sum = 0;
  for (int phase = 0; phase < 3; phase++) {
    for (long i = 0; i < COUNT; i++) sum += *(long *)(memory + i * 24);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  printf(\"used %ld KB for %ld\\n\", most() - before, sum);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
";

#[test]
fn what_ranks_keep_of_their_loads_has_room_in_the_memory_they_are_given() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let scratch = Scratch::new("ranks");
    scratch.file("loads.c", LOADS);
    let mut build = scratch.reweave(["cc", "-g", "-o", "loads", "loads.c"]);
    run_with(build.env("REWEAVE_CC", OPEN_MPI.compiler), None, LIMIT).expect(0);
    let words = ["watch", "--max-memory", "16M", "--", OPEN_MPI.launcher, "-n", "2", "./loads"];
    let done = run_with(Library::command(&mut scratch.reweave(words)), None, LIMIT).expect(0);
    let used: Vec<u64> = done.stdout.lines().filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect();
    assert!(used.len() == 2 && used.iter().all(|used| (4 << 10..20 << 10).contains(used)), "{}", done.stdout);
    // More than there was room for, which is said.
    done.says("did not fit");
}

/// Two races, one pair that a lock keeps apart, one that a join does.
const THREADS: &str = "
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int one, two, three, four;
static void *other(void *given) {
  one++;
  pthread_mutex_lock(&lock);
  three++;
  pthread_mutex_unlock(&lock);
  two = 1;
  four++;
  return given;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  one++;
  pthread_mutex_lock(&lock);
  three++;
  pthread_mutex_unlock(&lock);
  two = 2;
  pthread_join(thread, 0);
  four++;
  return 0;
}
";

#[test]
fn a_prediction_is_the_same_by_several_processes_as_by_one() {
    let libraries = [OPEN_MPI, MPICH].into_iter().filter(|library| library.is_here()).collect::<Vec<_>>();
    if libraries.is_empty() {
        return skip("ranks", "no Open MPI (mpicc.openmpi) and no MPICH (mpicc.mpich)");
    }
    let scratch = Scratch::new("ranks");
    scratch.file("threads.c", THREADS);
    run_with(&mut scratch.reweave(["cc", "-g", "-o", "threads", "threads.c", "-lpthread"]), None, LIMIT).expect(0);
    run_with(&mut scratch.reweave(["record", "-o", "trace.rwt", "--", "./threads"]), None, LIMIT).expect(0);
    let reweave = scratch.reweave(["predict", "trace.rwt"]).get_program().to_owned();
    let findings = |file: &str| {
        let text = fs::read_to_string(scratch.join(file)).expect("a report");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let told = |finding: &Value| {
            let words = ["kind", "strength", "fingerprint", "analysis"].map(|name| finding[name].to_string());
            words.join(" ")
        };
        report["findings"].as_array().expect("findings").iter().map(told).collect::<BTreeSet<String>>()
    };
    run_with(&mut scratch.reweave(["predict", "trace.rwt", "--json", "one.json"]), None, LIMIT).expect(1);
    let alone = findings("one.json");
    assert!(alone.len() >= 2, "{alone:?}");
    for library in libraries {
        let mut together = scratch.command(library.launcher);
        together.args(["-n", "3"]).arg(&reweave).args(["predict", "trace.rwt", "--json", "several.json"]);
        let done = run_with(Library::command(&mut together), None, LIMIT).expect(1);
        assert_eq!(findings("several.json"), alone, "{}", done.stderr);
        // Only one of them speaks.
        assert_eq!(done.stdout.matches("data race on two").count(), 1, "{}", done.stdout);
        fs::remove_file(scratch.join("several.json")).expect("written");
    }
}

#[test]
fn what_is_odd_and_allowed_is_no_finding() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let scratch = Scratch::new("ranks");
    let mut build = scratch.reweave(["cc", "-g", "-o", "odd"]);
    let source = root().join("tests/bad_days/ranks_odd.c");
    run_with(build.arg(source).env("REWEAVE_CC", OPEN_MPI.compiler), None, LIMIT).expect(0);
    for ranks in [&["-n", "2", "./odd"][..], &["-n", "1", "./odd", ":", "-n", "1", "./odd", "another"]] {
        let words = [&["test", "--", OPEN_MPI.launcher][..], ranks].concat();
        run_with(Library::command(&mut scratch.reweave(words)), None, LIMIT).expect(0).says("no findings");
    }
}

/// Each rank waits for the other one's message first.
const HANGS: &str = "
#include <mpi.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, got;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Recv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
";

#[test]
fn a_run_that_hangs_says_who_waits_for_whom() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let scratch = Scratch::new("ranks");
    scratch.file("hangs.c", HANGS);
    run_with(scratch.command(OPEN_MPI.compiler).args(["-g", "-o", "hangs", "hangs.c"]), None, LIMIT).expect(0);
    let told = OPEN_MPI.test(&scratch, "hangs").expect(2);
    told.says("rank 0 waits at hangs.c:7").says("for a message from rank 1").says("that rank 0 has not entered");
}

/// One rank ends as it should not, behind everything that could race.
const ENDS: &str = "
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, *memory;
  MPI_Win window;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_fence(0, window);
  if (argv[2][0] == 'r') MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  if (rank == 1 && argv[1][0] == 'k') raise(SIGKILL);
  if (rank == 1 && argv[1][0] == 'a') MPI_Abort(MPI_COMM_WORLD, 3);
  if (rank == 1 && argv[1][0] == 'e') _Exit(0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
";

#[test]
fn a_rank_that_ends_early_is_looked_at_and_is_no_clean_bill() {
    if !OPEN_MPI.is_here() {
        return skip("ranks", "no Open MPI (mpicc.openmpi)");
    }
    let scratch = Scratch::new("ranks");
    scratch.file("ends.c", ENDS);
    let mut build = scratch.reweave(["cc", "-g", "-o", "ends", "ends.c"]);
    run_with(build.env("REWEAVE_CC", OPEN_MPI.compiler), None, LIMIT).expect(0);
    let test = |how: &str, race: &str| {
        let words = ["test", "--fail-fast", "--", OPEN_MPI.launcher, "-n", "2", "./ends", how, race];
        run_with(Library::command(&mut scratch.reweave(words)), None, LIMIT)
    };
    for how in ["kill", "abort", "exit"] {
        test(how, "none").expect(2).says("did not come to MPI_Finalize");
    }
    test("kill", "race").expect(1);
    test("normally", "none").expect(0);
}
