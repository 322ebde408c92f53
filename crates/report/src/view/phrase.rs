//! One operation in a few words, and the part of it that people compare: the variable and the value.

use reweave_model::{Addr, AtomicKind, BlockedOn, LockMode, Op, Pc, Value};

use super::Class;
use crate::describe::{self, Describer};

/// Longer values are cut: they are for the eye.
const SHOWN_BYTES: usize = 24;

pub struct Phrase {
    pub class: Class,
    pub what: String,
    pub object: String,
    pub value: Option<String>,
}

/// The memory an operation touches.
pub const fn memory(op: &Op<'_>) -> Option<(Addr, u64)> {
    match *op {
        Op::Read { addr, size, .. } | Op::Write { addr, size, .. } | Op::Atomic { addr, size, .. } => {
            Some((addr, size as u64))
        }
        Op::Free { addr, size } => Some((addr, size)),
        _ => None,
    }
}

pub fn class(op: &Op<'_>) -> Class {
    match op {
        Op::Read { .. } => Class::Read,
        Op::Write { .. } | Op::Free { .. } => Class::Write,
        Op::Atomic { kind: AtomicKind::Load | AtomicKind::CasFailed, .. } => Class::Read,
        Op::Atomic { kind: AtomicKind::Store, .. } => Class::Write,
        Op::Atomic { .. } => Class::Update,
        Op::Blocked { .. } | Op::Wait { .. } | Op::BarrierArrive { .. } => Class::Wait,
        Op::Exit { .. } | Op::Fatal { .. } | Op::Hang => Class::End,
        Op::Begin
        | Op::End
        | Op::Fork { .. }
        | Op::Join { .. }
        | Op::Detach { .. }
        | Op::Acquire { .. }
        | Op::Release { .. }
        | Op::Refused { .. }
        | Op::Woken { .. }
        | Op::Notify { .. }
        | Op::BarrierLeave { .. }
        | Op::SemaphorePost { .. }
        | Op::SemaphoreTake { .. }
        | Op::OnceBegin { .. }
        | Op::OnceEnd { .. }
        | Op::OnceDone { .. }
        | Op::Send { .. }
        | Op::Receive { .. }
        | Op::Fence { .. }
        | Op::AtomicEnter { .. }
        | Op::AtomicExit
        | Op::EpochBegin { .. }
        | Op::EpochEnd { .. }
        | Op::Create { .. }
        | Op::Destroy { .. }
        | Op::Misused { .. } => Class::Sync,
        _ => Class::Other,
    }
}

/// `pc`: where it happens, if that is known.
pub fn phrase(op: &Op<'_>, pc: Option<Pc>, describer: Describer<'_>) -> Phrase {
    let class = class(op);
    let object = |id| describer.object(id);
    let plain = |what: String| Phrase { class, what, object: String::new(), value: None };
    let about = |verb: &str, object: String| Phrase { class, what: format!("{verb} {object}"), object, value: None };
    let accessed = |verb: &str, addr: Addr, value: Value<'_>| {
        let object = describer.accessed(addr, pc);
        let value = show(value, memory(op).map_or(0, |(_, size)| size));
        let what = match &value {
            Some(value) => format!("{verb} {object} = {value}"),
            None => format!("{verb} {object}"),
        };
        Phrase { class, what, object, value }
    };
    match *op {
        Op::Read { addr, value, .. } => accessed("read", addr, value),
        Op::Write { addr, value, .. } => accessed("write", addr, value),
        Op::Atomic { kind: AtomicKind::Load, addr, read, .. } => accessed("atomic load", addr, read),
        Op::Atomic { kind: AtomicKind::CasFailed, addr, read, .. } => accessed("failed compare-exchange", addr, read),
        Op::Atomic { kind: AtomicKind::Store, addr, written, .. } => accessed("atomic store", addr, written),
        Op::Atomic { addr, size, read, written, .. } => {
            let mut phrase = accessed("atomic update", addr, written);
            if let (Some(old), Some(new)) = (show(read, u64::from(size)), show(written, u64::from(size))) {
                phrase.what = format!("atomic update {} = {old} → {new}", phrase.object);
            }
            phrase
        }
        Op::Acquire { object: id, mode, tried } => {
            let verb = match mode {
                LockMode::Exclusive if tried => "try-lock",
                LockMode::Exclusive => "lock",
                LockMode::Shared => "lock (shared)",
            };
            about(verb, object(id))
        }
        Op::Release { object: id, .. } => about("unlock", object(id)),
        Op::Blocked { on, object: id } => {
            let name = if matches!(on, BlockedOn::Join | BlockedOn::Descriptor | BlockedOn::Signal | BlockedOn::Sleep) {
                String::new()
            } else {
                object(id)
            };
            Phrase { class, what: format!("waits for {}", describer.blocked_on(on, id)), object: name, value: None }
        }
        Op::Wait { condition, .. } => about("wait on", object(condition)),
        Op::Woken { condition, .. } => about("woken from", object(condition)),
        Op::Notify { condition, all, woken, .. } => {
            let mut phrase = about(if all { "notify all of" } else { "notify" }, object(condition));
            if woken == 0 {
                phrase.what += " (wakes no thread)";
            }
            phrase
        }
        Op::BarrierArrive { barrier, .. } => about("arrive at", object(barrier)),
        Op::BarrierLeave { barrier, .. } => about("leave", object(barrier)),
        Op::SemaphorePost { semaphore, value } => accessed_count("post", object(semaphore), value, class),
        Op::SemaphoreTake { semaphore, value, .. } => accessed_count("take", object(semaphore), value, class),
        Op::Create { object: id, .. } => about("create", object(id)),
        Op::Destroy { object: id, .. } => about("destroy", object(id)),
        Op::Fork { child, .. } => plain(format!("start T{child}")),
        Op::Join { child } => plain(format!("join T{child}")),
        Op::Detach { child } => plain(format!("detach T{child}")),
        Op::Begin => plain("begin".into()),
        Op::End => plain("end".into()),
        Op::Free { addr, .. } => about("free", describer.whole(addr)),
        Op::Hang => plain("no thread can make progress".into()),
        Op::Exit { status } => plain(format!("exit {status}")),
        Op::Fatal { number, .. } => plain(describe::signal_name(number as i32)),
        Op::Misused { what, object: id } => {
            Phrase { class, what: describer.misuse(what, id), object: object(id), value: None }
        }
        Op::AtomicEnter { .. } => plain("atomic block begins".into()),
        Op::AtomicExit => plain("atomic block ends".into()),
        ref op => {
            let operands = describer.operands(op, pc);
            plain(format!("{} {operands}", op.kind().name().replace('_', " ")).trim_end().to_owned())
        }
    }
}

