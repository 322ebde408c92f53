//! Abstract threads and frames: who runs which function.
//!
//! An **abstract thread** is a start site and the abstract thread it is executed by, folded where a site repeats. It
//! stands for *one* thread or for *many* (site in a loop, function called twice or recursively, creator many). A
//! **frame** is a function as it is called in one abstract thread from one chain of call sites, cut to the last
//! [`Skeleton::context`]; every analysis tells frames apart, so each is as sensitive to contexts as frames are.
//!
//! Lattice: sets of threads and frames, by inclusion. More of either is sound, less precise.

use std::collections::{BTreeMap, HashMap};

use reweave_script::language::{BlockId, FunctionId, Program, Statement, StatementId, StatementKind};

use crate::faults::{Fault, is_seeded};
use crate::graph::Graph;

/// Index into [`Skeleton::threads`]. 0 is the main thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ThreadId(pub u32);

/// Index into [`Skeleton::frames`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId(pub u32);

/// A statement in a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Point {
    pub frame: FrameId,
    pub statement: StatementId,
}

impl ThreadId {
    pub const MAIN: Self = Self(0);

    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl FrameId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

pub struct Thread {
    pub function: FunctionId,
    /// The frame of its function.
    pub entry: FrameId,
    pub creator: Option<ThreadId>,
    /// Where it is started; none of main.
    pub site: Option<StatementId>,
    /// The same, by frame.
    // invariant: ascending
    pub starts: Vec<Point>,
    /// Stands for more than one thread of a run.
    pub is_many: bool,
    /// Started by itself, or by what it starts.
    pub is_folded: bool,
}

pub struct Frame {
    pub thread: ThreadId,
    pub function: FunctionId,
    /// The last call sites that lead here.
    pub calls: Vec<StatementId>,
    // invariant: ascending, no two equal
    pub callers: Vec<Point>,
    /// May be entered more than once by one thread.
    pub is_repeated: bool,
}

/// Where a statement stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Where {
    pub function: FunctionId,
    pub block: BlockId,
    pub index: usize,
}

/// A program with its graphs, abstract threads and frames.
pub struct Skeleton<'p> {
    pub program: &'p Program,
    pub graphs: Vec<Graph>,
    pub places: Vec<Where>,
    pub threads: Vec<Thread>,
    pub frames: Vec<Frame>,
    /// What a call or a start at a point leads to.
    pub callees: HashMap<Point, FrameId>,
    pub started: HashMap<Point, ThreadId>,
    /// Call sites that tell frames apart; fewer than wanted if there were too many frames.
    pub context: usize,
}

/// More frames than this, and contexts get shorter.
const MOST_FRAMES: usize = 20_000;

impl<'p> Skeleton<'p> {
    /// Of a checked program.
    pub fn new(program: &'p Program, context: usize) -> Self {
        for shorter in (1..=context).rev() {
            if let Some(skeleton) = Self::with_context(program, shorter, MOST_FRAMES) {
                return skeleton;
            }
        }
        Self::with_context(program, 0, usize::MAX).expect("there is no limit")
    }

    fn with_context(program: &'p Program, context: usize, most: usize) -> Option<Self> {
        let graphs = program.functions.iter().map(Graph::new).collect();
        let mut places = Vec::new();
        for (function, code) in program.functions.iter().enumerate() {
            for (block, inside) in code.blocks.iter().enumerate() {
                let here = |index| Where { function: FunctionId(function as u32), block: BlockId(block as u32), index };
                places.extend((0..inside.statements.len()).map(here));
            }
        }
        let (threads, frames, callees, started) = (Vec::new(), Vec::new(), HashMap::new(), HashMap::new());
        let mut skeleton = Self { program, graphs, places, threads, frames, callees, started, context };
        skeleton.discover(most)?;
        skeleton.find_repeated();
        skeleton.find_many();
        Some(skeleton)
    }

