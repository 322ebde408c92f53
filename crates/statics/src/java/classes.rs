//! The classes of a program: who extends whom, fields, methods and their code.
//!
//! Classes that were not given (the library, mostly) are known by name only.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use reweave_jvm::classfile::descriptor::MethodDescriptor;
use reweave_jvm::classfile::pool::Constant as PoolConstant;
use reweave_jvm::classfile::{ClassFile, Code as RawCode, Reader, access, decode_text, find};

use super::code::{Code, Constant, Member, Name, Names};
use super::flow_graph::FlowGraph;
use super::lower::{Bootstrap, lower};

/// Index into [`Classes::methods`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MethodId(pub u32);

/// Index into [`Classes::fields`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FieldId(pub u32);

pub struct Class<'a> {
    pub name: Name,
    pub parent: Option<Name>,
    pub interfaces: Vec<Name>,
    pub source: Option<String>,
    pub file: ClassFile<'a>,
    pub bootstraps: Vec<Bootstrap>,
    /// Constant values of static fields.
    pub constants: Vec<(Name, Constant)>,
    /// Names and descriptors of its methods.
    methods: Vec<(Name, Name)>,
}

impl Class<'_> {
    /// Descriptors of its methods of a name.
    pub fn descriptors(&self, name: Name) -> Vec<Name> {
        self.methods.iter().filter(|(own, _)| *own == name).map(|(_, descriptor)| *descriptor).collect()
    }
}

pub struct Method {
    /// Index into [`Classes::all`].
    pub class: usize,
    pub class_name: Name,
    pub name: Name,
    pub descriptor: Name,
    pub flags: u16,
    /// Its place in the class file.
    index: usize,
    body: Option<Result<Rc<Body>, String>>,
}

/// The code of a method with its graph.
pub struct Body {
    pub code: Code,
    pub graph: FlowGraph,
    /// (first pc, line), by pc.
    lines: Vec<(u32, u32)>,
}

impl Body {
    pub fn new(code: Code, lines: Vec<(u32, u32)>) -> Self {
        let graph = FlowGraph::new(&code);
        Self { code, graph, lines }
    }

    /// Other code with the same lines.
    pub fn with(&self, code: Code) -> Self {
        Self::new(code, self.lines.clone())
    }

    pub fn line(&self, pc: u32) -> u32 {
        let at = self.lines.partition_point(|(start, _)| *start <= pc);
        at.checked_sub(1).map_or(0, |at| self.lines[at].1)
    }
}

/// A field where it is declared; fields of the library have flags of nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    pub class: Name,
    pub name: Name,
    pub flags: u16,
    pub is_reference: bool,
}

pub struct Classes<'a> {
    pub names: Names,
    pub all: Vec<Class<'a>>,
    pub by_name: HashMap<Name, usize>,
    pub methods: Vec<Method>,
    own: HashMap<(Name, Name, Name), MethodId>,
    pub fields: Vec<Field>,
    field_ids: HashMap<(Name, Name), FieldId>,
    declared: HashMap<(Name, Name), (u16, bool)>,
    children: HashMap<Name, Vec<Name>>,
}

impl<'a> Classes<'a> {
    /// Of class files; what cannot be read goes to `damage`.
    pub fn new(files: &'a [(String, Vec<u8>)], damage: &mut Vec<String>) -> Self {
        let mut classes = Self {
            names: Names::default(),
            all: Vec::new(),
            by_name: HashMap::new(),
            methods: Vec::new(),
            own: HashMap::new(),
            fields: Vec::new(),
            field_ids: HashMap::new(),
            declared: HashMap::new(),
            children: HashMap::new(),
        };
        for (place, bytes) in files {
            match ClassFile::parse(bytes).map_err(|error| format!("{error}")) {
                Ok(file) if file.is(access::MODULE) => {}
                Ok(file) => {
                    if let Err(error) = classes.add(file) {
                        damage.push(format!("{place}: {error}"));
                    }
                }
                Err(error) => damage.push(format!("{place}: {error}")),
            }
        }
        classes
    }

