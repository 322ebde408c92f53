//! What variables and blocks of native programs are made of, from DWARF. A block has no type there: what is allocated
//! is read off the line that does it (`new Job`, `malloc(sizeof(struct job))`) or off the allocator's name, and counts
//! only if the size of the block agrees ([`Symbols::part_of_block`](reweave_trace::Symbols::part_of_block)).
//!
//! Fields whose names begin with an underscore are a library's own (`_M_start`, `__data`): what they are part of is
//! named, they are not.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use addr2line::gimli::{
    self, AttributeValue, DebuggingInformationEntry, EndianSlice, Operation, RunTimeEndian, UnitOffset,
};
use object::{Object, ObjectSection};
use reweave_model::Addr;
use reweave_trace::{Module, Shape, SymbolsBuilder, TypeId};

use super::scopes::{Lambda, Local, Pointer, Scopes, only_operation};

pub(super) type Slice<'d> = EndianSlice<'d, RunTimeEndian>;
pub(super) type DebugEntry<'a, 'd> = DebuggingInformationEntry<'a, 'a, Slice<'d>>;
pub(super) type Unit<'d> = gimli::Unit<Slice<'d>>;

/// Larger debug information is not read for this: it would take longer than the test.
const MOST: u64 = 48 << 20;
/// Types of one module.
const MOST_TYPES: usize = 20_000;
/// Types inside each other.
const DEEPEST: u32 = 12;

/// What has a name in the source of a module.
#[derive(Default)]
pub(super) struct Named {
    /// Types, for what is allocated.
    // invariant: complete types only
    all: BTreeMap<String, TypeId>,
    pub locals: Vec<Local>,
    pub pointers: Vec<Pointer>,
    pub lambdas: Vec<Lambda>,
}

/// What a line of source, or the name of an allocator, says is allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Allocated<'t> {
    Type(&'t str),
    /// What this variable points to.
    Pointee(&'t str),
}

/// What the library puts before a value in the blocks it allocates for it.
const NODES: [(&str, u64); 4] = [
    ("std::_Sp_counted_ptr_inplace<", 16),
    ("std::_List_node<", 16),
    ("std::__detail::_Hash_node<", 8),
    ("std::_Rb_tree_node<", 32),
];

impl Named {
    /// What the code of a function allocates there.
    pub fn allocated(&self, what: Allocated<'_>, function: &str, symbols: &mut SymbolsBuilder) -> Option<TypeId> {
        match what {
            Allocated::Type(name) => self.find(name).or_else(|| {
                let (node, before) = NODES.iter().find(|(node, _)| name.starts_with(node))?;
                let inside = &name[node.len()..];
                let value = self.find(&inside[..first_argument(inside)])?;
                let size = symbols.size_of_type(value)?.checked_add(before + 7)? & !7;
                let shape = Shape::Fields(vec![(*before, String::new(), value)]);
                Some(symbols.data_type(symbols.name_of_type(value)?.to_owned().as_str(), size, shape))
            }),
            Allocated::Pointee(name) => {
                let named = |pointer: &&Pointer| pointer.name == name;
                let own = self.pointers.iter().filter(named).find(|pointer| pointer.function == function);
                own.or_else(|| self.pointers.iter().filter(named).find(|pointer| pointer.function.is_empty()))
                    .map(|pointer| pointer.to)
            }
        }
    }

    /// The lambda that a line without another name belongs to: the last one that begins before it.
    pub fn lambda(&self, file: &str, line: u32) -> Option<&Lambda> {
        let before = self.lambdas.iter().filter(|lambda| lambda.file == file && lambda.line <= u64::from(line));
        before.max_by_key(|lambda| (lambda.line, std::cmp::Reverse(lambda.column)))
    }

    /// `Job`, or the only one that ends so: `pool::Job`.
    fn find(&self, name: &str) -> Option<TypeId> {
        let name = name.trim().trim_start_matches("struct ").trim_start_matches("class ").trim();
        if let Some(&found) = self.all.get(name) {
            return Some(found);
        }
        let end = format!("::{name}");
        let mut ends = self.all.iter().filter(|(full, _)| full.ends_with(&end));
        ends.next().filter(|_| ends.next().is_none()).map(|(_, &found)| found)
    }
}

/// Adds the types of the variables of a module; returns those that have names.
pub(super) fn add_module(file: &object::File<'_>, module: &Module, symbols: &mut SymbolsBuilder) -> Named {
    let size = file.section_by_name(".debug_info").map_or(0, |section| section.size());
    if size == 0 || size > MOST {
        return Named::default();
    }
    let endian = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: gimli::SectionId| -> Result<Cow<'_, [u8]>, gimli::Error> {
        let data = file.section_by_name(id.name()).and_then(|section| section.uncompressed_data().ok());
        Ok(data.unwrap_or(Cow::Borrowed(&[])))
    };
    let Ok(sections) = gimli::DwarfSections::load(load) else { return Named::default() };
    let dwarf = sections.borrow(|section| EndianSlice::new(section, endian));
    let mut reading = Reading { dwarf: &dwarf, symbols, bias: module.bias, count: 0, named: Named::default() };
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if let Ok(unit) = dwarf.unit(header) {
            // What cannot be read has no names.
            let _ = reading.unit(&unit);
        }
    }
    reading.named
}

