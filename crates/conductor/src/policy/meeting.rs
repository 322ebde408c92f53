//! What active testing is to bring about, as the launcher asks for it: which threads are to meet where.

/// When paused threads meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Meeting {
    /// Two threads at the two places, about to access overlapping bytes, one of them writing. Either goes first.
    Race = 0,
    /// One thread at each place. All go.
    Together = 1,
    /// The places are passed one after the other, by the threads that their targets number.
    Sequence = 2,
}

impl Meeting {
    const fn from_bits(bits: u64) -> Self {
        match bits {
            0 => Self::Race,
            1 => Self::Together,
            _ => Self::Sequence,
        }
    }
}

/// A thread that comes there yields to all others, instead of being paused.
pub const YIELDS: u32 = u32::MAX;
/// Places of a meeting.
pub const PLACES: u32 = 32;

pub use reweave_model::CodePosition as Position;

/// A lock by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Object {
    Global {
        module: u64,
        offset: u64,
    },
    /// The `nth` object that a thread initialised, from 0. The thread goes by its index in the schedule.
    Created {
        thread: u32,
        nth: u32,
    },
}

/// Where who is to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub at: Position,
    /// Which place of the meeting, or [`YIELDS`].
    pub place: u32,
    /// Of a sequence: which of its threads.
    pub number: u32,
    /// Threads that are meant, by their index in the schedule; none: any.
    pub threads: Vec<u32>,
    /// Locks that are meant; none: any.
    pub objects: Vec<Object>,
    /// Where locks were taken that the thread must hold.
    pub context: Vec<Position>,
}

impl Target {
    /// Whoever comes there.
    pub const fn anyone(at: Position, place: u32) -> Self {
        Self { at, place, number: 0, threads: Vec::new(), objects: Vec::new(), context: Vec::new() }
    }
}

/// What the launcher asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MeetingPlan {
    pub meeting: Meeting,
    pub targets: Vec<Target>,
}

impl MeetingPlan {
    /// Bytes as [`MeetingPlan::read`] takes them: 64-bit words, lists with their length in front.
    pub fn encode(&self) -> Vec<u8> {
        let mut words = vec![self.meeting as u64, self.targets.len() as u64];
        for target in &self.targets {
            let Target { at, place, number, threads, objects, context } = target;
            words.extend([at.module, at.offset, u64::from(*place), u64::from(*number)]);
            words.push(threads.len() as u64);
            words.extend(threads.iter().map(|thread| u64::from(*thread)));
            words.push(objects.len() as u64);
            words.extend(objects.iter().flat_map(|object| match *object {
                Object::Global { module, offset } => [0, module, offset],
                Object::Created { thread, nth } => [1, thread.into(), nth.into()],
            }));
            words.push(context.len() as u64);
            words.extend(context.iter().flat_map(|at| [at.module, at.offset]));
        }
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        let mut word = || words.next();
        let meeting = Meeting::from_bits(word()?);
        let mut targets = Vec::new();
        for _ in 0..word()? {
            let at = Position { module: word()?, offset: word()? };
            let mut target = Target::anyone(at, word()? as u32);
            target.number = word()? as u32;
            for _ in 0..word()? {
                target.threads.push(word()? as u32);
            }
            for _ in 0..word()? {
                target.objects.push(match word()? {
                    0 => Object::Global { module: word()?, offset: word()? },
                    _ => Object::Created { thread: word()? as u32, nth: word()? as u32 },
                });
            }
            for _ in 0..word()? {
                target.context.push(Position { module: word()?, offset: word()? });
            }
            targets.push(target);
        }
        Some(Self { meeting, targets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_arrives_as_it_was_sent() {
        let at = |offset| Position { module: 7, offset };
        let objects = vec![Object::Global { module: 7, offset: 64 }, Object::Created { thread: 2, nth: 1 }];
        let exact =
            Target { number: 1, threads: vec![2, 3], objects, context: vec![at(5)], ..Target::anyone(at(1), 0) };
        let plan = MeetingPlan { meeting: Meeting::Sequence, targets: vec![exact, Target::anyone(at(2), YIELDS)] };
        assert_eq!(MeetingPlan::read(&plan.encode()), Some(plan));
    }
}
