//! What touches nothing but a thread's own registers: it goes with the step before it.

use super::machine::{Failure, State, StepResult};
use super::thread::{Frame, Phase};
use crate::language::{Part, Program, StatementKind, Type, arithmetic};

impl State {
    /// Does what touches nothing but the thread's own registers, up to its next step.
    pub(super) fn run_private_steps(&mut self, program: &Program, who: usize) -> StepResult {
        while self.threads[who].phase == Phase::Runs {
            let statement = self.threads[who].frame().statement(program);
            if !self.local(program, who, &statement.kind)? {
                return self.places_are_there(program, who, &statement.kind);
            }
        }
        Ok(())
    }

    /// Null and indices out of range do not depend on other threads: they fail at once.
    fn places_are_there(&self, program: &Program, who: usize, kind: &StatementKind) -> StepResult {
        let (first, second) = match kind {
            StatementKind::Load { from: place, .. }
            | StatementKind::Store { to: place, .. }
            | StatementKind::Update { at: place, .. }
            | StatementKind::CompareExchange { at: place, .. }
            | StatementKind::Enter { lock: place, .. }
            | StatementKind::TryEnter { lock: place, .. }
            | StatementKind::Exit { lock: place }
            | StatementKind::Notify { condition: place, .. }
            | StatementKind::Barrier { barrier: place, .. }
            | StatementKind::Post { semaphore: place }
            | StatementKind::Take { semaphore: place }
            | StatementKind::TryTake { semaphore: place, .. } => (Some(place), None),
            StatementKind::Wait { condition, lock } | StatementKind::TimedWait { condition, lock, .. } => {
                (Some(condition), Some(lock))
            }
            _ => (None, None),
        };
        first.into_iter().chain(second).try_for_each(|place| self.cell(program, who, place).map(drop))
    }

    /// Whether it was a statement of that kind.
    pub(super) fn local(&mut self, program: &Program, who: usize, kind: &StatementKind) -> StepResult<bool> {
        match *kind {
            StatementKind::Const { to, value } => {
                let value = arithmetic::literal(self.kind(program, who, to), value);
                self.set(who, to, value);
            }
            StatementKind::Move { to, from } => {
                let value = self.operand(who, from, self.kind(program, who, to));
                self.set(who, to, value);
            }
            StatementKind::Unary { to, op, value } => {
                let kind = self.kind(program, who, to);
                let value = arithmetic::unary(op, kind, self.operand(who, value, kind));
                self.set(who, to, value);
            }
            StatementKind::Binary { to, op, left, right } => {
                let kind = self.kind(program, who, to);
                let (left, right) = (self.operand(who, left, kind), self.operand(who, right, kind));
                let value = arithmetic::binary(op, kind, left, right).map_err(|_| Failure)?;
                self.set(who, to, value);
            }
            StatementKind::Compare { to, test, left, right } => {
                let kind = self.kind_of(program, who, &[left, right]);
                let (left, right) = (self.operand(who, left, kind), self.operand(who, right, kind));
                self.set(who, to, arithmetic::compare(test, kind, left, right).into());
            }
            StatementKind::Convert { to, from, unsigned } => {
                let (source, target) = (self.kind(program, who, from), self.kind(program, who, to));
                let bits = self.threads[who].frame().registers[from.index()];
                self.set(who, to, arithmetic::convert(source, target, unsigned, bits));
            }
            StatementKind::Assert { condition, .. } => {
                if self.operand(who, condition, Type::Bool) == 0 {
                    return Err(Failure);
                }
            }
            StatementKind::Output { ref parts } => {
                let line = parts.iter().map(|part| match *part {
                    Part::Text(ref text) => text.clone(),
                    Part::Value(operand) => {
                        let kind = self.kind_of(program, who, &[operand]);
                        arithmetic::shown(kind, self.operand(who, operand, kind))
                    }
                });
                let line = line.collect();
                self.output.push(line);
            }
            StatementKind::Unreachable | StatementKind::Opaque { .. } | StatementKind::Input { .. } => {
                return Err(Failure);
            }
            _ => return self.control(program, who, kind),
        }
        self.advance(who);
        Ok(true)
    }

    /// Jumps, calls and returns.
    fn control(&mut self, program: &Program, who: usize, kind: &StatementKind) -> StepResult<bool> {
        match *kind {
            StatementKind::Jump { to } => self.threads[who].frame_mut().jump(to),
            StatementKind::Branch { condition, then, otherwise } => {
                let taken = self.operand(who, condition, Type::Bool) != 0;
                self.threads[who].frame_mut().jump(if taken { then } else { otherwise });
            }
            StatementKind::Switch { value, ref cases, otherwise } => {
                let kind = self.kind(program, who, value);
                let value = arithmetic::signed(kind, self.threads[who].frame().registers[value.index()]);
                let to = cases.iter().find(|(case, _)| *case == value).map_or(otherwise, |(_, to)| *to);
                self.threads[who].frame_mut().jump(to);
            }
            StatementKind::Call { to, function, ref arguments } => {
                let kinds = program.function(function).registers.iter().map(|known| known.kind);
                let arguments: Vec<u64> =
                    arguments.iter().zip(kinds).map(|(argument, kind)| self.operand(who, *argument, kind)).collect();
                self.advance(who);
                self.threads[who].frames.push(Frame::new(program, function, &arguments, to));
            }
            StatementKind::Return { value } => {
                let frame = self.threads[who].frame();
                let result = frame.code(program).result;
                let value = value.zip(result).map(|(value, kind)| frame.operand(value, kind));
                let to = frame.result;
                if self.threads[who].frames.len() == 1 {
                    let status = value.unwrap_or(0) as i32;
                    self.threads[who].phase = Phase::Returned { status };
                    return Ok(true);
                }
                self.threads[who].frames.pop();
                if let Some((to, value)) = to.zip(value) {
                    self.set(who, to, value);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
