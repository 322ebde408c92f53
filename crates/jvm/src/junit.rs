//! Tests of JUnit and TestNG in place of programs: which command runs one class of them, or one method.
//!
//! The class path is the user's, and what runs the tests is taken from it; if it is not there (builds bring the JUnit 5
//! launcher along by themselves), from where builds and Debian keep it. Builds (`mvn`, `gradle`) are told in their own
//! words which test to run.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use reweave_launch::cache;

/// Runs one method of a JUnit 4 test.
const ONE_TEST: &[u8] = include_bytes!("../api/reweave/OneTest.class");

/// A class of tests, or one method of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Test {
    class: String,
    method: Option<String>,
}

impl FromStr for Test {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (class, method) = match text.split_once('#') {
            Some((class, method)) => (class, Some(method.to_owned())),
            None => (text, None),
        };
        if class.is_empty() || class.contains(['/', ':']) || method.as_ref().is_some_and(String::is_empty) {
            return Err("a class of tests (com.shop.CartTest) or one of its methods (com.shop.CartTest#adds)".into());
        }
        Ok(Self { class: class.to_owned(), method })
    }
}

/// What runs tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Runner {
    Console,
    JUnit4,
    TestNg,
}

impl Runner {
    const ALL: [Self; 3] = [Self::Console, Self::JUnit4, Self::TestNg];

    const fn class(self) -> &'static str {
        match self {
            Self::Console => "org/junit/platform/console/ConsoleLauncher.class",
            Self::JUnit4 => "org/junit/runner/JUnitCore.class",
            Self::TestNg => "org/testng/TestNG.class",
        }
    }

    /// What its tests are marked with.
    const fn mark(self) -> &'static [u8] {
        match self {
            Self::Console => b"Lorg/junit/jupiter/",
            Self::JUnit4 => b"Lorg/junit/Test;",
            Self::TestNg => b"Lorg/testng/annotations/",
        }
    }

    /// The first words of the names of jars that hold it and what it needs.
    const fn jar(self) -> &'static str {
        match self {
            Self::Console => "junit-platform-console-standalone",
            Self::JUnit4 => "junit4",
            Self::TestNg => "testng",
        }
    }
}

/// The command that runs the test. `words` are the user's: nothing, a Java machine and its options, these options
/// alone, or a build.
///
/// # Errors
/// What is missing, and the next step.
pub fn command(test: &Test, class_path: Option<&OsStr>, words: &[OsString]) -> Result<Vec<OsString>, String> {
    let program = words.first().filter(|word| !is_option(word));
    let name = program.map(|word| Path::new(word).file_name().unwrap_or_default().to_string_lossy());
    match name.as_deref() {
        Some("mvn" | "mvnw" | "mvnd") => Ok(with_maven(test, words)),
        Some("gradle" | "gradlew") => Ok(with_gradle(test, words)),
        Some("java") | None => with_java(test, class_path, words),
        Some(other) => Err(format!(
            "{other} does not say which test to run: --junit goes with mvn, gradle, or java and its options"
        )),
    }
}

/// Whether a word is an option of a machine, or a file of them.
fn is_option(word: &OsStr) -> bool {
    word.as_bytes().starts_with(b"-") || word.as_bytes().starts_with(b"@")
}

fn with_maven(test: &Test, words: &[OsString]) -> Vec<OsString> {
    let method = test.method.as_ref().map_or_else(String::new, |method| format!("#{method}"));
    // The parts of a project that do not have the test are no failures: one name is of old versions of the plugin.
    let chosen = [
        format!("-Dtest={}{method}", test.class),
        "-DfailIfNoTests=false".into(),
        "-Dsurefire.failIfNoSpecifiedTests=false".into(),
    ];
    words.iter().cloned().chain(chosen.map(OsString::from)).collect()
}

fn with_gradle(test: &Test, words: &[OsString]) -> Vec<OsString> {
    let method = test.method.as_ref().map_or_else(String::new, |method| format!(".{method}"));
    let chosen = ["--tests".to_owned(), format!("{}{method}", test.class)];
    words.iter().cloned().chain(chosen.map(OsString::from)).collect()
}

