//! What DWARF says of functions: the variables in their frames, what their pointers point to, and whose lambdas are
//! whose.

use std::ops::Range;

use addr2line::gimli::{self, AttributeValue, Operation, UnitOffset};
use reweave_trace::TypeId;

use super::types::{DebugEntry, KnownTypes, Reading, Unit, number};

/// From where the place of a variable is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Base {
    /// From where the caller's frame ends.
    Caller,
    /// From what a register holds.
    Register(gimli::Register),
}

/// A variable that lies in the frame of its function.
#[derive(Debug)]
pub(super) struct Local {
    pub function: String,
    pub name: String,
    /// The code that can see it.
    pub scope: Range<u64>,
    pub base: Base,
    /// It lies where the pointer at this place of the frame points to: what threads of a team share.
    pub through: Option<i64>,
    pub offset: i64,
    pub of: TypeId,
    pub size: u64,
}

/// A variable that points to something that has parts.
#[derive(Debug)]
pub(super) struct Pointer {
    /// Empty: it belongs to no function.
    pub function: String,
    pub name: String,
    pub to: TypeId,
}

/// Where a lambda is written.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Lambda {
    pub file: String,
    pub line: u64,
    pub column: u64,
    pub function: String,
    /// Of those of the same function, from 1.
    pub nth: usize,
}

impl Lambda {
    pub fn name(&self) -> String {
        lambda_name(&self.function, self.nth)
    }
}

/// `lambda in main`, `lambda 2 in main`.
pub(super) fn lambda_name(function: &str, nth: usize) -> String {
    if nth == 1 { format!("lambda in {function}") } else { format!("lambda {nth} in {function}") }
}

/// Functions, what was put into them, and blocks, as they lie in each other.
#[derive(Default)]
pub(super) struct Scopes {
    all: Vec<Scope>,
}

struct Scope {
    depth: isize,
    function: String,
    base: Option<Base>,
    code: Range<u64>,
}

impl Scopes {
    pub fn leave(&mut self, depth: isize) {
        self.all.retain(|scope| scope.depth < depth);
    }

    fn innermost(&self) -> Option<&Scope> {
        self.all.last()
    }

    /// The function that is written around what is being read.
    fn function(&self) -> &str {
        self.innermost().map_or("", |scope| scope.function.as_str())
    }
}

impl<'d> Reading<'_, 'd, '_> {
    pub(super) fn enter(&self, unit: &Unit<'d>, entry: &DebugEntry<'_, 'd>, depth: isize, scopes: &mut Scopes) {
        let outer = scopes.innermost();
        let is_block = entry.tag() == gimli::DW_TAG_lexical_block;
        let base = frame_base(unit, entry).or(outer.and_then(|outer| outer.base));
        let code = self.code(unit, entry).or(outer.map(|outer| outer.code.clone())).unwrap_or(0..0);
        let function = match self.name_of(unit, entry) {
            // What the compiler made of a parallel region is part of the function that has it.
            Some(name) if !is_block => name.split("._omp_fn.").next().unwrap_or_default().to_owned(),
            _ => scopes.function().to_owned(),
        };
        scopes.all.push(Scope { depth, function, base, code });
    }

    /// The code of an entry, with everything that lies between its parts.
    fn code(&self, unit: &Unit<'d>, entry: &DebugEntry<'_, 'd>) -> Option<Range<u64>> {
        let mut ranges = self.dwarf.die_ranges(unit, entry).ok()?;
        let mut all: Option<Range<u64>> = None;
        while let Ok(Some(range)) = ranges.next() {
            let all = all.get_or_insert(range.begin..range.end);
            *all = all.start.min(range.begin)..all.end.max(range.end);
        }
        all
    }

