//! What statements and addresses of ranks are called in the program's text.

use reweave_launch::FrontEnds;
use reweave_model::{Addr, Pc};
use reweave_report::Location;
use reweave_trace::Symbols;

use crate::ids::Site;
use crate::logfile::{Module, Notes};

pub(super) struct Places {
    symbols: Symbols,
    modules: Vec<Module>,
}

/// Where the module with this number is, as sites have it.
fn base(number: u64) -> u64 {
    number << 48
}

impl Places {
    /// Front ends that know the files of programs are asked; the last one takes whatever can be run.
    pub(super) fn new(front_ends: FrontEnds, notes: &Notes, sites: impl Iterator<Item = Site>) -> Places {
        let modules: Vec<reweave_trace::Module> = (notes.modules.iter())
            .map(|module| reweave_trace::Module {
                path: module.path.clone(),
                base: base(module.number),
                size: 1 << 48,
                bias: base(module.number),
            })
            .collect();
        let mut pcs: Vec<Pc> = sites.map(|site| Pc(site.0)).collect();
        pcs.sort_unstable();
        pcs.dedup();
        let symbols = front_ends.iter().last().map_or_else(Symbols::default, |last| last.symbols(&modules, &pcs));
        Places { symbols, modules: notes.modules.clone() }
    }

    pub(super) fn of(&self, site: Site) -> Location {
        Location::from(&self.symbols.place(Pc(site.0)))
    }

    /// The global variable that an address belongs to, and where in it that is.
    pub(super) fn variable(&self, address: u64) -> Option<(String, u64)> {
        self.modules.iter().find_map(|module| {
            let there = address.checked_sub(module.bias).filter(|offset| *offset < 1 << 48)?;
            let variable = self.symbols.variable(Addr(base(module.number) + there))?;
            Some((variable.name.to_owned(), base(module.number) + there - variable.address.0))
        })
    }
}