    fn add(&mut self, file: ClassFile<'a>) -> Result<(), String> {
        let text = |bytes: &[u8]| decode_text(bytes);
        let bad = |error: reweave_jvm::classfile::Malformed| format!("{error}");
        let name = self.names.add(&text(file.name().map_err(bad)?));
        if self.by_name.contains_key(&name) {
            return Ok(());
        }
        let parent = file.super_name().map_err(bad)?.map(|name| self.names.add(&text(name)));
        let mut interfaces = Vec::new();
        for index in &file.interfaces {
            interfaces.push(self.names.add(&text(file.pool.class_name(*index).map_err(bad)?)));
        }
        // Everything is read before anything is known of the class: it may be damaged.
        let mut named = |members: &[reweave_jvm::classfile::Member<'_>]| {
            let both = members.iter().map(|one| {
                let own = self.names.add(&text(file.pool.utf8(one.name).map_err(bad)?));
                Ok((own, text(file.pool.utf8(one.descriptor).map_err(bad)?)))
            });
            both.collect::<Result<Vec<(Name, String)>, String>>()
        };
        let (fields, own_methods) = (named(&file.fields)?, named(&file.methods)?);
        for above in parent.iter().chain(&interfaces) {
            self.children.entry(*above).or_default().push(name);
        }
        let mut constants = Vec::new();
        for (field, (own, descriptor)) in file.fields.iter().zip(fields) {
            let is_reference = descriptor.starts_with(['L', '[']);
            self.declared.insert((name, own), (field.access, is_reference));
            if let Some(constant) = self.constant_value(&file, &field.attributes) {
                constants.push((own, constant));
            }
        }
        let class = self.all.len();
        let mut methods = Vec::new();
        for (index, (method, (own, descriptor))) in file.methods.iter().zip(own_methods).enumerate() {
            let descriptor = self.names.add(&descriptor);
            let id = MethodId(self.methods.len() as u32);
            self.own.insert((name, own, descriptor), id);
            methods.push((own, descriptor));
            let flags = method.access;
            self.methods.push(Method { class, class_name: name, name: own, descriptor, flags, index, body: None });
        }
        let bootstraps = self.bootstraps(&file);
        let source = file.source_file().map(decode_text);
        self.by_name.insert(name, class);
        self.all.push(Class { name, parent, interfaces, source, file, bootstraps, constants, methods });
        Ok(())
    }

