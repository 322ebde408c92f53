//! Rewriting: a class file and options in, a class file with calls of the hook class and facts about it out.
//!
//! A pure function: no I/O, no machine. Guarantees: a class that needs no hooks comes out byte for byte as it was; a
//! rewritten one does what it did (values, exceptions, monitors, line numbers), if hooks return; every place that has
//! no hook although it should is listed in [`Facts::left_out`].

mod brackets;
mod bridges;
mod calls;
mod class_uses;
pub mod collections;
mod emit;
pub mod facts;
pub mod fences;
mod flow;
pub mod hook_names;
mod leaks;
mod lock_calls;
mod method;
mod probes;
pub mod queues;
mod reflected;
mod serial;
mod splice;
mod uncaught;
pub mod unsafe_calls;
pub mod wishes;

pub use facts::Facts;
use facts::{Field, LeftOut, Method, Missing};
use hook_names::{ADDRESS_FIELD, HookConstants};
pub use lock_calls::LockCall;
use method::Class;
pub use uncaught::report_uncaught;

use crate::classfile::{
    Attribute, ClassFile, Code, Malformed, Member, Reader, Result, access, decode_text, find, put_u2,
};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// What rewriting depends on besides the class.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// Number of the first site.
    pub first_site: u32,
    /// The class was loaded before us: it may get neither fields nor other flags.
    pub preloaded: bool,
    /// Whether a superclass of that name holds the address field already.
    pub has_address: &'o dyn Fn(&[u8]) -> bool,
    pub scope: Scope<'o>,
    /// Calls are put on the stacks.
    pub calls: bool,
    /// Arrays are shown to a hook when they are made.
    pub array_births: bool,
    pub stop: Stop<'o>,
}

/// What of a class gets hooks.
#[derive(Clone, Copy)]
pub enum Scope<'o> {
    Everything,
    /// Monitors, calls of `Unsafe`, and accesses to fields, of which those that are not volatile are to be left out
    /// when it is known which these are. Objects get no field for their address.
    Synchronization,
    /// The same with all accesses: classes of the JDK whose data lies behind locks of the JDK. What they do follows
    /// from what is in them.
    Guarded,
    /// The same for collections, which programs guard themselves: accesses count while the program itself has called
    /// the collection, and are then made where it did.
    Collections,
    /// Methods of these names are bracketed as class initializers are; all others stay as they are.
    Quiet(&'o [&'o [u8]]),
}

impl Scope<'_> {
    pub const fn is_everything(self) -> bool {
        matches!(self, Self::Everything)
    }

    /// Whether plain accesses are recorded.
    pub const fn has_plain(self) -> bool {
        matches!(self, Self::Everything | Self::Guarded | Self::Collections)
    }

    pub const fn is_collections(self) -> bool {
        matches!(self, Self::Collections)
    }
}

/// In front of which accesses a run may have to stop, knowing what they are about to do.
#[derive(Clone, Copy)]
pub enum Stop<'o> {
    Nowhere,
    Everywhere,
    /// Numbers of methods, and places in them.
    At(&'o HashSet<(u16, u16)>),
}

/// What comes out.
#[derive(Debug)]
pub struct Rewritten {
    /// `None` if the class stays as it is.
    pub bytes: Option<Vec<u8>>,
    pub facts: Facts,
}

/// Puts hooks into all methods of a class.
pub fn rewrite(bytes: &[u8], options: &Options<'_>) -> Result<Rewritten> {
    let bridged = if options.scope.is_everything() && !options.preloaded { bridges::add(bytes)? } else { None };
    let bytes = bridged.as_deref().unwrap_or(bytes);
    let mut class = ClassFile::parse(bytes)?;
    if class.is(access::MODULE) {
        return Ok(Rewritten { bytes: None, facts: Facts::default() });
    }
    let mut facts = names(&class)?;
    let super_name = class.super_name()?.map(<[u8]>::to_vec);
    // `Object` has no superclass and gets no field.
    let inherits = super_name.as_deref().is_none_or(|name| (options.has_address)(name));
    let may_get_fields = !options.preloaded && options.scope.is_everything();
    facts.has_address_field = may_get_fields && !class.is(access::INTERFACE) && !inherits;
    let number =
        if may_get_fields && serial::is_needed(&class)? { Some(serial::default_number(&class)?) } else { None };

    let mut changed = facts.has_address_field;
    let mut hooks = HookConstants::default();
    let mut members = HashMap::new();
    let mut methods = std::mem::take(&mut class.methods);
    for (i, member) in methods.iter_mut().enumerate() {
        let Some(at) = member.attributes.iter().position(|own| class.pool.utf8(own.name) == Ok(b"Code")) else {
            continue;
        };
        let Cow::Borrowed(bytes) = member.attributes[at].bytes else { continue };
        let code = Code::parse(bytes)?;
        if class.pool.utf8(member.name)? == b"<init>" && options.scope.is_everything() {
            facts.hands_out_this |= leaks::hands_out_this(&code, &class.pool, class.name()?)?;
        }
        let mut around = Class {
            major: class.major,
            this_class: class.this_class,
            adds_address_field: facts.has_address_field,
            pool: &mut class.pool,
            hooks: &mut hooks,
            facts: &mut facts,
            members: &mut members,
            options,
        };
        if let Some(bytes) = rewrite_method(&mut around, i as u16, member, &code)? {
            changed = true;
            member.attributes[at].bytes = Cow::Owned(bytes);
            if !options.preloaded {
                member.access &= !access::SYNCHRONIZED;
            }
        }
    }
    class.methods = methods;
    if !changed {
        return Ok(Rewritten { bytes: None, facts });
    }
    if facts.has_address_field {
        add_field(&mut class, ADDRESS_FIELD, access::PRIVATE | access::TRANSIENT | access::SYNTHETIC, None)?;
    }
    if let Some(number) = number {
        let flags = access::PRIVATE | access::STATIC | access::FINAL | access::SYNTHETIC;
        add_field(&mut class, "serialVersionUID", flags, Some(number))?;
    }
    Ok(Rewritten { bytes: Some(class.write()?), facts })
}