fn accessed_count(verb: &str, object: String, value: u32, class: Class) -> Phrase {
    Phrase { class, what: format!("{verb} {object} (now {value})"), object, value: Some(value.to_string()) }
}

/// A value for the eye; none if it is not known.
fn show(value: Value<'_>, size: u64) -> Option<String> {
    match value {
        Value::Unknown => None,
        Value::Word(word) => Some(number(word, size)),
        Value::Bytes(bytes) if bytes.len() <= 8 => {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            Some(number(u64::from_le_bytes(word), bytes.len() as u64))
        }
        Value::Bytes(bytes) => Some(contents(bytes)),
    }
}

/// Text in quotes, up to the zeros that fill its memory; anything else as words: `{5, 1}` of sixteen bytes.
fn contents(bytes: &[u8]) -> String {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || b" \t\r\n".contains(byte);
    let filled = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let cut = if bytes.len() > SHOWN_BYTES { "…" } else { "" };
    if filled > 0 && bytes[..filled].iter().all(is_text) {
        let shown = bytes[..filled].iter().take(SHOWN_BYTES).flat_map(|&byte| std::ascii::escape_default(byte));
        let text: String = shown.map(char::from).collect();
        return format!("\"{text}\"{}", if filled > SHOWN_BYTES { "…" } else { "" });
    }
    let size = [8, 4, 1].into_iter().find(|&size| bytes.len().is_multiple_of(size)).unwrap_or(1);
    let words = bytes[..bytes.len().min(SHOWN_BYTES)].chunks_exact(size);
    let number = |word: &[u8]| word.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
    let words: Vec<String> = words.map(|word| self::number(number(word), size as u64)).collect();
    format!("{{{}{cut}}}", words.join(", "))
}

/// Whether it has a sign is not known: what may be a small negative number is shown as both.
fn number(word: u64, size: u64) -> String {
    const SMALL: i64 = -(1 << 20);
    let signed = match size {
        4 => i64::from(word as u32 as i32),
        8 => word as i64,
        _ => 0,
    };
    match word {
        _ if (SMALL..0).contains(&signed) => format!("{signed} (or {word})"),
        0..0x1_0000_0000 => word.to_string(),
        _ => format!("{word:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_people_write_them() {
        for (word, size, shown) in [
            (100, 4, "100"),
            (0xffff_ffff, 4, "-1 (or 4294967295)"),
            (0xffff_ffff, 8, "4294967295"),
            (u64::MAX, 8, "-1 (or 18446744073709551615)"),
            (255, 1, "255"),
            (0x7fff_0000_1000, 8, "0x7fff00001000"),
        ] {
            assert_eq!(number(word, size), shown);
        }
        assert_eq!(show(Value::Bytes(&[1, 0, 0, 0]), 4).as_deref(), Some("1"));
        assert_eq!(show(Value::Unknown, 4), None);
        let mut pair = [0; 16];
        (pair[0], pair[8]) = (5, 1);
        for (bytes, shown) in [
            (&pair[..], "{5, 1}"),
            (&[0; 32][..], "{0, 0, 0…}"),
            (&[1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0][..], "{1, -1 (or 4294967295), 0}"),
            (&[0, 1, 0xff, 0, 0, 0, 0, 7, 0][..], "{0, 1, 255, 0, 0, 0, 0, 7, 0}"),
            (&b"bob\0\0\0\0\0\0"[..], "\"bob\""),
            (&b"GET /index HTTP/1.1\r\nHost: here"[..], "\"GET /index HTTP/1.1\\r\\nHos\"…"),
        ] {
            assert_eq!(show(Value::Bytes(bytes), bytes.len() as u64).as_deref(), Some(shown));
        }
    }
}