pub(super) struct Reading<'r, 'd, 's> {
    pub dwarf: &'r gimli::Dwarf<Slice<'d>>,
    pub symbols: &'s mut SymbolsBuilder,
    bias: u64,
    count: usize,
    pub named: Named,
}

/// The types of a unit that are known; `None`: nothing can be said.
pub(super) type KnownTypes = HashMap<UnitOffset, Option<TypeId>>;

impl<'d> Reading<'_, 'd, '_> {
    fn unit(&mut self, unit: &Unit<'d>) -> gimli::Result<()> {
        let mut known = KnownTypes::new();
        let mut scopes: Vec<(isize, String, UnitOffset)> = Vec::new();
        let mut functions = Scopes::default();
        let mut depth = 0;
        let mut entries = unit.entries();
        while let Some((step, entry)) = entries.next_dfs()? {
            depth += step;
            scopes.retain(|(at, ..)| *at < depth);
            functions.leave(depth);
            match entry.tag() {
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine | gimli::DW_TAG_lexical_block => {
                    if let Some((_, class, at)) = scopes.last().filter(|(at, ..)| *at == depth - 1)
                        && self.name(unit, entry).as_deref() == Some("operator()")
                    {
                        self.lambda(unit, *at, class, &functions);
                    }
                    self.enter(unit, entry, depth, &mut functions);
                }
                gimli::DW_TAG_formal_parameter => self.local(unit, entry, &functions, &mut known),
                gimli::DW_TAG_namespace | gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                    let name = self.name(unit, entry);
                    let scope = scopes.last().map_or(String::new(), |(_, scope, _)| format!("{scope}::"));
                    let full = format!("{scope}{}", name.clone().unwrap_or_default());
                    scopes.push((depth, full.clone(), entry.offset()));
                    let is_library = full.starts_with("std::") || full.starts_with("__");
                    if entry.tag() != gimli::DW_TAG_namespace
                        && name.is_some()
                        && !is_library
                        && let Some(found) = self.type_at(unit, entry.offset(), &mut known, 0)
                    {
                        self.named.all.entry(full).or_insert(found);
                    }
                }
                gimli::DW_TAG_variable => {
                    if let Some(address) = address(unit, entry)
                        && let Some(of) = self.type_of(unit, entry)
                        && let Some(found) = self.type_at(unit, of, &mut known, 0)
                    {
                        self.symbols.variable_type(Addr(address.wrapping_add(self.bias)), found);
                    }
                    self.local(unit, entry, &functions, &mut known);
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn name(&self, unit: &Unit<'d>, entry: &DebugEntry<'_, '_>) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name).ok()??;
        let text = self.dwarf.attr_string(unit, value).ok()?;
        Some(text.to_string_lossy().into_owned())
    }

    /// The type of a variable or field, also where it is declared elsewhere.
    pub(super) fn type_of(&self, unit: &Unit<'d>, entry: &DebugEntry<'_, '_>) -> Option<UnitOffset> {
        if let Some(AttributeValue::UnitRef(of)) = entry.attr_value(gimli::DW_AT_type).ok()? {
            return Some(of);
        }
        for origin in [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin] {
            if let Some(AttributeValue::UnitRef(at)) = entry.attr_value(origin).ok()? {
                let declared = unit.entry(at).ok()?;
                if let Some(AttributeValue::UnitRef(of)) = declared.attr_value(gimli::DW_AT_type).ok()? {
                    return Some(of);
                }
            }
        }
        None
    }

    pub(super) fn type_at(
        &mut self,
        unit: &Unit<'d>,
        at: UnitOffset,
        known: &mut KnownTypes,
        depth: u32,
    ) -> Option<TypeId> {
        if let Some(found) = known.get(&at) {
            return *found;
        }
        if depth > DEEPEST || self.count >= MOST_TYPES {
            return None;
        }
        // A type that is a part of itself is broken.
        known.insert(at, None);
        let entry = unit.entry(at).ok()?;
        let found = match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_restrict_type => {
                let of = self.type_of(unit, &entry)?;
                self.type_at(unit, of, known, depth + 1)
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => self.composite(unit, &entry, known, depth),
            gimli::DW_TAG_array_type => self.array(unit, &entry, known, depth),
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => self.plain(unit, &entry, 8),
            _ => self.plain(unit, &entry, 0),
        };
        known.insert(at, found);
        found
    }

    fn add(&mut self, name: &str, size: u64, shape: Shape) -> TypeId {
        self.count += 1;
        self.symbols.data_type(name, size, shape)
    }

    fn plain(&mut self, unit: &Unit<'d>, entry: &DebugEntry<'_, '_>, usual: u64) -> Option<TypeId> {
        let size = number(entry, gimli::DW_AT_byte_size).unwrap_or(usual);
        let name = self.name(unit, entry).unwrap_or_default();
        (size > 0).then(|| self.add(&name, size, Shape::Plain))
    }

    fn composite(
        &mut self,
        unit: &Unit<'d>,
        entry: &DebugEntry<'_, '_>,
        known: &mut KnownTypes,
        depth: u32,
    ) -> Option<TypeId> {
        let size = number(entry, gimli::DW_AT_byte_size).filter(|size| *size > 0)?;
        let name = self.name(unit, entry).unwrap_or_default();
        let mut fields = Vec::new();
        let mut tree = unit.entries_tree(Some(entry.offset())).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let child = child.entry();
            let is_base = child.tag() == gimli::DW_TAG_inheritance;
            let at = number(child, gimli::DW_AT_data_member_location);
            let (true, Some(at)) = (is_base || child.tag() == gimli::DW_TAG_member, at) else { continue };
            let mut field = if is_base { String::new() } else { self.name(unit, child).unwrap_or_default() };
            if field == "_M_elems" && name.starts_with("array<") {
                // An array by another name.
                field.clear();
            }
            if field.starts_with('_') {
                // A library's own.
                return Some(self.add(&name, size, Shape::Plain));
            }
            if let Some(of) = self.type_of(unit, child)
                && let Some(of) = self.type_at(unit, of, known, depth + 1)
            {
                fields.push((at, field, of));
            }
        }
        let shape = if fields.is_empty() { Shape::Plain } else { Shape::Fields(fields) };
        Some(self.add(&name, size, shape))
    }

    fn array(
        &mut self,
        unit: &Unit<'d>,
        entry: &DebugEntry<'_, '_>,
        known: &mut KnownTypes,
        depth: u32,
    ) -> Option<TypeId> {
        let of = self.type_of(unit, entry)?;
        let element = self.type_at(unit, of, known, depth + 1)?;
        let mut count: Option<u64> = None;
        let mut tree = unit.entries_tree(Some(entry.offset())).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            let child = child.entry();
            let bound = number(child, gimli::DW_AT_upper_bound).map(|last| last.saturating_add(1));
            let here = number(child, gimli::DW_AT_count).or(bound)?;
            count = Some(count.unwrap_or(1).saturating_mul(here));
        }
        // Its length is what the sizes of its elements add up to.
        let one = self.size_of(unit, of, 0)?;
        Some(self.add("", one.saturating_mul(count?), Shape::Elements(element)))
    }

    fn size_of(&self, unit: &Unit<'d>, at: UnitOffset, depth: u32) -> Option<u64> {
        let entry = unit.entry(at).ok()?;
        if let Some(size) = number(&entry, gimli::DW_AT_byte_size) {
            return Some(size);
        }
        match entry.tag() {
            gimli::DW_TAG_pointer_type => Some(8),
            _ if depth < DEEPEST => self.size_of(unit, self.type_of(unit, &entry)?, depth + 1),
            _ => None,
        }
    }
}

pub(super) fn number(entry: &DebugEntry<'_, '_>, name: gimli::DwAt) -> Option<u64> {
    entry.attr_value(name).ok()??.udata_value()
}

/// Where a variable lies, if that is always the same.
fn address<'d>(unit: &Unit<'d>, entry: &DebugEntry<'_, 'd>) -> Option<u64> {
    match only_operation(unit, entry, gimli::DW_AT_location)? {
        Operation::Address { address } => Some(address),
        _ => None,
    }
}

