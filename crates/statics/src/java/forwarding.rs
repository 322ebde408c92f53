//! What a load from an array finds, where that was put there right before: `t[i] = new Thread(r[i]); t[i].start();`.
//!
//! An abstract array holds everything that is ever put there; between a store and a load of the same place, in one
//! block and by the main thread alone, it holds what was stored. That nobody else stores there is known only when
//! everything else is: it is taken for granted first, and taken back where it turns out not to be so.

use super::code::{Def, Kind, Place, Value};
use super::solve::{FrameId, Solver, ThreadId, Watch};

impl Solver<'_> {
    /// The value that was stored where this one is loaded, as far as the code of the block says.
    pub(super) fn stored_before(&self, frame: FrameId, value: Value) -> Option<Value> {
        let own = &self.frames[frame.index()];
        let code = &own.body.code;
        let Def::Load(Place::Element(array, index)) = code.def(value) else { return None };
        let statements = &code.blocks[code.values[value.index()].block as usize].statements;
        let load = statements.iter().position(|one| matches!(one.kind, Kind::Define(own) if own == value))?;
        (own.thread == ThreadId::MAIN).then_some(())?;
        for statement in statements[..load].iter().rev() {
            match &statement.kind {
                Kind::Define(_) => {}
                Kind::Store(Place::Element(base, place), stored) => {
                    let same = code.plain(*base) == code.plain(*array) && place == index;
                    return same.then(|| code.plain(*stored));
                }
                _ => return None,
            }
        }
        None
    }

    /// The value that was stored where this one is loaded.
    pub(super) fn forwarded(&self, frame: FrameId, value: Value) -> Option<Value> {
        let value = self.frames[frame.index()].body.code.plain(value);
        self.forwards.get(&(frame, value)).copied()
    }

    /// Whether nobody but main puts anything into an array.
    fn is_mains_own(&self, frame: FrameId, value: Value) -> bool {
        let Def::Load(Place::Element(array, _)) = self.frames[frame.index()].body.code.def(value) else { return false };
        let objects = self.refers(frame, *array);
        let escapes = self.escapes.iter().any(|object| objects.contains(object.index()));
        let mut stores = self.points().filter(|at| match &self.statement_at(*at).kind {
            Kind::Store(Place::Element(base, _), _) => {
                self.refers(at.frame, *base).iter().any(|object| objects.contains(object))
            }
            _ => false,
        });
        !escapes && !self.blind && stores.all(|at| self.frames[at.frame.index()].thread == ThreadId::MAIN)
    }

    /// Loads that were taken to find what was stored before, and may find something else: they find all there is.
    /// Whether there were any.
    pub(super) fn take_back(&mut self) -> bool {
        let all: Vec<(FrameId, Value)> = self.forwards.keys().copied().collect();
        let wrong: Vec<_> = all.into_iter().filter(|(frame, value)| !self.is_mains_own(*frame, *value)).collect();
        for (frame, value) in &wrong {
            self.forwards.remove(&(*frame, *value));
            let Def::Load(Place::Element(array, _)) = self.frames[frame.index()].body.code.def(*value) else {
                continue;
            };
            let (base, node) = (self.value_node(*frame, *array), self.value_node(*frame, *value));
            self.watch(base, Watch::Element(node));
        }
        !wrong.is_empty()
    }
}