    fn discover(&mut self, most: usize) -> Option<()> {
        let mut frames: HashMap<(ThreadId, FunctionId, Vec<StatementId>), FrameId> = HashMap::new();
        let mut threads: HashMap<(ThreadId, StatementId), ThreadId> = HashMap::new();
        let main = self.program.main().expect("a checked program has a main function");
        let mut rest = vec![self.thread(main, None, None, &mut frames)];
        while let Some(frame) = rest.pop() {
            if self.frames.len() > most {
                return None;
            }
            let Frame { thread, function, .. } = self.frames[frame.index()];
            for (statement, callee, starts) in calls(self.program, function) {
                let point = Point { frame, statement };
                if starts {
                    let known = threads.get(&(thread, statement)).copied().or_else(|| self.fold(thread, statement));
                    let child = known.unwrap_or_else(|| {
                        rest.push(self.thread(callee, Some(thread), Some(statement), &mut frames));
                        ThreadId(self.threads.len() as u32 - 1)
                    });
                    if known.is_some() && self.is_ancestor(child, thread) {
                        self.threads[child.index()].is_folded = true;
                    }
                    threads.insert((thread, statement), child);
                    self.threads[child.index()].starts.push(point);
                    self.started.insert(point, child);
                    continue;
                }
                let mut chain = self.frames[frame.index()].calls.clone();
                chain.push(statement);
                chain.drain(..chain.len().saturating_sub(self.context));
                let next = FrameId(self.frames.len() as u32);
                let to = *frames.entry((thread, callee, chain.clone())).or_insert(next);
                if to == next {
                    let callers = Vec::new();
                    self.frames.push(Frame { thread, function: callee, calls: chain, callers, is_repeated: false });
                    rest.push(to);
                }
                self.frames[to.index()].callers.push(point);
                self.callees.insert(point, to);
            }
        }
        self.frames.iter_mut().for_each(|frame| frame.callers.sort_unstable());
        self.threads.iter_mut().for_each(|thread| thread.starts.sort_unstable());
        Some(())
    }

    fn thread(
        &mut self,
        function: FunctionId,
        creator: Option<ThreadId>,
        site: Option<StatementId>,
        frames: &mut HashMap<(ThreadId, FunctionId, Vec<StatementId>), FrameId>,
    ) -> FrameId {
        let thread = ThreadId(self.threads.len() as u32);
        let entry = FrameId(self.frames.len() as u32);
        let starts = Vec::new();
        self.threads.push(Thread { function, entry, creator, site, starts, is_many: false, is_folded: false });
        let (calls, callers) = (Vec::new(), Vec::new());
        self.frames.push(Frame { thread, function, calls, callers, is_repeated: false });
        // With no context at all, a thread that calls its own function is in its first frame again.
        frames.insert((thread, function, Vec::new()), entry);
        entry
    }

    /// The ancestor (or the thread itself) that was started at this site, too.
    fn fold(&self, mut thread: ThreadId, site: StatementId) -> Option<ThreadId> {
        loop {
            let here = &self.threads[thread.index()];
            if here.site == Some(site) {
                return Some(thread);
            }
            thread = here.creator?;
        }
    }

    /// Whether a thread is another one, or starts it, maybe through others.
    pub fn is_ancestor(&self, above: ThreadId, mut below: ThreadId) -> bool {
        while below != above {
            match self.threads[below.index()].creator {
                Some(creator) => below = creator,
                None => return false,
            }
        }
        true
    }

    fn find_repeated(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..self.frames.len() {
                let frame = FrameId(at as u32);
                let callers = &self.frames[at].callers;
                let is_entry = self.threads[self.frames[at].thread.index()].entry == frame;
                let repeated = callers.len() + usize::from(is_entry) > 1
                    || callers.iter().any(|from| self.is_in_loop(*from) || self.frames[from.frame.index()].is_repeated)
                    || self.calls_itself(frame);
                if repeated && !self.frames[at].is_repeated {
                    self.frames[at].is_repeated = true;
                    changed = true;
                }
            }
        }
    }

    fn calls_itself(&self, frame: FrameId) -> bool {
        let mut above: Vec<FrameId> = vec![frame];
        let mut seen = vec![false; self.frames.len()];
        while let Some(at) = above.pop() {
            for caller in &self.frames[at.index()].callers {
                if caller.frame == frame {
                    return true;
                }
                if !std::mem::replace(&mut seen[caller.frame.index()], true) {
                    above.push(caller.frame);
                }
            }
        }
        false
    }

    fn find_many(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for at in 0..self.threads.len() {
                let thread = &self.threads[at];
                let many = thread.is_folded
                    || thread.starts.len() > 1
                    || (thread.creator.is_some_and(|creator| self.threads[creator.index()].is_many)
                        && !is_seeded(Fault::ManyStartOne))
                    || thread.starts.iter().any(|start| self.may_repeat(*start));
                if many && !self.threads[at].is_many {
                    self.threads[at].is_many = true;
                    changed = true;
                }
            }
        }
    }

    fn is_in_loop(&self, point: Point) -> bool {
        let here = self.places[point.statement.index()];
        !is_seeded(Fault::LoopsStartOne) && self.graphs[here.function.index()].in_loop[here.block.index()]
    }

    /// Whether one thread may execute it more than once.
    pub fn may_repeat(&self, point: Point) -> bool {
        self.is_in_loop(point) || self.frames[point.frame.index()].is_repeated
    }

    /// Whether it is executed at most once in a run.
    pub fn is_single(&self, point: Point) -> bool {
        !self.may_repeat(point) && !self.threads[self.thread_of(point).index()].is_many
    }

    pub fn thread_of(&self, point: Point) -> ThreadId {
        self.frames[point.frame.index()].thread
    }

    pub fn statement(&self, id: StatementId) -> &'p Statement {
        let here = self.places[id.index()];
        &self.program.function(here.function).block(here.block).statements[here.index]
    }

    pub fn block_of(&self, id: StatementId) -> BlockId {
        self.places[id.index()].block
    }

    pub fn frame_ids(&self) -> impl Iterator<Item = FrameId> + use<> {
        (0..self.frames.len() as u32).map(FrameId)
    }

    pub fn thread_ids(&self) -> impl Iterator<Item = ThreadId> + use<> {
        (0..self.threads.len() as u32).map(ThreadId)
    }

    /// All statements of a frame.
    pub fn points(&self, frame: FrameId) -> impl Iterator<Item = (Point, &'p Statement)> + use<'p> {
        let function = self.program.function(self.frames[frame.index()].function);
        let statements = function.blocks.iter().flat_map(|block| &block.statements);
        statements.map(move |statement| (Point { frame, statement: statement.id }, statement))
    }

    /// `main`, or the function a thread runs, with a number where there are several.
    pub fn name(&self, thread: ThreadId) -> String {
        let name_of = |thread: &Thread| &self.program.function(thread.function).name;
        let own = &self.threads[thread.index()];
        let alike: Vec<usize> =
            (0..self.threads.len()).filter(|at| name_of(&self.threads[*at]) == name_of(own)).collect();
        match alike.iter().position(|at| *at == thread.index()) {
            Some(at) if alike.len() > 1 => format!("{}#{}", name_of(own), at + 1),
            _ => name_of(own).clone(),
        }
    }
}