    fn constant_value(
        &mut self,
        file: &ClassFile<'_>,
        attributes: &[reweave_jvm::classfile::Attribute<'_>],
    ) -> Option<Constant> {
        let attribute = find(&file.pool, attributes, b"ConstantValue")?;
        Some(match file.pool.get(Reader::new(&attribute.bytes).u2().ok()?).ok()? {
            PoolConstant::Integer(value) => Constant::Whole(value.into()),
            PoolConstant::Long(value) => Constant::Whole(value),
            PoolConstant::Float(value) => Constant::Float(value.into()),
            PoolConstant::Double(value) => Constant::Float(value),
            _ => return None,
        })
    }

    fn bootstraps(&mut self, file: &ClassFile<'_>) -> Vec<Bootstrap> {
        let Some(attribute) = file.attribute(b"BootstrapMethods") else { return Vec::new() };
        let mut reader = Reader::new(&attribute.bytes);
        let mut all = Vec::new();
        let Ok(count) = reader.u2() else { return all };
        for _ in 0..count {
            let one = (|| {
                let method = reader.u2().ok()?;
                let count = reader.u2().ok()?;
                let arguments: Vec<u16> = (0..count).map(|_| reader.u2().ok()).collect::<Option<_>>()?;
                Some((method, arguments))
            })();
            let Some((method, arguments)) = one else { return all };
            all.push(self.bootstrap(file, method, &arguments).unwrap_or(Bootstrap::Unknown));
        }
        all
    }

    fn bootstrap(&mut self, file: &ClassFile<'_>, method: u16, arguments: &[u16]) -> Option<Bootstrap> {
        let handle = |index: u16| match file.pool.get(index).ok()? {
            PoolConstant::MethodHandle { kind, reference } => Some((kind, file.pool.reference(reference).ok()?)),
            _ => None,
        };
        let (_, linker) = handle(method)?;
        match linker.class {
            b"java/lang/invoke/LambdaMetafactory" => {
                let (kind, implementation) = handle(*arguments.get(1)?)?;
                let implementation = Member {
                    class: self.names.add(&decode_text(implementation.class)),
                    name: self.names.add(&decode_text(implementation.name)),
                    descriptor: self.names.add(&decode_text(implementation.descriptor)),
                };
                Some(Bootstrap::Lambda { implementation, kind })
            }
            b"java/lang/invoke/StringConcatFactory"
            | b"java/lang/runtime/ObjectMethods"
            | b"java/lang/runtime/SwitchBootstraps" => Some(Bootstrap::Pure),
            _ => None,
        }
    }

    pub fn method(&self, id: MethodId) -> &Method {
        &self.methods[id.0 as usize]
    }

    /// The code of a method; none of native and abstract ones. An error says why it is not understood.
    pub fn body(&mut self, id: MethodId) -> Option<Result<Rc<Body>, String>> {
        let method = &self.methods[id.0 as usize];
        if let Some(known) = &method.body {
            return Some(known.clone());
        }
        let (flags, index, class) = (method.flags, method.index, method.class);
        let Class { file, bootstraps, .. } = &self.all[class];
        let member = &file.methods[index];
        let attribute = find(&file.pool, &member.attributes, b"Code")?;
        let Cow::Borrowed(bytes) = attribute.bytes else { return None };
        let descriptor = self.names.text(self.methods[id.0 as usize].descriptor).as_bytes().to_vec();
        let body = RawCode::parse(bytes).map_err(|error| format!("{error}")).and_then(|raw| {
            let code = lower(file, bootstraps, &mut self.names, &raw, flags, &descriptor)?;
            let mut lines = Vec::new();
            for table in raw
                .attributes
                .iter()
                .filter(|one| file.pool.utf8(one.name).is_ok_and(|name| name == b"LineNumberTable"))
            {
                let mut reader = Reader::new(&table.bytes);
                for _ in 0..reader.u2().unwrap_or(0) {
                    let (Ok(pc), Ok(line)) = (reader.u2(), reader.u2()) else { break };
                    lines.push((u32::from(pc), u32::from(line)));
                }
            }
            lines.sort_unstable();
            Ok(Rc::new(Body::new(code, lines)))
        });
        self.methods[id.0 as usize].body = Some(body.clone());
        Some(body)
    }

    /// A made-up method beside another one.
    pub fn add_method(&mut self, beside: MethodId, body: Rc<Body>) -> MethodId {
        let id = MethodId(self.methods.len() as u32);
        let Method { class, class_name, .. } = self.methods[beside.0 as usize];
        let (name, descriptor) = (self.names.add("lambda"), self.names.add("()V"));
        let body = Some(Ok(body));
        self.methods.push(Method { class, class_name, name, descriptor, flags: 0, index: usize::MAX, body });
        id
    }

    /// Another static method of the class of one.
    pub fn add_static(&mut self, beside: MethodId, name: Name, descriptor: Name, body: Rc<Body>) {
        let id = MethodId(self.methods.len() as u32);
        let Method { class, class_name, .. } = self.methods[beside.0 as usize];
        let (flags, index, body) = (access::STATIC, usize::MAX, Some(Ok(body)));
        self.methods.push(Method { class, class_name, name, descriptor, flags, index, body });
        self.own.insert((class_name, name, descriptor), id);
    }

    /// Other code for a method.
    pub fn replace(&mut self, method: MethodId, body: Rc<Body>) {
        self.methods[method.0 as usize].body = Some(Ok(body));
    }

    pub fn is_loaded(&self, class: Name) -> bool {
        self.by_name.contains_key(&class)
    }

    pub fn class(&self, name: Name) -> Option<&Class<'a>> {
        self.by_name.get(&name).map(|at| &self.all[*at])
    }

    /// The methods that a class declares itself.
    pub fn methods_of(&self, class: Name) -> impl Iterator<Item = (MethodId, &Method)> {
        let own = self.class(class).map_or(&[][..], |class| &class.methods);
        own.iter().filter_map(move |(name, descriptor)| {
            let id = self.own_method(class, *name, *descriptor)?;
            Some((id, self.method(id)))
        })
    }

    /// A class and those it extends, as far as they are known; the first unknown one last.
    pub fn line(&self, class: Name) -> Vec<Name> {
        let mut line = vec![class];
        let mut at = class;
        while let Some(parent) = self.class(at).and_then(|class| class.parent) {
            if line.contains(&parent) {
                break;
            }
            line.push(parent);
            at = parent;
        }
        line
    }

    /// Everything that a class is, itself included.
    pub fn above(&self, class: Name) -> BTreeSet<Name> {
        let mut all = BTreeSet::new();
        let mut rest = vec![class];
        while let Some(at) = rest.pop() {
            if all.insert(at) {
                let known = self.class(at);
                rest.extend(known.iter().flat_map(|class| class.parent.iter().chain(&class.interfaces)));
            }
        }
        all
    }

    /// Loaded classes that are this class or something below it.
    pub fn below(&self, class: Name) -> BTreeSet<Name> {
        let mut all = BTreeSet::new();
        let mut rest = vec![class];
        while let Some(at) = rest.pop() {
            if all.insert(at) {
                rest.extend(self.children.get(&at).into_iter().flatten());
            }
        }
        all
    }

