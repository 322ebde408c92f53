//! Who calls whom, as the analysis sees it.

use std::collections::BTreeSet;

use super::classes::MethodId;
use super::code::How;
use super::solve::{Birth, FrameId, Point, Solver};

impl Solver<'_> {
    /// Lines `caller@FILE:LINE -> callee`; what library methods and threads call has the call that lets them.
    pub fn call_graph(&self) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for (at, callees) in &self.callees {
            for callee in callees {
                all.insert(self.edge(*at, &self.method_name(self.frames[callee.index()].method)));
            }
        }
        for (at, threads) in &self.started {
            for entry in threads.iter().flat_map(|thread| &self.threads[thread.index()].entries) {
                all.insert(self.edge(*at, &self.method_name(self.frames[entry.index()].method)));
            }
        }
        for (at, _) in self.used.iter().filter(|(_, used)| !used.is_empty()) {
            let Some(call) = self.call_at(*at).filter(|call| !matches!(call.how, How::Concat)) else { continue };
            let class = self.classes.names.text(call.method.class).replace('/', ".");
            all.insert(self.edge(*at, &format!("{class}.{}", self.classes.names.text(call.method.name))));
        }
        for thread in &self.threads {
            if matches!(thread.birth, Birth::Main | Birth::Started(_)) {
                all.insert("(the machine, when a thread ends) -> java.lang.Thread.exit".to_owned());
            }
            let by = match thread.birth {
                Birth::Main | Birth::Initialiser(_) => "(start)",
                Birth::Anywhere => "(code that is not understood)",
                _ => continue,
            };
            for entry in &thread.entries {
                all.insert(format!("{by} -> {}", self.method_name(self.frames[entry.index()].method)));
            }
        }
        all
    }

    /// A frame and those it calls.
    pub(super) fn below(&self, root: FrameId) -> BTreeSet<FrameId> {
        let mut all = BTreeSet::new();
        let mut rest = vec![root];
        while let Some(frame) = rest.pop() {
            if all.insert(frame) {
                let from = Point { frame, block: 0, index: 0 };
                let to = Point { frame: FrameId(frame.0 + 1), block: 0, index: 0 };
                rest.extend(self.callees.range(from..to).flat_map(|(_, callees)| callees));
            }
        }
        all
    }

    fn edge(&self, at: Point, callee: &str) -> String {
        format!("{}@{} -> {callee}", self.method_name(self.frames[at.frame.index()].method), self.place(at))
    }

    fn method_name(&self, method: MethodId) -> String {
        let own = self.classes.method(method);
        let class = self.classes.names.text(own.class_name).replace('/', ".");
        format!("{class}.{}", self.classes.names.text(own.name))
    }
}