/// With everything; if that makes the method too long, without calls; else not at all, which the facts say.
fn rewrite_method<'a>(
    class: &mut Class<'_, 'a>,
    number: u16,
    member: &Member<'_>,
    code: &Code<'a>,
) -> Result<Option<Vec<u8>>> {
    let (constants, sites) = (class.pool.count(), class.facts.sites.len());
    for (with_calls, missing) in [(true, Missing::Calls), (false, Missing::Everything)] {
        let outcome = method::rewrite(class, number, member, code, with_calls).and_then(|spliced| {
            let Some(spliced) = spliced else { return Ok(None) };
            let code = Code {
                max_stack: spliced.max_stack,
                max_locals: spliced.max_locals,
                bytes: &spliced.code,
                handlers: spliced.handlers,
                attributes: spliced.attributes,
            };
            code.write().map(Some)
        });
        match outcome {
            Err(error) if error.is_too_large() => {
                class.pool.truncate(constants);
                class.hooks.truncate(constants);
                class.facts.sites.truncate(sites);
                class.facts.left_out.retain(|own| own.method != number);
                class.facts.left_out.push(LeftOut { method: number, what: missing });
            }
            other => return other,
        }
    }
    Ok(None)
}

fn add_field(class: &mut ClassFile<'_>, name: &str, access: u16, value: Option<i64>) -> Result<()> {
    let mut attributes = Vec::new();
    if let Some(value) = value {
        let mut bytes = Vec::new();
        put_u2(&mut bytes, class.pool.add_long(value)?);
        attributes.push(Attribute { name: class.pool.add_utf8(b"ConstantValue")?, bytes: Cow::Owned(bytes) });
    }
    let (name, descriptor) = (class.pool.add_utf8(name.as_bytes())?, class.pool.add_utf8(b"J")?);
    class.fields.push(Member { access, name, descriptor, attributes });
    Ok(())
}

/// Everything that can be said before a method is looked into.
fn names(class: &ClassFile<'_>) -> Result<Facts> {
    let text = |index: u16| class.pool.utf8(index).map(decode_text);
    let fields = class
        .fields
        .iter()
        .map(|field| Ok(Field { name: text(field.name)?, descriptor: text(field.descriptor)?, access: field.access }));
    let methods = class.methods.iter().map(|method| {
        let (length, lines) = match find(&class.pool, &method.attributes, b"Code") {
            Some(code) => {
                let code = Code::parse(&code.bytes)?;
                (code.bytes.len() as u16, lines(class, &code)?)
            }
            None => (0, Vec::new()),
        };
        let (name, descriptor) = (text(method.name)?, text(method.descriptor)?);
        Ok(Method { name, descriptor, access: method.access, length, lines })
    });
    Ok(Facts {
        name: decode_text(class.name()?),
        super_name: class.super_name()?.map(decode_text),
        source_file: class.source_file().map(decode_text),
        fields: fields.collect::<Result<_>>()?,
        methods: methods.collect::<Result<_>>()?,
        ..Facts::default()
    })
}

/// The line table of a method, sorted by place.
pub fn lines(class: &ClassFile<'_>, code: &Code<'_>) -> Result<Vec<(u16, u16)>> {
    let mut lines = Vec::new();
    for attribute in &code.attributes {
        if class.pool.utf8(attribute.name)? == b"LineNumberTable" {
            let mut reader = Reader::new(&attribute.bytes);
            for _ in 0..reader.u2()? {
                lines.push((reader.u2()?, reader.u2()?));
            }
        }
    }
    lines.sort_unstable();
    Ok(lines)
}

/// Why a class could not be rewritten at all.
pub type Error = Malformed;