    pub fn own_method(&self, class: Name, name: Name, descriptor: Name) -> Option<MethodId> {
        self.own.get(&(class, name, descriptor)).copied()
    }

    /// The method that a receiver of this class runs: its own, inherited, or a default of an interface.
    pub fn dispatch(&self, class: Name, name: Name, descriptor: Name) -> Option<MethodId> {
        for at in self.line(class) {
            if let Some(found) = self.own_method(at, name, descriptor) {
                let is_abstract = self.method(found).flags & access::ABSTRACT != 0;
                if !is_abstract {
                    return Some(found);
                }
            }
        }
        let declaring: Vec<Name> =
            self.above(class).into_iter().filter(|at| self.own_method(*at, name, descriptor).is_some()).collect();
        // Of several defaults the one counts that no other interface overrides.
        let is_overridden = |at: &Name| declaring.iter().any(|other| other != at && self.above(*other).contains(at));
        let most = declaring.iter().filter(|at| !is_overridden(at));
        let concrete = |at: &Name| {
            let found = self.own_method(*at, name, descriptor)?;
            (self.method(found).flags & access::ABSTRACT == 0).then_some(found)
        };
        most.into_iter().find_map(concrete)
    }

    /// Whether a class has code that is called on its objects: methods that are neither abstract nor static.
    pub fn has_own_code(&self, class: Name) -> bool {
        self.class(class).is_some_and(|own| {
            own.methods.iter().any(|(name, descriptor)| {
                let method = self.own_method(class, *name, *descriptor);
                method.is_some_and(|method| self.method(method).flags & (access::ABSTRACT | access::STATIC) == 0)
            })
        })
    }

    /// The first class of the line that is not loaded: where the library begins.
    pub fn library_parent(&self, class: Name) -> Option<Name> {
        self.line(class).into_iter().find(|at| !self.is_loaded(*at))
    }

    /// The field that a reference means: declared in the class itself, above it, or in an interface.
    pub fn field(&mut self, member: Member) -> FieldId {
        let mut declaring = member.class;
        if !self.declared.contains_key(&(declaring, member.name)) {
            let inherited = self.line(member.class).into_iter().chain(self.above(member.class));
            if let Some(found) = inherited.into_iter().find(|at| self.declared.contains_key(&(*at, member.name))) {
                declaring = found;
            }
        }
        let (flags, is_reference) = self.declared.get(&(declaring, member.name)).copied().unwrap_or_else(|| {
            let descriptor = self.names.text(member.descriptor);
            (0, descriptor.starts_with(['L', '[']))
        });
        self.field_of(declaring, member.name, flags, is_reference)
    }

    /// All fields that loaded classes declare.
    pub fn field_names(&self) -> Vec<String> {
        let name = |(class, field): &(Name, Name)| {
            let class = self.names.text(*class).replace(['/', '$'], ".");
            format!("{class}.{}", self.names.text(*field))
        };
        let mut all: Vec<String> = self.declared.keys().map(name).collect();
        all.sort_unstable();
        all
    }

    /// A field that was met before.
    pub fn known_field(&self, member: Member) -> Option<FieldId> {
        let line = self.line(member.class).into_iter().chain(self.above(member.class));
        line.into_iter().find_map(|class| self.field_ids.get(&(class, member.name)).copied())
    }

    /// The made-up field that holds what was captured as the n-th.
    pub fn captured_field(&self, index: usize) -> Option<FieldId> {
        let (own, name) = (self.names.get("")?, self.names.get(&format!("captured {index}"))?);
        self.field_ids.get(&(own, name)).copied()
    }

    /// Which captured value a made-up field holds.
    pub fn captured_index(&self, field: FieldId) -> Option<usize> {
        self.names.text(self.fields[field.0 as usize].name).strip_prefix("captured ")?.parse().ok()
    }

    /// A field by name; new ones are made up by models.
    pub fn field_of(&mut self, class: Name, name: Name, flags: u16, is_reference: bool) -> FieldId {
        if let Some(id) = self.field_ids.get(&(class, name)) {
            return *id;
        }
        let id = FieldId(self.fields.len() as u32);
        self.fields.push(Field { class, name, flags, is_reference });
        self.field_ids.insert((class, name), id);
        id
    }

    pub fn parameter_types(&self, descriptor: Name) -> Vec<String> {
        let text = self.names.text(descriptor);
        let Ok(parsed) = MethodDescriptor::parse(text.as_bytes()) else { return Vec::new() };
        parsed.parameters().map(|part| String::from_utf8_lossy(part).into_owned()).collect()
    }
}
