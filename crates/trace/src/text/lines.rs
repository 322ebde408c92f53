//! CSV and JSON lines of events. Both hold the meta data, the stacks and every event with all its operands, so that
//! they can be read back; JSON lines also show source positions, which are not read back.
//!
//! ```text
//! event,thread,pc,stack,op,operands                           {"reweave":"trace","version":1,"meta":{…}}
//! #meta,{…}                                                   {"stack":1,"parent":0,"pc":"0x401136"}
//! #stack,1,0,0x401136                                         {"event":0,"thread":0,"pc":"0x0","stack":1,"op":"begin"}
//! 0,0,0x0,1,begin,
//! 1,0,0x40113a,1,read,addr=0x404028 size=4 value=0x0 flags=0
//! ```

use std::io::{self, Write};

use reweave_model::{EventId, Pc, StackId, ThreadId};
use serde_json::Value as Json;

use super::fields::{Fields, name_of, parse_number};
use super::{Finish, Lines};
use crate::{Error, Footer, Meta, Result, Symbols, Trace, TraceBuilder};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Csv,
    Json,
}

pub(super) const CSV_START: &str = "event,thread,pc,stack,op,operands";
const VERSION: u64 = 1;

pub(super) fn export(trace: &Trace, shape: Shape, out: &mut dyn Write) -> Result<()> {
    let failed = |error: io::Error| Error::io(trace.path())(error);
    let meta = serde_json::to_string(trace.meta()).expect("plain data");
    match shape {
        Shape::Csv => writeln!(out, "{CSV_START}\n#meta,{meta}"),
        Shape::Json => writeln!(out, r#"{{"reweave":"trace","version":{VERSION},"meta":{meta}}}"#),
    }
    .map_err(failed)?;
    for (stack, parent, pc) in trace.stacks().sorted() {
        match shape {
            Shape::Csv => writeln!(out, "#stack,{stack},{parent},{:#x}", pc.0),
            Shape::Json => writeln!(out, r#"{{"stack":{stack},"parent":{parent},"pc":"{:#x}"}}"#, pc.0),
        }
        .map_err(failed)?;
    }
    let mut fields = Fields::default();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        fields.set(&event.op);
        let (id, thread, pc, stack, op) = (event.id, event.thread, event.pc.0, event.stack, name_of(&event.op));
        match shape {
            Shape::Csv => {
                write!(out, "{id},{thread},{pc:#x},{stack},{op},").map_err(failed)?;
                for (i, (key, value)) in fields.pairs().enumerate() {
                    let space = if i == 0 { "" } else { " " };
                    write!(out, "{space}{key}={value}").map_err(failed)?;
                }
                writeln!(out).map_err(failed)?;
            }
            Shape::Json => {
                write!(out, r#"{{"event":{id},"thread":{thread},"pc":"{pc:#x}","stack":{stack},"op":"{op}""#)
                    .map_err(failed)?;
                for (key, value) in fields.pairs() {
                    // An operand named like one of the fields before it stands in an object's place: `of_thread`.
                    let key = if key == "thread" { "of_thread" } else { key };
                    let is_number = !value.starts_with("0x") && parse_number(value).is_some_and(|n| n < 1 << 53);
                    let quote = if is_number { "" } else { "\"" };
                    write!(out, r#","{key}":{quote}{value}{quote}"#).map_err(failed)?;
                }
                if let Some(frame) = trace.symbols().frames(event.pc).next() {
                    let at = format!("{}:{}", frame.file, frame.line);
                    write!(out, r#","at":{},"in":{}"#, Json::from(at), Json::from(frame.function)).map_err(failed)?;
                }
                writeln!(out, "}}").map_err(failed)?;
            }
        }
    }
    if let Some(footer) = trace.footer() {
        let footer = serde_json::to_string(footer).expect("plain data");
        match shape {
            Shape::Csv => writeln!(out, "#footer,{footer}"),
            Shape::Json => writeln!(out, r#"{{"footer":{footer}}}"#),
        }
        .map_err(failed)?;
    }
    Ok(())
}

pub(super) fn import(mut lines: Lines<'_>, shape: Shape, builder: &mut TraceBuilder) -> Result<Finish> {
    let mut reader = Reader { builder, fields: Fields::default(), footer: Footer::default(), first: true };
    while let Some(line) = lines.next()? {
        let result = match shape {
            Shape::Csv => reader.csv(line),
            Shape::Json => reader.json(line),
        };
        match result {
            Ok(()) => {}
            Err(Failed::Text(what)) => return Err(lines.fail(what)),
            Err(Failed::Other(error)) => return Err(error),
        }
    }
    Ok(Finish { footer: reader.footer, symbols: Symbols::default() })
}

enum Failed {
    Text(String),
    Other(Error),
}

impl From<String> for Failed {
    fn from(what: String) -> Self {
        Self::Text(what)
    }
}

impl From<&str> for Failed {
    fn from(what: &str) -> Self {
        Self::Text(what.to_owned())
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

struct Reader<'b> {
    builder: &'b mut TraceBuilder,
    fields: Fields,
    footer: Footer,
    first: bool,
}

impl Reader<'_> {
    fn meta(&mut self, meta: Json) -> Result<(), Failed> {
        let meta: Meta = serde_json::from_value(meta).map_err(|error| format!("meta: {error}"))?;
        Ok(self.builder.set_meta(&meta)?)
    }

    fn stack(&mut self, stack: u64, parent: u64, pc: u64) -> Result<(), Failed> {
        let id = |n: u64| u32::try_from(n).map(StackId).map_err(|_| "stack number too large");
        Ok(self.builder.define_stack(id(stack)?, id(parent)?, Pc(pc))?)
    }

    fn event(&mut self, id: u64, thread: u64, pc: u64, stack: u64, op: &str) -> Result<(), Failed> {
        if thread >= crate::format::MAX_THREADS || stack > u32::MAX.into() || pc >= 1 << 48 {
            return Err(format!("thread, stack or code address of event {id} is too large").into());
        }
        let thread = ThreadId(thread as u32);
        let op = self.fields.op(op)?;
        self.builder.set_stack(thread, StackId(stack as u32));
        if EventId(id) < self.builder.next_event() {
            return Err(format!("event {id} after event {}: numbers must grow", self.builder.next_event().0 - 1).into());
        }
        self.builder.skip_to(EventId(id))?;
        Ok(self.builder.push(thread, Pc(pc), op)?)
    }

    fn csv(&mut self, line: &str) -> Result<(), Failed> {
        if std::mem::take(&mut self.first) {
            return if line == CSV_START {
                Ok(())
            } else {
                Err(format!("the first line must be `{CSV_START}`").into())
            };
        }
        let number = |text: &str| parse_number(text).ok_or_else(|| format!("`{text}` is not a number"));
        if let Some(meta) = line.strip_prefix("#meta,") {
            return self.meta(serde_json::from_str(meta).map_err(|error| format!("meta: {error}"))?);
        }
        if let Some(footer) = line.strip_prefix("#footer,") {
            self.footer = serde_json::from_str(footer).map_err(|error| format!("footer: {error}"))?;
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("#stack,") {
            let parts: Vec<&str> = rest.split(',').collect();
            let [stack, parent, pc] = parts[..] else {
                return Err("expected `#stack,number,parent,pc`".into());
            };
            return self.stack(number(stack)?, number(parent)?, number(pc)?);
        }
        if line.starts_with('#') {
            return Ok(());
        }
        let parts: Vec<&str> = line.split(',').collect();
        let [id, thread, pc, stack, op, operands] = parts[..] else {
            return Err(format!("expected six columns, found {}", parts.len()).into());
        };
        self.fields.clear();
        for pair in operands.split_ascii_whitespace() {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("`{pair}` is not `name=value`"))?;
            self.fields.push(key, value);
        }
        self.event(number(id)?, number(thread)?, number(pc)?, number(stack)?, op)
    }

    fn json(&mut self, line: &str) -> Result<(), Failed> {
        let json: Json = serde_json::from_str(line).map_err(|error| format!("not JSON: {error}"))?;
        let Json::Object(mut object) = json else {
            return Err("expected a JSON object".into());
        };
        if std::mem::take(&mut self.first) && object.contains_key("reweave") {
            match object.get("version").and_then(Json::as_u64) {
                Some(version) if version > VERSION => {
                    return Err(
                        format!("JSON lines format {version} is newer than this build ({VERSION}): upgrade").into()
                    );
                }
                _ => return self.meta(object.remove("meta").unwrap_or(Json::Object(Default::default()))),
            }
        }
        if let Some(footer) = object.remove("footer") {
            self.footer = serde_json::from_value(footer).map_err(|error| format!("footer: {error}"))?;
            return Ok(());
        }
        self.fields.clear();
        for (key, value) in &object {
            let key = if key == "of_thread" { "thread" } else { key };
            match value {
                Json::String(text) => self.fields.push(key, text),
                Json::Number(number) => self.fields.push(key, &number.to_string()),
                _ => {}
            }
        }
        let number = |key: &str| match object.get(key) {
            Some(Json::Number(number)) => number.as_u64().ok_or_else(|| format!("`{key}` is not a number")),
            Some(Json::String(text)) => parse_number(text).ok_or_else(|| format!("`{key}` is not a number")),
            _ => Err(format!("`{key}` is missing")),
        };
        if !object.contains_key("event") && object.contains_key("parent") {
            return self.stack(number("stack")?, number("parent")?, number("pc")?);
        }
        let Some(op) = object.get("op").and_then(Json::as_str) else {
            return Err("`op` is missing".into());
        };
        if op == "thread_name" {
            // Its own operand, not who performed it.
            let of = number("of_thread")?;
            self.fields.clear();
            self.fields.push("thread", &of.to_string());
            self.fields.push("name", object.get("name").and_then(Json::as_str).unwrap_or("hex:"));
        }
        self.event(number("event")?, number("thread")?, number("pc")?, number("stack")?, op)
    }
}
