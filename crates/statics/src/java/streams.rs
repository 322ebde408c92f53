//! What models do not cover although they name the method: streams that are kept for later, thread-locals of tasks.

use super::code::{Call, Code, How, Kind, Name, Value};
use super::models::{Model, Word};
use super::solve::{Birth, ObjectId, Point, Solver};

/// Calls between the parts of a stream that only make what these are given.
const HARMLESS: [&str; 9] = [
    "java/util/stream/",
    "java/util/function/",
    "java/util/Comparator",
    "java/util/Objects",
    "java/lang/Math",
    "java/lang/Integer",
    "java/lang/Long",
    "java/lang/Double",
    "java/lang/String",
];

impl Solver<'_> {
    pub(super) fn is_stream(&self, class: Name) -> bool {
        self.classes.names.text(class).starts_with("java/util/stream/")
    }

    /// Why a model does not hold for a call.
    pub(super) fn is_beyond(&self, at: Point, call: &Call, model: &Model) -> Option<&'static str> {
        if model.has(Word::Local) && self.shares_worker(at) {
            return Some("a thread-local in a task: tasks share the threads of their pool");
        }
        let returned = self.classes.names.text(call.method.descriptor).rsplit(')').next().unwrap_or_default();
        let is_part = self.is_stream(call.method.class) && returned.starts_with("Ljava/util/stream/");
        let is_late = is_part && !model.calls.is_empty() && !self.goes_on_at_once(at, call);
        let collects = self.is_stream(call.method.class) && self.classes.names.text(call.method.name) == "collect";
        if collects && self.is_parallel(at, call) && !self.has_known_collector(at, call) {
            return Some("a collector of a parallel stream that is not known");
        }
        is_late.then_some("a stream that is kept: its functions run later")
    }

    fn is_parallel(&self, at: Point, call: &Call) -> bool {
        let class = |object: ObjectId| self.classes.names.text(self.objects[object.index()].class);
        self.objects_of(at.frame, call.arguments[0])
            .into_iter()
            .any(|object| class(object).starts_with("java/util/stream/Parallel"))
    }

    /// One that `Collectors` makes for this very call: what it gathers has the order of the source.
    fn has_known_collector(&self, at: Point, call: &Call) -> bool {
        let code = self.code(at);
        let &[_, collector] = &call.arguments[..] else { return false };
        code.blocks[at.block as usize].statements[..at.index as usize].iter().any(|one| match &one.kind {
            Kind::Call(maker) => {
                let class = self.classes.names.text(maker.method.class);
                maker.to == Some(code.plain(collector)) && class == "java/util/stream/Collectors"
            }
            _ => false,
        })
    }

    /// Whether the thread at a point is one of a pool, which runs other tasks, too.
    fn shares_worker(&self, at: Point) -> bool {
        let is_thread = |class: Name| {
            let above = self.classes.above(class);
            [class].iter().chain(&above).any(|one| self.classes.names.text(*one) == "java/lang/Thread")
        };
        match self.threads[self.frames[at.frame.index()].thread.index()].birth {
            Birth::Main | Birth::Initialiser(_) => false,
            Birth::Started(object) => !is_thread(self.objects[object.index()].class),
            Birth::Task(..) | Birth::Anywhere => true,
        }
    }

    /// The next thing that happens is that the stream's next part is called.
    fn goes_on_at_once(&self, at: Point, call: &Call) -> bool {
        let Some(stream) = call.to else { return false };
        let code: &Code = self.code(at);
        let is_harmless = |one: &Call| {
            let class = self.classes.names.text(one.method.class);
            matches!(one.how, How::Lambda { .. } | How::Concat) || HARMLESS.iter().any(|start| class.starts_with(start))
        };
        let takes = |argument: Option<&Value>| argument.is_some_and(|argument| code.plain(*argument) == stream);
        for statement in code.blocks[at.block as usize].statements.iter().skip(at.index as usize + 1) {
            match &statement.kind {
                Kind::Define(_) => {}
                Kind::Call(one) if one.how == How::Virtual && takes(one.arguments.first()) => {
                    return self.is_stream(one.method.class);
                }
                Kind::Call(one) if is_harmless(one) => {}
                _ => return false,
            }
        }
        false
    }

    /// Parts of streams whose stream is nowhere made, as far as is known: what they are given is run by somebody.
    pub(super) fn lost_streams(&mut self) -> bool {
        let lost: Vec<Point> = self
            .points()
            .filter(|at| {
                let Some(call) = self.call_at(*at) else { return false };
                let used = self.used.get(at).into_iter().flatten().any(|one| one.model.has(Word::Opaque));
                call.how == How::Virtual
                    && call.arguments.len() > 1
                    && self.is_stream(call.method.class)
                    && !used
                    && self.objects_of(at.frame, call.arguments[0]).is_empty()
            })
            .collect();
        for at in &lost {
            self.not_understood(*at, "a stream of unknown origin".to_owned());
            self.opaque(*at);
        }
        !lost.is_empty()
    }
}