fn with_java(test: &Test, class_path: Option<&OsStr>, words: &[OsString]) -> Result<Vec<OsString>, String> {
    let (java, options) = match words {
        [java, options @ ..] if !is_option(java) => (java.clone(), options),
        options => (OsString::from("java"), options),
    };
    let (given, options) = without_class_path(options)?;
    let path = class_path.map(OsStr::to_owned).or(given).or_else(|| std::env::var_os("CLASSPATH"));
    let mut path = path.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".into());
    let runner = runner(test, &path)?;
    if !holds(&path, runner.class()) {
        add(&mut path, kept(runner).ok_or_else(|| missing(runner))?.as_os_str());
    }
    let own = if runner == Runner::JUnit4 && test.method.is_some() { Some(one_test()?) } else { None };
    if let Some(own) = &own {
        add(&mut path, own.as_os_str());
    }
    let mut command = vec![java];
    command.extend(options);
    command.extend(["-cp".into(), path]);
    command.extend(words_of(runner, test).into_iter().map(OsString::from));
    Ok(command)
}

/// The class that runs the tests, and its arguments.
fn words_of(runner: Runner, test: &Test) -> Vec<String> {
    let class = test.class.clone();
    match (runner, &test.method) {
        (Runner::Console, method) => {
            let (option, what) = match method {
                Some(method) => ("-m", format!("{class}#{method}")),
                None => ("-c", class),
            };
            let main = "org.junit.platform.console.ConsoleLauncher".to_owned();
            let fixed = ["--disable-banner", "--details=none", "--fail-if-no-tests"].map(str::to_owned);
            [main].into_iter().chain(fixed).chain([option.to_owned(), what]).collect()
        }
        (Runner::JUnit4, Some(method)) => vec!["reweave.OneTest".into(), class, method.clone()],
        (Runner::JUnit4, None) => vec!["org.junit.runner.JUnitCore".into(), class],
        (Runner::TestNg, Some(method)) => {
            vec!["org.testng.TestNG".into(), "-methods".into(), format!("{class}.{method}")]
        }
        (Runner::TestNg, None) => vec!["org.testng.TestNG".into(), "-testclass".into(), class],
    }
}

/// The class path among options of a machine, and the others.
fn without_class_path(options: &[OsString]) -> Result<(Option<OsString>, Vec<OsString>), String> {
    let (mut path, mut others, mut left) = (None, Vec::new(), options.iter());
    while let Some(word) = left.next() {
        match word.as_bytes() {
            b"-cp" | b"-classpath" | b"--class-path" => path = left.next().cloned(),
            // These have a second word.
            b"-p" | b"--module-path" | b"--add-opens" | b"--add-exports" | b"--add-modules" | b"--add-reads" => {
                others.push(word.clone());
                others.extend(left.next().cloned());
            }
            other if other.starts_with(b"--class-path=") => {
                path = Some(OsStr::from_bytes(&other[b"--class-path=".len()..]).to_owned());
            }
            _ if is_option(word) => others.push(word.clone()),
            _ => {
                return Err(format!(
                    "{}: with --junit only options of java are given; what runs the tests is found by itself",
                    word.display()
                ));
            }
        }
    }
    Ok((path, others))
}

/// What runs the test: by how it is marked, or by what is in the class path.
fn runner(test: &Test, path: &OsStr) -> Result<Runner, String> {
    let file = format!("{}.class", test.class.replace('.', "/"));
    let bytes = entries(path).into_iter().find_map(|entry| fs::read(entry.join(&file)).ok());
    let marked = |bytes: &Vec<u8>| Runner::ALL.into_iter().find(|runner| contains(bytes, runner.mark()));
    if let Some(runner) = bytes.as_ref().and_then(marked) {
        // The launcher of JUnit 5 runs older tests, too, if it has the engine for that.
        return Ok(runner);
    }
    if bytes.is_none() && !holds(path, &file) {
        let given = path.display();
        return Err(format!("{} is not in the class path ({given}): say -cp, or compile the tests", test.class));
    }
    let there = Runner::ALL.into_iter().find(|runner| holds(path, runner.class()));
    let jupiter = || holds(path, "org/junit/jupiter/api/Test.class").then_some(Runner::Console);
    there.or_else(jupiter).ok_or_else(|| missing(Runner::Console))
}

