//! Where an atomic block is.

use reweave_model::{Accessor, AtomicBlock, Pc};

use super::Source;
use crate::data::{BlockItem, Location};
use crate::place::{Placed, frames};

/// Where a block is: in the innermost call that has both its ends. What it calls, or the compiler put into it, is part
/// of it.
pub fn block_item(block: &AtomicBlock, accesses: &[Accessor], source: &dyn Source) -> BlockItem {
    let (enter, exit) = (block_frames(block.enter, accesses, source), block_frames(block.exit, accesses, source));
    let pairs = enter.iter().rev().zip(exit.iter().rev());
    // From the outermost call on: further only through the same call.
    let mut common = None;
    for (enter, exit) in
        pairs.take_while(|(enter, exit)| (&enter.file, &enter.function) == (&exit.file, &exit.function))
    {
        common = Some((enter, exit));
        if enter.line != exit.line {
            break;
        }
    }
    // Nobody named a block that was guessed: what its code was compiled into is chance.
    let label = block.label.clone().filter(|_| block.declared);
    // The function that the user named.
    let named = |frames: &[Location]| frames.iter().find(|frame| Some(&frame.function) == label.as_ref()).cloned();
    let first = |frames: &[Location]| frames.first().cloned().unwrap_or_default();
    let (enter, exit) = match (named(&enter).zip(named(&exit)), common) {
        (Some(named), _) => named,
        (None, Some((enter, exit))) => (enter.clone(), exit.clone()),
        (None, None) => (first(&enter), first(&exit)),
    };
    BlockItem { label, enter, exit }
}

/// The program's own frames at one end of a block, innermost first. Who called is known of accesses in the same
/// function.
fn block_frames(pc: Pc, accesses: &[Accessor], source: &dyn Source) -> Vec<Location> {
    let describer = source.describer();
    let inlined = |pc| frames(pc, describer.symbols);
    let function = |pc| inlined(pc).pop().map(|frame| frame.function);
    let own = accesses.first().map(|access| access.thread);
    let mut own = accesses.iter().filter(|access| Some(access.thread) == own);
    let same =
        own.clone().find(|access| access.pc == pc).or_else(|| own.find(|access| function(access.pc) == function(pc)));
    let mut all = inlined(pc);
    if let Some(access) = same {
        all.extend(Placed::callers(source.callers(access).into_iter(), describer));
    }
    let language = describer.language;
    all.retain(|frame| frame.line != 0 && !language.is_own_file(&frame.file) && !language.is_library(&frame.file));
    all
}

/// `atomic block "transfer" in transfer (bank.c:12-18)`
pub fn block_name(block: &AtomicBlock, accesses: &[Accessor], source: &dyn Source) -> String {
    let BlockItem { label, enter, exit } = block_item(block, accesses, source);
    let mut name = if block.declared { "atomic block".to_owned() } else { "inferred atomic block".to_owned() };
    if let Some(label) = label.filter(|label| *label != enter.function) {
        name += &format!(" \"{label}\"");
    }
    if !enter.function.is_empty() {
        name += &format!(" in {}", enter.function);
    }
    if enter.line != 0 {
        name += &format!(" ({}:{}", crate::describe::file_name(&enter.file), enter.line);
        name +=
            &if exit.file == enter.file && exit.line > enter.line { format!("-{})", exit.line) } else { ")".into() };
    }
    name
}