/// What a line of source, or the name of an allocator, says is allocated. Of several things on one line nobody knows
/// which is meant.
pub(super) fn allocated(text: &str) -> Option<Allocated<'_>> {
    let code = text.split("//").next().and_then(|text| text.split("/*").next())?;
    let (what, mut rest) = next_allocated(code)?;
    while ["new ", "make_unique<", "sizeof"].iter().any(|word| rest.contains(word)) {
        let (other, after) = next_allocated(rest)?;
        if other != what {
            return None;
        }
        rest = after;
    }
    Some(what)
}

/// The first of them, and what comes after it.
fn next_allocated(text: &str) -> Option<(Allocated<'_>, &str)> {
    let end_of_name = |text: &str| {
        let mut depth = 0u32;
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        text.char_indices()
            .find(|&(_, c)| match c {
                '<' => {
                    depth += 1;
                    false
                }
                '>' if depth > 0 => {
                    depth -= 1;
                    false
                }
                _ => depth == 0 && !part(c),
            })
            .map_or(text.len(), |(at, _)| at)
    };
    for (before, is_bracket) in [("new_allocator<", true), ("make_unique<", true), ("new ", false)] {
        let Some((_, rest)) = text.split_once(before) else { continue };
        let end = if is_bracket { closing(rest)? } else { end_of_name(rest) };
        let name = rest[..end].trim();
        return (!name.is_empty()).then_some((Allocated::Type(name), &rest[end..]));
    }
    let (_, rest) = text.split_once("sizeof")?;
    let rest = rest.trim_start();
    let name = match rest.strip_prefix('(') {
        Some(inside) => inside.split(')').next()?.trim(),
        None => rest.split([')', ',', ';']).next()?.trim(),
    };
    let what = match name.strip_prefix('*') {
        Some(pointer) => {
            let pointer = pointer.trim();
            let is_name = pointer.chars().all(|c| c.is_alphanumeric() || c == '_');
            is_name.then_some(Allocated::Pointee(pointer))
        }
        None => (!name.contains(['*', '.', '-', '['])).then_some(Allocated::Type(name)),
    };
    Some((what?, rest))
}