fn missing(runner: Runner) -> String {
    let jar = runner.jar();
    format!("what runs the tests is not in the class path, nor in ~/.m2 or /usr/share/java: add {jar}.jar with -cp")
}

/// The folders and jars of a class path.
fn entries(path: &OsStr) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::env::split_paths(path) {
        match entry.file_name() {
            Some(name) if name == "*" => {
                let files = fs::read_dir(entry.parent().unwrap_or(Path::new("."))).into_iter().flatten().flatten();
                all.extend(files.map(|file| file.path()).filter(|file| file.extension().is_some_and(|e| e == "jar")));
            }
            _ => all.push(entry),
        }
    }
    all
}

/// Whether a file is in the class path. The list of a jar has the names of its files as they are.
fn holds(path: &OsStr, file: &str) -> bool {
    entries(path)
        .iter()
        .any(|entry| entry.join(file).is_file() || fs::read(entry).is_ok_and(|bytes| contains(&bytes, file.as_bytes())))
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// The newest jar that runs such tests in the places where builds and Debian keep it.
fn kept(runner: Runner) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let below = match runner {
        Runner::Console => "org/junit/platform/junit-platform-console-standalone",
        Runner::JUnit4 => "junit/junit",
        Runner::TestNg => "org/testng/testng",
    };
    let versions = fs::read_dir(home.join(".m2/repository").join(below)).into_iter().flatten().flatten();
    let name = below.rsplit('/').next().unwrap_or_default();
    let jars = versions.map(|version| {
        let folder = version.path();
        folder.join(format!("{name}-{}.jar", version.file_name().display()))
    });
    let newest = jars.filter(|jar| jar.is_file()).max_by_key(|jar| numbers(jar));
    newest
        .or_else(|| Some(Path::new("/usr/share/java").join(format!("{}.jar", runner.jar()))).filter(|jar| jar.exists()))
}

/// The numbers in a name, in their order: versions are compared by these.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}

fn add(path: &mut OsString, entry: &OsStr) {
    path.push(":");
    path.push(entry);
}

/// A folder with the class that runs one method of a JUnit 4 test. It stays: replays need it.
fn one_test() -> Result<PathBuf, String> {
    let unpacked = cache::unpack(|root| {
        let folder = root.join(format!("api-{}", env!("REWEAVE_AGENT_HASH")));
        cache::own_folder(&folder)?;
        cache::own_folder(&folder.join("reweave"))?;
        cache::own_file(&folder.join("reweave/OneTest.class"), ONE_TEST).map(|()| folder)
    });
    unpacked.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn builds_are_told_in_their_own_words() {
        let test: Test = "com.shop.CartTest#adds".parse().expect("a test");
        let maven = command(&test, None, &words("mvn -o test")).expect("a build");
        assert_eq!(maven[..4], words("mvn -o test -Dtest=com.shop.CartTest#adds")[..]);
        let gradle = command(&test, None, &words("./gradlew test")).expect("a build");
        assert_eq!(gradle, words("./gradlew test --tests com.shop.CartTest.adds"));
        assert!(command(&test, None, &words("make check")).is_err_and(|why| why.contains("make")));
    }

    #[test]
    fn options_are_told_from_programs() {
        let (path, others) = without_class_path(&words("-Xmx1g -cp a:b --add-opens x=y -ea")).expect("options");
        assert_eq!((path, others), (Some("a:b".into()), words("-Xmx1g --add-opens x=y -ea")));
        assert!(without_class_path(&words("-cp a Main")).is_err_and(|why| why.contains("Main")));
    }

    #[test]
    fn tests_have_names() {
        assert_eq!("a.B".parse(), Ok(Test { class: "a.B".into(), method: None }));
        assert!("a/B".parse::<Test>().is_err() && "#m".parse::<Test>().is_err() && "a.B#".parse::<Test>().is_err());
    }

    #[test]
    fn newer_versions_are_known_by_their_numbers() {
        assert!(numbers(Path::new("console-1.10.2.jar")) > numbers(Path::new("console-1.9.3.jar")));
    }
}
