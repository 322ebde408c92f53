//! Symbols, kept from one run to the next: a test runs the same program hundreds of times, and reading its debug
//! information again costs more than the run.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};

use reweave_model::Pc;
use reweave_trace::{Module, Symbols};

use crate::front_end::FrontEnd;
use crate::registry::lock;

/// Programs whose symbols are kept.
const KEPT: usize = 8;

struct KnownSymbols {
    front_end: &'static str,
    modules: Vec<Module>,
    files: Vec<Stamp>,
    // invariant: sorted
    pcs: Vec<Pc>,
    symbols: Arc<Symbols>,
}

/// Tells a file that was replaced from the one that was read; `None` if there is none.
type Stamp = Option<(u64, u64, u64, i64)>;

// The last used at the end.
static KNOWN: Mutex<Vec<KnownSymbols>> = Mutex::new(Vec::new());

/// Symbols for these return addresses (sorted), and for those that earlier runs of the same program came to.
pub fn symbols(front_end: &dyn FrontEnd, modules: &[Module], pcs: &[Pc]) -> Arc<Symbols> {
    let files: Vec<Stamp> = modules.iter().map(stamp).collect();
    let mut all = lock(&KNOWN);
    let known = all
        .iter()
        .position(|known| known.front_end == front_end.name() && known.modules == modules && known.files == files);
    let mut wanted = pcs.to_vec();
    if let Some(at) = known {
        let known = all.remove(at);
        if pcs.iter().all(|pc| known.pcs.binary_search(pc).is_ok()) {
            let symbols = known.symbols.clone();
            all.push(known);
            return symbols;
        }
        wanted.extend(known.pcs);
        wanted.sort_unstable();
        wanted.dedup();
    }
    let symbols = Arc::new(front_end.symbols(modules, &wanted));
    if all.len() == KEPT {
        all.remove(0);
    }
    all.push(KnownSymbols {
        front_end: front_end.name(),
        modules: modules.to_vec(),
        files,
        pcs: wanted,
        symbols: symbols.clone(),
    });
    symbols
}

fn stamp(module: &Module) -> Stamp {
    let about = fs::metadata(&module.path).ok()?;
    Some((about.ino(), about.len(), about.mtime() as u64, about.mtime_nsec()))
}
