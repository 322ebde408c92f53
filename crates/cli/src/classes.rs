//! What can be said about the classes of programs on a Java machine.

use std::path::PathBuf;

use reweave_jvm::rewrite::wishes::{ENV_EXCLUDE, ENV_INCLUDE};
use reweave_launch::Options;

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