/// Where the first of the arguments ends that the text begins with.
fn first_argument(text: &str) -> usize {
    let mut depth = 0u32;
    let end = text.char_indices().find(|&(_, c)| {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' if depth > 0 => depth -= 1,
            ',' | '>' => return depth == 0,
            _ => {}
        }
        false
    });
    end.map_or(text.len(), |(at, _)| at)
}

/// Where the bracket closes that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1u32;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Allocated, allocated, first_argument};

    #[test]
    fn what_a_line_allocates() {
        for (text, name) in [
            ("Settings *fresh = new Settings;", Some(Allocated::Type("Settings"))),
            ("auto p = new pool::Job<int>(3);", Some(Allocated::Type("pool::Job<int>"))),
            ("return new char[n];", Some(Allocated::Type("char"))),
            ("struct node *n = malloc(sizeof(struct node));", Some(Allocated::Type("struct node"))),
            ("p = calloc(n, sizeof (job_t));", Some(Allocated::Type("job_t"))),
            ("p = malloc(sizeof(*p));", Some(Allocated::Pointee("p"))),
            ("p = calloc(1, sizeof *p);", Some(Allocated::Pointee("p"))),
            ("p->next = malloc(sizeof(*p->next));", None),
            ("p = malloc(100);", None),
            ("q = calloc(1, sizeof *q); q->lock = malloc(sizeof(pthread_mutex_t));", None),
            ("a = new Job(1), b = new Task;", None),
            ("a = new Job(1), b = new Job(2);", Some(Allocated::Type("Job"))),
            ("p = malloc(sizeof *p); // a new one", Some(Allocated::Pointee("p"))),
            ("p = malloc(sizeof *p); memset(p, 0, sizeof *p);", Some(Allocated::Pointee("p"))),
            ("std::__new_allocator<std::pair<int, Job> >::allocate", Some(Allocated::Type("std::pair<int, Job>"))),
            ("auto s = std::make_unique<Session>(4);", Some(Allocated::Type("Session"))),
        ] {
            assert_eq!(allocated(text), name, "{text}");
        }
    }

    #[test]
    fn arguments_of_templates() {
        for (text, first) in
            [("Pool, std::allocator<void> >", "Pool"), ("std::pair<int, Job> >", "std::pair<int, Job>")]
        {
            assert_eq!(text[..first_argument(text)].trim(), first);
        }
    }
}
