//! Messages between threads, and what a replay knows of the world outside.

use crate::policy::replay::RecordedWaitEnd;
use crate::token::Token;
use crate::world::World;
use reweave_model::{InputSource, ObjectId, Op};

impl<W: World> Token<'_, W> {
    pub fn send(&mut self, pc: u64, channel: u64, size: u64) {
        self.sync_point();
        let (sent, _) = self.objects().channels.entry(channel).or_default();
        let position = *sent;
        *sent += size;
        self.step(pc, Op::Send { channel: ObjectId(channel), position, size });
    }

    /// Receives `size` bytes, or everything sent so far if that is `None` (an annotation, not a stream).
    pub fn receive(&mut self, pc: u64, channel: u64, size: Option<u64>) {
        self.sync_point();
        let (sent, received) = self.objects().channels.entry(channel).or_default();
        let (position, size) = match size {
            Some(size) => (*received, size),
            None => (0, *sent),
        };
        *received = position + size;
        self.step(pc, Op::Receive { channel: ObjectId(channel), position, size });
    }

    /// While a recorded run is replayed: the input that this thread got at this point.
    pub fn recorded_input(&mut self, source: InputSource) -> Option<(i64, &'static [u8])> {
        let (conductor, state, me) = self.parts();
        let input = state.policy.replay()?.input(me.replay.scheduled_as.get(), source as u8);
        state.note_replay(conductor);
        input
    }

    /// Likewise whether it had to wait for the world outside.
    pub fn recorded_wait(&mut self) -> Option<RecordedWaitEnd> {
        let (_, state, me) = self.parts();
        state.policy.replay()?.waited(me.replay.scheduled_as.get())
    }
}
