//! What a coverage tool (JaCoCo) has put into a class before us: notes of which code was run. Several threads write them
//! without order, on purpose, and they are no part of the program.

use super::facts::Facts;
use crate::classfile::Instruction;
use crate::classfile::opcode::*;

/// The method by which a class gets its notes.
pub const GETS_NOTES: &str = "$jacocoInit";

/// Whether the instruction writes a note of the class.
pub fn writes_note(facts: &Facts, instructions: &[Instruction<'_>], i: usize) -> bool {
    is_note(instructions, i) && facts.methods.iter().any(|method| method.name == GETS_NOTES)
}

/// A method with notes begins with getting them into a local variable.
fn is_note(instructions: &[Instruction<'_>], i: usize) -> bool {
    let Some(first) = i.checked_sub(3) else { return false };
    let [notes, number, value, store] = &instructions[first..=i] else { return false };
    let [gets, keeps, ..] = instructions else { return false };
    let kept = matches!(gets.op, INVOKESTATIC | LDC | LDC_W) && is_local(keeps, ASTORE, ASTORE_3);
    let constant = (ICONST_0..LCONST_0).contains(&number.op) || matches!(number.op, BIPUSH | SIPUSH | LDC | LDC_W);
    let same = is_local(notes, ALOAD, ALOAD_3) && notes.local() == keeps.local();
    store.op == BASTORE && value.op == ICONST_0 + 1 && constant && kept && same
}

/// Whether the instruction is this one, with an operand or in one of its four short forms.
fn is_local(instruction: &Instruction<'_>, long: u8, last_short: u8) -> bool {
    instruction.op == long || (last_short - 3..=last_short).contains(&instruction.op)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_told_from_other_elements() {
        let written = |code: &[u8]| {
            let mut instructions = Vec::new();
            let mut pc = 0;
            while pc < code.len() {
                let instruction = Instruction::decode(code, pc).expect("an instruction");
                pc += instruction.bytes.len();
                instructions.push(instruction);
            }
            (0..instructions.len()).filter(|&i| is_note(&instructions, i)).collect::<Vec<_>>()
        };
        let (load, other, one) = (ALOAD_0 + 1, ALOAD_0 + 2, ICONST_0 + 1);
        let begin = [INVOKESTATIC, 0, 1, ASTORE_3 - 2];
        let write = |array: u8| [array, SIPUSH, 1, 0, one, BASTORE];
        assert_eq!(written(&[&begin[..], &write(load), &write(other)].concat()), [5]);
        assert_eq!(written(&[&[NOP][..], &begin[..], &write(load)].concat()), [0; 0]);
    }
}
