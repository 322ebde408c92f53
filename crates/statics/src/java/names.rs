//! What people call locations, threads and places.

use std::collections::HashMap;

use reweave_report::determinism::AccessAt;

use super::accesses::Location;
use super::classes::FieldId;
use super::code::{Kind, Name};
use super::solve::{Birth, ObjectId, Origin, Point, Solver, ThreadId};
use crate::question::CONTENTS;

const SYNTHETIC: u16 = 0x1000;

pub struct Naming<'s, 'a> {
    solver: &'s Solver<'a>,
    /// Fields that refer to an object, by their names.
    holders: HashMap<ObjectId, String>,
}

impl<'s, 'a> Naming<'s, 'a> {
    pub fn new(solver: &'s Solver<'a>) -> Self {
        let mut holders: HashMap<ObjectId, String> = HashMap::new();
        let mut naming = Self { solver, holders: HashMap::new() };
        let statics = solver.static_nodes.iter().map(|(field, node)| (*field, *node));
        let fields = solver.field_nodes.iter().map(|((_, field), node)| (*field, *node));
        let mut all: Vec<(FieldId, u32)> = statics.chain(fields).collect();
        all.sort_unstable();
        for (field, node) in all {
            let Some(name) = naming.field(field) else { continue };
            for object in solver.points_to[node as usize].iter() {
                holders.entry(ObjectId(object as u32)).or_insert_with(|| name.clone());
            }
        }
        // Arrays of arrays belong to whoever holds the outer one.
        for _ in 0..4 {
            let nested = solver.field_nodes.iter().filter(|((_, field), _)| *field == solver.element);
            for ((outer, _), node) in nested {
                let Some(name) = holders.get(outer).cloned() else { continue };
                for object in solver.points_to[*node as usize].iter() {
                    let is_array = naming.class(solver.objects[object].class).starts_with('[');
                    if is_array {
                        holders.entry(ObjectId(object as u32)).or_insert_with(|| format!("{name}[]"));
                    }
                }
            }
        }
        naming.holders = holders;
        naming
    }