/// Calls and starts of a function, and whether it is a start.
fn calls(program: &Program, function: FunctionId) -> Vec<(StatementId, FunctionId, bool)> {
    let blocks = program.function(function).blocks.iter();
    let all = blocks.flat_map(|block| &block.statements).filter_map(|statement| match statement.kind {
        StatementKind::Call { function, .. } => Some((statement.id, function, false)),
        StatementKind::Start { function, .. } => Some((statement.id, function, true)),
        _ => None,
    });
    all.collect()
}

/// How many threads of a run each abstract thread stands for, by name.
pub fn multiplicities(skeleton: &Skeleton<'_>) -> BTreeMap<String, bool> {
    skeleton.thread_ids().map(|id| (skeleton.name(id), skeleton.threads[id.index()].is_many)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_script::language::parse;

    fn many(text: &str) -> Vec<(String, bool)> {
        let program = parse("threads.rwi", text).unwrap_or_else(|error| panic!("{error}"));
        multiplicities(&Skeleton::new(&program, 2)).into_iter().collect()
    }

    #[test]
    fn a_start_site_is_one_thread_and_in_a_loop_many() {
        let text = "func w() {\na:\n return\n}\nfunc main() {\na:\n %t: thread = start w()\n jump b\nb:\n %u: thread = start w()\n %c: bool = const true\n branch %c, b, c\nc:\n return\n}";
        assert_eq!(many(text), [("main".into(), false), ("w#1".into(), false), ("w#2".into(), true)]);
    }

    #[test]
    fn a_function_called_twice_starts_many() {
        let text = "func w() {\na:\n return\n}\nfunc go() {\na:\n %t: thread = start w()\n return\n}\nfunc main() {\na:\n call go()\n call go()\n return\n}";
        assert_eq!(many(text), [("main".into(), false), ("w".into(), true)]);
    }

    #[test]
    fn what_many_threads_start_is_many_and_recursion_is_folded() {
        let text = "func leaf() {\na:\n return\n}\nfunc w() {\na:\n %t: thread = start leaf()\n %u: thread = start w()\n return\n}\nfunc main() {\na:\n %t: thread = start w()\n return\n}";
        let threads = many(text);
        // The one that main starts and its leaf are one each; those further down are folded.
        assert_eq!(threads.iter().filter(|(_, many)| *many).count(), 2, "{threads:?}");
        assert!(threads.len() == 5, "{threads:?}");
    }

    #[test]
    fn contexts_get_shorter_instead_of_too_many() {
        let program =
            parse("deep.rwi", "func f() {\na:\n return\n}\nfunc main() {\na:\n call f()\n call f()\n return\n}");
        let program = program.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(Skeleton::new(&program, 2).frames.len(), 3);
        assert_eq!(Skeleton::new(&program, 0).frames.len(), 2);
    }
}
