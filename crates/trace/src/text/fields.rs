//! Operations as a name and named operands, both ways: what CSV and JSON lines share.

use reweave_model::wire::{Encoder, MAX_PAYLOAD, Record, kind, words_needed};
use reweave_model::*;

/// What an operand looks like: all of them are short texts without spaces, commas or quotes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Fields {
    pairs: Vec<(String, String)>,
    /// Payloads taken out of the pairs, so that operations can borrow them.
    first: Vec<u8>,
    second: Vec<u8>,
}

/// The name of an operation: that of its record kind.
pub(super) fn name_of(op: &Op<'_>) -> &'static str {
    // Payloads do not change the kind: encode without.
    let op = match *op {
        Op::Input { source, value, .. } => Op::Input { source, value, bytes: &[] },
        Op::Module { base, size, bias, .. } => Op::Module { base, size, bias, path: &[] },
        Op::ThreadName { thread, .. } => Op::ThreadName { thread, name: &[] },
        Op::Read { .. } => return "read",
        Op::Write { .. } => return "write",
        Op::Atomic { .. } => return "atomic",
        op => op,
    };
    let mut words = [0; words_needed(0)];
    Encoder::new(&mut words).record(&Record::Event { pc: Pc(0), op });
    kind::name(words[0] as u8)
}

impl Fields {
    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub fn push(&mut self, key: &str, value: &str) {
        self.pairs.push((key.to_owned(), value.to_owned()));
    }

    fn hex(&mut self, key: &str, value: u64) {
        self.pairs.push((key.to_owned(), format!("{value:#x}")));
    }

    fn int(&mut self, key: &str, value: impl ToString) {
        self.pairs.push((key.to_owned(), value.to_string()));
    }

    fn bytes(&mut self, key: &str, bytes: &[u8]) {
        let mut text = String::from("hex:");
        for byte in bytes {
            text.push(char::from_digit((byte >> 4).into(), 16).expect("a digit"));
            text.push(char::from_digit((byte & 15).into(), 16).expect("a digit"));
        }
        self.push(key, &text);
    }

    fn value(&mut self, key: &str, value: Value<'_>) {
        match value {
            Value::Word(word) => self.hex(key, word),
            Value::Bytes(bytes) => self.bytes(key, bytes),
            Value::Unknown => self.push(key, "unknown"),
        }
    }

    /// Fills in the operands of an operation.
    pub fn set(&mut self, op: &Op<'_>) {
        self.clear();
        match *op {
            Op::Begin | Op::End | Op::AtomicExit | Op::Branch | Op::Revoked | Op::Stopped | Op::Hang => {}
            Op::Fork { child, nth } => {
                self.int("child", child);
                self.int("nth", nth);
            }
            Op::Join { child } | Op::Detach { child } => self.int("child", child),
            Op::Read { addr, size, value, flags } | Op::Write { addr, size, value, flags } => {
                self.hex("addr", addr.0);
                self.int("size", size);
                self.value("value", value);
                self.int("flags", flags.0);
            }
            Op::Atomic { kind, order, addr, size, read, written } => {
                self.int("kind", kind as u8);
                self.int("order", order as u8);
                self.hex("addr", addr.0);
                self.int("size", size);
                self.value("read", read);
                self.value("written", written);
            }
            Op::Fence { order } => self.int("order", order as u8),
            Op::Acquire { object, mode, tried } => {
                self.hex("object", object.0);
                self.int("mode", mode as u8);
                self.int("tried", u8::from(tried));
            }
            Op::Release { object, mode } => {
                self.hex("object", object.0);
                self.int("mode", mode as u8);
            }
            Op::Blocked { on, object } => {
                self.int("on", on as u8);
                self.hex("object", object.0);
            }
            Op::Refused { object, on, why } => {
                self.hex("object", object.0);
                self.int("on", on as u8);
                self.int("why", why as u8);
            }
            Op::Wait { condition, mutex, timed } => {
                self.hex("condition", condition.0);
                self.hex("mutex", mutex.0);
                self.int("timed", u8::from(timed));
            }
            Op::Woken { condition, mutex, reason, notify } => {
                self.hex("condition", condition.0);
                self.hex("mutex", mutex.0);
                self.int("reason", reason as u8);
                self.int("notify", notify);
            }
            Op::Notify { condition, all, notify, woken } => {
                self.hex("condition", condition.0);
                self.int("all", u8::from(all));
                self.int("notify", notify);
                self.int("woken", woken);
            }
            Op::BarrierArrive { barrier, count } => {
                self.hex("object", barrier.0);
                self.int("count", count);
            }
            Op::BarrierLeave { barrier, serial } => {
                self.hex("object", barrier.0);
                self.int("serial", u8::from(serial));
            }
            Op::SemaphorePost { semaphore, value } => {
                self.hex("object", semaphore.0);
                self.int("value", value);
            }
            Op::SemaphoreTake { semaphore, value, tried } => {
                self.hex("object", semaphore.0);
                self.int("value", value);
                self.int("tried", u8::from(tried));
            }
            Op::OnceBegin { object } | Op::OnceEnd { object } | Op::OnceDone { object } => self.hex("object", object.0),
            Op::Send { channel, position, size } | Op::Receive { channel, position, size } => {
                self.hex("object", channel.0);
                self.int("position", position);
                self.int("size", size);
            }
            Op::Alloc { addr, size } | Op::Free { addr, size } => {
                self.hex("addr", addr.0);
                self.int("size", size);
            }
            Op::Create { object, kind, value } => {
                self.hex("object", object.0);
                self.int("kind", kind as u8);
                self.int("value", value);
            }
            Op::Destroy { object, kind } => {
                self.hex("object", object.0);
                self.int("kind", kind as u8);
            }
            Op::AtomicEnter { name } => self.hex("name", name.0),
            Op::Input { source, value, bytes } => {
                self.int("source", source as u8);
                self.int("value", value);
                self.bytes("bytes", bytes);
            }
            Op::Signal { number } | Op::SignalReturn { number } => self.int("number", number),
            Op::Misused { what, object } => {
                self.int("what", what as u8);
                self.hex("object", object.0);
            }
            Op::Leave { call } => self.int("call", call),
            Op::Return { call, result } => {
                self.int("call", call);
                self.int("result", result);
            }
            Op::ClockJump { nanoseconds } => self.int("nanoseconds", nanoseconds),
            Op::Module { base, size, bias, path } => {
                self.hex("base", base.0);
                self.int("size", size);
                self.hex("bias", bias);
                self.bytes("path", path);
            }
            Op::ThreadName { thread, name } => {
                self.int("thread", thread);
                self.bytes("name", name);
            }
            Op::Exit { status } => self.int("status", status),
            Op::Fatal { number, addr } => {
                self.int("number", number);
                self.hex("addr", addr.0);
            }
            Op::Put { remote, origin } | Op::Get { remote, origin } | Op::Accumulate { remote, origin } => {
                self.hex("window", remote.window.0);
                self.int("target", remote.target);
                self.int("displacement", remote.displacement);
                self.int("size", remote.size);
                self.hex("origin", origin.0);
            }
            Op::EpochBegin { window, kind, target } | Op::EpochEnd { window, kind, target } => {
                self.hex("window", window.0);
                self.int("kind", kind as u8);
                self.int("target", target);
            }
        }
    }

    /// The operation with this name and these operands.
    pub fn op(&mut self, name: &str) -> Result<Op<'_>, String> {
        // Payloads first: they are borrowed from here.
        let (first, second) = match name {
            "read" | "write" => ("value", ""),
            "atomic" => ("read", "written"),
            "input" => ("bytes", ""),
            "module" => ("path", ""),
            "thread_name" => ("name", ""),
            _ => ("", ""),
        };
        (self.first, self.second) = (self.payload(first)?, self.payload(second)?);
        let this = &*self;
        let addr = |key: &str| this.number(key).map(Addr);
        let object = |key: &str| this.number(key).map(ObjectId);
        let small = |key: &str| this.int32(key);
        let thread = |key: &str| this.int32(key).map(ThreadId);
        let bit = |key: &str| this.int32(key).map(|bit| bit != 0);
        let mode = || this.int32("mode").map(|mode| if mode == 1 { LockMode::Shared } else { LockMode::Exclusive });
        let bad = |key: &'static str| move || format!("`{key}` is out of range");
        let byte = |key: &str| this.int32(key).map(|value| value.min(255) as u8);
        let on = || BlockedOn::from_bits(byte("on")?).ok_or_else(bad("on"));
        Ok(match name {
            "begin" => Op::Begin,
            "end" => Op::End,
            "atomic_exit" => Op::AtomicExit,
            "branch" => Op::Branch,
            "revoked" => Op::Revoked,
            "stopped" => Op::Stopped,
            "hang" => Op::Hang,
            "put" | "get" | "accumulate" => {
                let (window, target, size) = (object("window")?, small("target")?, small("size")?);
                let remote = Remote { window, target, displacement: this.number("displacement")?, size };
                let origin = addr("origin")?;
                match name {
                    "put" => Op::Put { remote, origin },
                    "get" => Op::Get { remote, origin },
                    _ => Op::Accumulate { remote, origin },
                }
            }
            "epoch_begin" | "epoch_end" => {
                let (window, target) = (object("window")?, small("target")?);
                let kind = EpochKind::from_bits(byte("kind")?).ok_or_else(bad("kind"))?;
                match name {
                    "epoch_begin" => Op::EpochBegin { window, kind, target },
                    _ => Op::EpochEnd { window, kind, target },
                }
            }
            "fork" => Op::Fork { child: thread("child")?, nth: small("nth")? },
            "join" => Op::Join { child: thread("child")? },
            "detach" => Op::Detach { child: thread("child")? },
            "read" | "write" => {
                let (addr, size, flags) = (addr("addr")?, small("size")?, AccessFlags(byte("flags")?));
                let value = this.access_value("value", &this.first)?;
                match value {
                    Value::Word(_) if !(1..=8).contains(&size) => return Err("a word has 1 to 8 bytes".into()),
                    Value::Bytes(bytes) if bytes.len() != size as usize || bytes.len() > MAX_PAYLOAD => {
                        return Err(format!("{} bytes of value for an access of {size}", bytes.len()));
                    }
                    _ => {}
                }
                if name == "read" {
                    Op::Read { addr, size, value, flags }
                } else {
                    Op::Write { addr, size, value, flags }
                }
            }
            "atomic" => {
                let (kind, order) = (AtomicKind::of_bits(byte("kind")?), MemoryOrder::of_bits(byte("order")?));
                let (addr, size) = (addr("addr")?, small("size")?);
                let (read, written) =
                    (this.access_value("read", &this.first)?, this.access_value("written", &this.second)?);
                let fits = match (read, written) {
                    (Value::Bytes(read), Value::Bytes(written)) => {
                        read.len() == 16 && written.len() == 16 && size == 16
                    }
                    (Value::Word(_), Value::Word(_)) => size <= 8 && addr.0 < 1 << 56,
                    _ => false,
                };
                if !fits {
                    return Err("the values of an atomic access must be two words or two times 16 bytes".into());
                }
                Op::Atomic { kind, order, addr, size, read, written }
            }
            "fence" => Op::Fence { order: MemoryOrder::of_bits(byte("order")?) },
            "acquire" => Op::Acquire { object: object("object")?, mode: mode()?, tried: bit("tried")? },
            "release" => Op::Release { object: object("object")?, mode: mode()? },
            "blocked" => Op::Blocked { on: on()?, object: object("object")? },
            "refused" => Op::Refused {
                object: object("object")?,
                on: on()?,
                why: RefusedWhy::from_bits(byte("why")?).ok_or_else(bad("why"))?,
            },
            "wait" => Op::Wait { condition: object("condition")?, mutex: object("mutex")?, timed: bit("timed")? },
            "woken" => Op::Woken {
                condition: object("condition")?,
                mutex: object("mutex")?,
                reason: WakeReason::from_bits(byte("reason")?).ok_or_else(bad("reason"))?,
                notify: small("notify")?,
            },
            "notify" => Op::Notify {
                condition: object("condition")?,
                all: bit("all")?,
                notify: small("notify")?,
                woken: small("woken")?,
            },
            "barrier_arrive" => Op::BarrierArrive { barrier: object("object")?, count: small("count")? },
            "barrier_leave" => Op::BarrierLeave { barrier: object("object")?, serial: bit("serial")? },
            "semaphore_post" => Op::SemaphorePost { semaphore: object("object")?, value: small("value")? },
            "semaphore_take" => {
                Op::SemaphoreTake { semaphore: object("object")?, value: small("value")?, tried: bit("tried")? }
            }
            "once_begin" => Op::OnceBegin { object: object("object")? },
            "once_end" => Op::OnceEnd { object: object("object")? },
            "once_done" => Op::OnceDone { object: object("object")? },
            "send" | "receive" => {
                let (channel, position, size) = (object("object")?, this.number("position")?, this.number("size")?);
                if name == "send" {
                    Op::Send { channel, position, size }
                } else {
                    Op::Receive { channel, position, size }
                }
            }
            "alloc" => Op::Alloc { addr: addr("addr")?, size: this.number("size")? },
            "free" => Op::Free { addr: addr("addr")?, size: this.number("size")? },
            "create" => Op::Create {
                object: object("object")?,
                kind: ObjectKind::from_bits(byte("kind")?).ok_or_else(bad("kind"))?,
                value: small("value")?,
            },
            "destroy" => Op::Destroy {
                object: object("object")?,
                kind: ObjectKind::from_bits(byte("kind")?).ok_or_else(bad("kind"))?,
            },
            "atomic_enter" => Op::AtomicEnter { name: addr("name")? },
            "input" => Op::Input {
                source: InputSource::from_bits(byte("source")?).ok_or_else(bad("source"))?,
                value: this.signed("value")?,
                bytes: &this.first,
            },
            "signal" => Op::Signal { number: small("number")? },
            "signal_return" => Op::SignalReturn { number: small("number")? },
            "misused" => Op::Misused {
                what: Misuse::from_bits(byte("what")?).ok_or_else(bad("what"))?,
                object: object("object")?,
            },
            "leave" => Op::Leave { call: small("call")? },
            "return" => Op::Return { call: small("call")?, result: this.signed("result")? },
            "clock_jump" => Op::ClockJump { nanoseconds: this.number("nanoseconds")? },
            "module" => Op::Module {
                base: addr("base")?,
                size: this.number("size")?,
                bias: this.number("bias")?,
                path: &this.first,
            },
            "thread_name" => Op::ThreadName { thread: thread("thread")?, name: &this.first },
            "exit" => Op::Exit { status: this.signed("status")? as i32 },
            "fatal" => Op::Fatal { number: small("number")?, addr: addr("addr")? },
            _ => return Err(format!("unknown operation `{name}`")),
        })
    }

    fn text(&self, key: &str) -> Result<&str, String> {
        let found = self.pairs.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).ok_or_else(|| format!("`{key}` is missing"))
    }

    pub fn number(&self, key: &str) -> Result<u64, String> {
        parse_number(self.text(key)?).ok_or_else(|| format!("`{key}` is not a number"))
    }

    pub fn int32(&self, key: &str) -> Result<u32, String> {
        self.number(key)?.try_into().map_err(|_| format!("`{key}` is too large"))
    }

    fn signed(&self, key: &str) -> Result<i64, String> {
        self.text(key)?.parse().map_err(|_| format!("`{key}` is not a number"))
    }

    fn payload(&self, key: &str) -> Result<Vec<u8>, String> {
        let Some(digits) = self.text(key).ok().and_then(|text| text.strip_prefix("hex:")) else {
            return Ok(Vec::new());
        };
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or_else(|| format!("`{key}` is not hexadecimal"));
        if !digits.len().is_multiple_of(2) {
            return Err(format!("`{key}` lacks a hexadecimal digit"));
        }
        digits.as_bytes().chunks_exact(2).map(|pair| Ok((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
    }

    fn access_value<'a>(&self, key: &str, payload: &'a [u8]) -> Result<Value<'a>, String> {
        let text = self.text(key)?;
        if text.starts_with("hex:") {
            return Ok(Value::Bytes(payload));
        }
        if text == "unknown" { Ok(Value::Unknown) } else { self.number(key).map(Value::Word) }
    }
}

pub(super) fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