    fn class(&self, name: Name) -> String {
        let text = self.solver.classes.names.text(name).replace('/', ".");
        // A named class inside another one; numbers stay.
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let named = c == '$' && !out.is_empty() && chars.peek().is_some_and(|next| next.is_alphabetic());
            out.push(if named { '.' } else { c });
        }
        out
    }

    /// `Account.amount`; none of made-up fields.
    fn field(&self, field: FieldId) -> Option<String> {
        let own = &self.solver.classes.fields[field.0 as usize];
        let class = self.class(own.class);
        let name = self.solver.classes.names.text(own.name);
        // `$VALUES`, `$SwitchMap$…`: the compiler's.
        let is_hidden = own.flags & SYNTHETIC != 0 && name.starts_with('$');
        (!class.is_empty() && !is_hidden).then(|| format!("{class}.{name}"))
    }

    /// Name and where the object is made; none of what nobody wants to hear of.
    pub fn location(&self, location: Location) -> Option<(String, Option<String>)> {
        match location {
            Location::Static(field) => Some((self.field(field)?, None)),
            Location::Field(object, field) => {
                let made = self.made(object);
                if field == self.solver.element || field == self.solver.content {
                    let ending = if field == self.solver.element { "[]" } else { CONTENTS };
                    let holder = self.holders.get(&object).cloned();
                    let name = holder.unwrap_or_else(|| {
                        let class = self.class(self.solver.objects[object.index()].class);
                        readable(&class, field == self.solver.element)
                    });
                    return Some((format!("{name}{ending}"), made));
                }
                Some((self.field(field)?, made))
            }
        }
    }

    /// A library object or array that no field refers to.
    pub fn is_inside(&self, location: Location) -> bool {
        match location {
            Location::Static(_) => false,
            Location::Field(object, field) => {
                let made_up = field == self.solver.element || field == self.solver.content;
                made_up && !self.holders.contains_key(&object)
            }
        }
    }

    pub fn made(&self, object: ObjectId) -> Option<String> {
        let own = &self.solver.objects[object.index()];
        let Origin::Site(_, pc, _) = own.origin else { return None };
        let (frame, _) = own.made.first()?;
        let frame = &self.solver.frames[frame.index()];
        let class = &self.solver.classes.all[self.solver.classes.method(frame.method).class];
        match (&class.source, frame.body.line(pc)) {
            (Some(source), 0) => Some(source.clone()),
            (Some(source), line) => Some(format!("{source}:{line}")),
            _ => Some(self.class(class.name)),
        }
    }

    pub fn thread(&self, thread: ThreadId) -> String {
        let own = &self.solver.threads[thread.index()];
        let short = |name: Name| {
            let text = self.class(name);
            text.rsplit('.').next().unwrap_or_default().to_owned()
        };
        match own.birth {
            Birth::Main => "main".to_owned(),
            Birth::Initialiser(class) => format!("initialiser of {}", short(class)),
            Birth::Anywhere => "unknown code".to_owned(),
            Birth::Started(object) | Birth::Task(object, ..) => {
                let class = self.solver.objects[object.index()].class;
                if self.solver.classes.is_loaded(class) && self.solver.objects[object.index()].lambda.is_none() {
                    return short(class);
                }
                let entry = own.entries.first().and_then(|entry| self.solver.frames[entry.index()].receiver);
                match entry.map(|entry| &self.solver.objects[entry.index()]) {
                    Some(entry) if entry.lambda.is_none() => short(entry.class),
                    _ => self.entry(thread).unwrap_or_else(|| "lambda".to_owned()),
                }
            }
        }
    }

    /// The method that a thread of a made-up `main` calls.
    fn entry(&self, thread: ThreadId) -> Option<String> {
        let own = &self.solver.threads[thread.index()];
        let start = own.starts.first()?;
        (Some(self.solver.frames[start.frame.index()].method) == self.solver.made_up).then_some(())?;
        let stub = &self.solver.frames[own.entries.first()?.index()].body.code;
        let mut calls = stub.blocks.iter().flat_map(|block| &block.statements).filter_map(|one| match &one.kind {
            Kind::Call(call) => Some(call.method),
            _ => None,
        });
        let method = calls.next()?;
        let class = self.class(method.class);
        Some(format!("{}.{}", class.rsplit('.').next()?, self.solver.classes.names.text(method.name)))
    }

    /// With where it was started, if others have the same name.
    fn told_apart(&self, thread: ThreadId) -> String {
        let name = self.thread(thread);
        let own = &self.solver.threads[thread.index()];
        let alike = (0..self.solver.threads.len() as u32).filter(|at| self.thread(ThreadId(*at)) == name).count();
        match own.starts.first().filter(|_| alike > 1) {
            Some(start) => format!("{name}@{}", self.solver.place(*start)),
            None => name,
        }
    }

    pub fn point(&self, at: Point) -> AccessAt {
        let frame = &self.solver.frames[at.frame.index()];
        let method = self.solver.classes.method(frame.method);
        let class = &self.solver.classes.all[method.class];
        let line = frame.body.line(self.solver.statement_at(at).pc);
        AccessAt {
            file: class.source.clone().unwrap_or_else(|| self.class(class.name)),
            line,
            function: self.solver.classes.names.text(method.name).to_owned(),
            by: self.told_apart(frame.thread),
            writes: false,
        }
    }
}

/// `int` of `[I`, `Account` of `[Lorg.bank.Account;`.
fn readable(class: &str, is_array: bool) -> String {
    if !is_array {
        return class.rsplit('.').next().unwrap_or(class).to_owned();
    }
    let inner = class.strip_prefix('[').unwrap_or(class);
    match inner {
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "Z" => "boolean".to_owned(),
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "S" => "short".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        other => {
            let name = other.trim_start_matches('[').trim_start_matches('L').trim_end_matches(';');
            name.rsplit('.').next().unwrap_or(name).to_owned()
        }
    }
}