    /// What an entry says of itself, also where it is declared elsewhere.
    fn declared<R>(
        &self,
        unit: &Unit<'d>,
        entry: &DebugEntry<'_, 'd>,
        says: &dyn Fn(&DebugEntry<'_, 'd>) -> Option<R>,
    ) -> Option<R> {
        if let Some(said) = says(entry) {
            return Some(said);
        }
        for origin in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
            if let Ok(Some(AttributeValue::UnitRef(at))) = entry.attr_value(origin)
                && at != entry.offset()
            {
                return self.declared(unit, &unit.entry(at).ok()?, says);
            }
        }
        None
    }

    fn name_of(&self, unit: &Unit<'d>, entry: &DebugEntry<'_, 'd>) -> Option<String> {
        self.declared(unit, entry, &|entry| self.name(unit, entry))
    }

    /// The file and line of a declaration.
    fn declared_at(&self, unit: &Unit<'d>, entry: &DebugEntry<'_, 'd>) -> Option<(String, u64)> {
        let AttributeValue::FileIndex(file) = entry.attr_value(gimli::DW_AT_decl_file).ok()?? else { return None };
        let line = number(entry, gimli::DW_AT_decl_line)?;
        let header = unit.line_program.as_ref()?.header();
        let file = header.file(file)?;
        let text = |value| Some(self.dwarf.attr_string(unit, value).ok()?.to_string_lossy().into_owned());
        let (folder, name) = (file.directory(header).and_then(text).unwrap_or_default(), text(file.path_name())?);
        let start = unit.comp_dir.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        let path = std::path::Path::new(&start).join(folder).join(name);
        Some((path.to_string_lossy().into_owned(), line))
    }

    /// A variable or parameter of a function, or one that belongs to none.
    pub(super) fn local(
        &mut self,
        unit: &Unit<'d>,
        entry: &DebugEntry<'_, 'd>,
        scopes: &Scopes,
        known: &mut KnownTypes,
    ) {
        let Some(name) = self.name_of(unit, entry) else { return };
        let Some(of) = self.type_of(unit, entry) else { return };
        let function = scopes.function();
        if let Some(to) = self.pointee(unit, of, 0).and_then(|to| self.type_at(unit, to, known, 0)) {
            self.named.pointers.push(Pointer { function: function.into(), name: name.clone(), to });
        }
        let Some((scope, (through, offset))) = scopes.innermost().zip(in_frame(unit, entry)) else { return };
        let Some(base) = scope.base else { return };
        let Some(of) = self.type_at(unit, of, known, 0) else { return };
        let Some(size) = self.symbols.size_of_type(of) else { return };
        let (function, scope) = (function.to_owned(), scope.code.clone());
        self.named.locals.push(Local { function, name, scope, base, through, offset, of, size });
    }

    /// What a pointer points to, if that has parts.
    fn pointee(&self, unit: &Unit<'d>, at: UnitOffset, depth: u32) -> Option<UnitOffset> {
        let entry = unit.entry(at).ok()?;
        match entry.tag() {
            gimli::DW_TAG_pointer_type => {
                let mut to = self.type_of(unit, &entry)?;
                for _ in 0..4 {
                    let entry = unit.entry(to).ok()?;
                    match entry.tag() {
                        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => return Some(to),
                        gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                            to = self.type_of(unit, &entry)?;
                        }
                        _ => return None,
                    }
                }
                None
            }
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type if depth < 4 => {
                self.pointee(unit, self.type_of(unit, &entry)?, depth + 1)
            }
            _ => None,
        }
    }

    /// A class with a call operator: whoever has no name is a lambda.
    pub(super) fn lambda(&mut self, unit: &Unit<'d>, at: UnitOffset, name: &str, scopes: &Scopes) {
        let is_lambda = name.rsplit("::").next().is_some_and(|name| name.is_empty() || name.starts_with("<lambda"));
        let function = scopes.function().to_owned();
        let Ok(class) = unit.entry(at) else { return };
        let Some((file, line)) = self.declared_at(unit, &class).filter(|_| is_lambda && !function.is_empty()) else {
            return;
        };
        let column = number(&class, gimli::DW_AT_decl_column).unwrap_or(0);
        let all = &mut self.named.lambdas;
        if all.iter().any(|own| own.function == function && (own.line, own.column) == (line, column)) {
            return;
        }
        // They are numbered as they stand in the source.
        let mut nth = 1;
        for own in all.iter_mut().filter(|own| own.function == function) {
            if (own.line, own.column) < (line, column) {
                nth += 1;
            } else {
                own.nth += 1;
            }
        }
        all.push(Lambda { file, line, column, function, nth });
    }
}

/// Where the places of a function's variables are counted from.
fn frame_base<'d>(unit: &Unit<'d>, entry: &DebugEntry<'_, 'd>) -> Option<Base> {
    match only_operation(unit, entry, gimli::DW_AT_frame_base)? {
        Operation::CallFrameCFA => Some(Base::Caller),
        Operation::Register { register } | Operation::RegisterOffset { register, offset: 0, .. } => {
            Some(Base::Register(register))
        }
        _ => None,
    }
}

/// A place of the frame, or the place of a pointer in it and what is counted from where that points to.
fn in_frame<'d>(unit: &Unit<'d>, entry: &DebugEntry<'_, 'd>) -> Option<(Option<i64>, i64)> {
    match operations(unit, entry, gimli::DW_AT_location)?[..] {
        [Operation::FrameOffset { offset }] => Some((None, offset)),
        [Operation::FrameOffset { offset }, Operation::Deref { space: false, .. }] => Some((Some(offset), 0)),
        [
            Operation::FrameOffset { offset },
            Operation::Deref { space: false, .. },
            Operation::PlusConstant { value },
        ] => Some((Some(offset), value.cast_signed())),
        _ => None,
    }
}

/// What an expression does, if that is one thing.
pub(super) fn only_operation<'d>(
    unit: &Unit<'d>,
    entry: &DebugEntry<'_, 'd>,
    name: gimli::DwAt,
) -> Option<Operation<super::types::Slice<'d>>> {
    let mut all = operations(unit, entry, name)?;
    if all.len() == 1 { all.pop() } else { None }
}

fn operations<'d>(
    unit: &Unit<'d>,
    entry: &DebugEntry<'_, 'd>,
    name: gimli::DwAt,
) -> Option<Vec<Operation<super::types::Slice<'d>>>> {
    let AttributeValue::Exprloc(mut expression) = entry.attr_value(name).ok()?? else { return None };
    let mut all = Vec::new();
    while !expression.0.is_empty() {
        all.push(Operation::parse(&mut expression.0, unit.encoding()).ok()?);
    }
    Some(all)
}
