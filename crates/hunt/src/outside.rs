//! What came to a recorded run from outside, for another run to be given the same: inputs, and signals that nobody in
//! the program sent.

use std::collections::HashMap;

use reweave_conductor::interrupts::{interrupt_channel, timer_channel};
use reweave_conductor::policy::replay::{RecordedInput, RecordedInterrupt, ThreadActivity, WAITED};
use reweave_model::{BlockedOn, InputSource, Op, RefusedWhy, ThreadId};
use reweave_trace::Trace;

use reweave_launch::Result;

/// One thread, as far as the trace has been read.
#[derive(Default)]
struct Reader {
    steps: u64,
    /// Steps that are no waiting: see `reweave_conductor::Thread::position`.
    position: u64,
    /// What its last step says about where it is.
    place: Option<ThreadActivity>,
    /// That step was the end of a wait which a signal cut short, and which comes before the signal.
    cut_short: bool,
    /// A signal whose next step will tell where it came from.
    signal: Option<RecordedInterrupt>,
}

impl Reader {
    /// The next step. Returns a signal that came by itself once that is known.
    fn step(&mut self, thread: ThreadId, op: &Op<'_>) -> Option<RecordedInterrupt> {
        let came = self.signal.take().and_then(|signal| match *op {
            Op::Receive { channel, .. } if channel.0 == interrupt_channel(signal.number) => None,
            Op::Receive { channel, .. } => {
                Some(RecordedInterrupt { timer: channel.0 == timer_channel(signal.number), ..signal })
            }
            _ => Some(signal),
        });
        if let Op::Signal { number } = *op {
            let place = self.place.unwrap_or(ThreadActivity::Running);
            let position = self.position - u64::from(self.cut_short);
            self.signal = Some(RecordedInterrupt { thread: thread.0, number, timer: false, place, position });
        }
        self.steps += 1;
        self.position += u64::from(!matches!(op, Op::Blocked { .. }));
        self.cut_short =
            matches!(op, Op::Refused { on: BlockedOn::Semaphore | BlockedOn::Futex, why: RefusedWhy::Interrupted, .. });
        self.place = Some(match op {
            Op::Blocked { .. } | Op::Wait { .. } | Op::BarrierArrive { .. } | Op::Leave { .. } => {
                ThreadActivity::Waiting
            }
            Op::SignalReturn { .. } => ThreadActivity::Anywhere,
            _ if self.cut_short => ThreadActivity::Waiting,
            _ => ThreadActivity::Running,
        });
        came
    }
}

/// Inputs of those steps of a thread that `wanted` accepts (its index in the schedule, and the number of the step),
/// waits for descriptors among them if asked for, and all signals of timers and from outside.
pub fn from_outside(
    trace: &Trace,
    wanted: impl Fn(ThreadId, u64, InputSource) -> bool,
    waits: bool,
) -> Result<(Vec<RecordedInput>, Vec<RecordedInterrupt>)> {
    let (mut inputs, mut signals) = (Vec::new(), Vec::new());
    let mut indices = HashMap::from([(ThreadId(0), ThreadId(0))]);
    let mut threads: HashMap<ThreadId, Reader> = HashMap::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        let next = ThreadId(indices.len() as u32);
        let index = *indices.entry(event.thread).or_insert(next);
        if let Op::Fork { child, .. } = event.op {
            let next = ThreadId(indices.len() as u32);
            indices.insert(child, next);
        }
        if !event.op.is_step() {
            continue;
        }
        let reader = threads.entry(index).or_default();
        signals.extend(reader.step(index, &event.op));
        if let Op::Input { source, value, bytes } = event.op
            && wanted(index, reader.steps, source)
        {
            inputs.push(RecordedInput { thread: index.0, source: source as u8, value, bytes: bytes.to_vec() });
        }
        match event.op {
            Op::Blocked { on: BlockedOn::Descriptor, .. } if waits => {
                inputs.push(RecordedInput { thread: index.0, source: WAITED, value: 0, bytes: Vec::new() });
            }
            Op::Refused { on: BlockedOn::Descriptor, why: RefusedWhy::TimedOut, .. } if waits => {
                let own = |input: &&mut RecordedInput| (input.thread, input.source) == (index.0, WAITED);
                inputs.iter_mut().rev().find(own).into_iter().for_each(|wait| wait.value = 1);
            }
            _ => {}
        }
    }
    // Nothing came after these: what they were is not known, and they end what is repeated.
    signals.extend(threads.into_values().filter_map(|reader| reader.signal));
    Ok((inputs, signals))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::ObjectId;

    const ALARM: u32 = 14;

    fn came(ops: &[Op<'_>]) -> Vec<(u64, ThreadActivity, bool)> {
        let mut reader = Reader::default();
        let signals = ops.iter().filter_map(|op| reader.step(ThreadId(0), op));
        signals.map(|signal| (signal.position, signal.place, signal.timer)).collect()
    }

    fn receive(channel: u64) -> Op<'static> {
        Op::Receive { channel: ObjectId(channel), position: 0, size: 1 }
    }

    #[test]
    fn signals_of_the_program_itself_are_left_out() {
        let signal = Op::Signal { number: ALARM };
        assert_eq!(came(&[Op::Begin, signal, receive(interrupt_channel(ALARM))]), []);
        assert_eq!(came(&[Op::Begin, signal, receive(timer_channel(ALARM))]), [(1, ThreadActivity::Running, true)]);
        assert_eq!(
            came(&[Op::Begin, signal, Op::SignalReturn { number: ALARM }]),
            [(1, ThreadActivity::Running, false)]
        );
    }

    #[test]
    fn waiting_is_not_counted_and_a_wait_is_cut_short_by_the_signal_after_it() {
        let (signal, tick) = (Op::Signal { number: ALARM }, receive(timer_channel(ALARM)));
        let back = Op::SignalReturn { number: ALARM };
        let blocked = |on| Op::Blocked { on, object: ObjectId(8) };
        let lock = blocked(BlockedOn::LockExclusive);
        let waits = [Op::Begin, lock, signal, tick, back, signal, tick];
        assert_eq!(came(&waits), [(1, ThreadActivity::Waiting, true), (4, ThreadActivity::Anywhere, true)]);
        let why = RefusedWhy::Interrupted;
        let given_up = Op::Refused { object: ObjectId(8), on: BlockedOn::Semaphore, why };
        let gives_up = [Op::Begin, blocked(BlockedOn::Semaphore), given_up, signal, tick];
        assert_eq!(came(&gives_up), [(1, ThreadActivity::Waiting, true)]);
    }
}
