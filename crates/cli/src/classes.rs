//! What can be said about the classes of programs on a Java machine.

use std::ffi::OsString;
use std::path::PathBuf;

use reweave_jvm::junit::{self, Test};
use reweave_jvm::rewrite::wishes::{ENV_EXCLUDE, ENV_INCLUDE};
use reweave_launch::{Options, exit};

/// Which classes are seen, and where their sources are.
#[derive(clap::Args, Clone)]
pub struct Classes {
    /// Java: record accesses in these classes and packages, too (com.shop.order; java.util.Scanner)
    #[arg(long, value_name = "CLASSES", value_delimiter = ',')]
    include: Vec<String>,
    /// Java: record only the synchronization of these classes and packages; the longest name decides
    #[arg(long, value_name = "CLASSES", value_delimiter = ',')]
    exclude: Vec<String>,
    /// Java: where the sources are [default: src/main/java, src/test/java and src, here and in the folders here]
    #[arg(long, value_name = "DIR")]
    sources: Vec<PathBuf>,
}

impl Classes {
    /// Kept in the trace with the environment, so replays see the same.
    pub fn apply(&self, options: &mut Options) {
        for (name, classes) in [(ENV_INCLUDE, &self.include), (ENV_EXCLUDE, &self.exclude)] {
            if !classes.is_empty() {
                options.env.push((name.to_owned(), classes.join(",")));
            }
        }
        reweave_jvm::look_for_sources_in(self.sources.clone());
    }
}

/// A class of tests in place of a program.
#[derive(clap::Args, Clone)]
pub struct Tests {
    /// Java: run this class of tests (JUnit 4 or 5, TestNG), or one method of it (com.shop.CartTest#adds); PROG is a
    /// build (mvn -o test), or java and its options, if any
    #[arg(long, visible_alias = "method", value_name = "CLASS")]
    junit: Option<Test>,
    /// Java: where the classes of --junit are; also -cp
    #[arg(long, value_name = "PATH", requires = "junit")]
    class_path: Option<OsString>,
}

impl Tests {
    /// What to run; the exit code if that cannot be known.
    pub fn command(&self, program: Vec<OsString>) -> Result<Vec<OsString>, i32> {
        let Some(test) = &self.junit else { return Ok(program) };
        junit::command(test, self.class_path.as_deref(), &program).map_err(|why| {
            eprintln!("reweave: {why}");
            exit::USAGE
        })
    }
}

/// Words as `java` has them, which are no options of ours: `-cp` in front of the program.
pub fn with_long_options(args: &mut [OsString]) {
    for word in args.iter_mut().take_while(|word| *word != "--") {
        if word == "-cp" || word == "-classpath" {
            *word = "--class-path".into();
        }
    }
}
