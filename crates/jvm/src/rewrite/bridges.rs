//! References to methods of collections (`list::add`). The class that the machine makes of one calls the collection
//! itself, and has no hooks; so each becomes a reference to a method of the class it stands in, which makes the call as
//! a lambda would.
//!
//! Guarantee: a class without such references stays as it is; others do what they did, with one more frame in the stack
//! of an exception.

use super::collections;
use crate::classfile::descriptor::{MethodDescriptor, slots};
use crate::classfile::opcode::*;
use crate::classfile::pool::{Constant, Reference};
use crate::classfile::{Attribute, ClassFile, Code, Handler, Member, Pool, Reader, Result, access, find, put_u2};
use std::borrow::Cow;
use std::collections::BTreeMap;

const METAFACTORY: &[u8] = b"java/lang/invoke/LambdaMetafactory";
/// Kinds of method handles: a call of a method of a class, of a static one, and of one of an interface.
const VIRTUAL: u8 = 5;
const STATIC: u8 = 6;
const INTERFACE: u8 = 9;

/// A reference that is to be replaced.
struct Bridged {
    /// Where the entry of the bootstrap methods has its number, from the start of the attribute.
    at: usize,
    interface: bool,
    /// The constant of the method that is meant.
    method: u16,
}

/// Where a reference stands: the method, and the line.
struct Place {
    method: Vec<u8>,
    line: u16,
}

/// The class with such methods; `None` if it needs none.
///
/// # Errors
/// If the class is malformed.
pub fn add(bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut class = ClassFile::parse(bytes)?;
    if class.is(access::INTERFACE | access::MODULE) {
        return Ok(None);
    }
    let Some(at) = class.attributes.iter().position(|own| class.pool.utf8(own.name) == Ok(b"BootstrapMethods")) else {
        return Ok(None);
    };
    let mut bridged = references(&class.pool, &class.attributes[at].bytes)?;
    if bridged.is_empty() {
        return Ok(None);
    }
    let places = places(&class, &mut bridged)?;
    if bridged.is_empty() {
        return Ok(None);
    }
    let this = class.name()?.to_vec();
    let mut table = class.attributes[at].bytes.to_vec();
    for (i, (number, own)) in bridged.into_iter().enumerate() {
        let Some(place) = places.get(&number) else { continue };
        let method = bridge(&mut class.pool, &own, place, i)?;
        let (name, descriptor) = (class.pool.utf8(method.name)?.to_vec(), class.pool.utf8(method.descriptor)?.to_vec());
        let target = class.pool.add_method(&this, &name, &descriptor)?;
        let handle = class.pool.add_method_handle(STATIC, target)?;
        table[own.at..own.at + 2].copy_from_slice(&handle.to_be_bytes());
        class.methods.push(method);
    }
    class.attributes[at].bytes = Cow::Owned(table);
    class.write().map(Some)
}

/// The references to methods of collections, by the number of their entry.
fn references(pool: &Pool<'_>, table: &[u8]) -> Result<BTreeMap<u16, Bridged>> {
    let mut found = BTreeMap::new();
    let mut reader = Reader::new(table);
    let mut next = 2;
    for number in 0..reader.u2()? {
        let (factory, arguments) = (reader.u2()?, reader.u2()?);
        let start = next + 4;
        next = start + 2 * usize::from(arguments);
        let arguments = (0..arguments).map(|_| reader.u2()).collect::<Result<Vec<u16>>>()?;
        let Constant::MethodHandle { reference: factory, .. } = pool.get(factory)? else { continue };
        let factory = pool.reference(factory)?;
        let [_, handle, _] = arguments[..] else { continue };
        if factory.class != METAFACTORY || factory.name != b"metafactory" {
            continue;
        }
        if let Constant::MethodHandle { kind: kind @ (VIRTUAL | INTERFACE), reference: method } = pool.get(handle)?
            && collections::leads_to(pool.reference(method)?.class)
        {
            found.insert(number, Bridged { at: start + 2, interface: kind == INTERFACE, method });
        }
    }
    Ok(found)
}

/// Where they are used first. One that is given another object than of the class of the method stays as it is.
fn places(class: &ClassFile<'_>, bridged: &mut BTreeMap<u16, Bridged>) -> Result<BTreeMap<u16, Place>> {
    let mut places = BTreeMap::new();
    for member in &class.methods {
        let Some(code) = find(&class.pool, &member.attributes, b"Code") else { continue };
        let code = Code::parse(&code.bytes)?;
        let lines = super::lines(class, &code)?;
        for instruction in code.instructions() {
            let instruction = instruction?;
            if instruction.op != INVOKEDYNAMIC {
                continue;
            }
            let Constant::InvokeDynamic { bootstrap, name_and_type } = class.pool.get(instruction.index())? else {
                continue;
            };
            let Some(own) = bridged.get(&bootstrap) else { continue };
            let (_, descriptor) = class.pool.name_and_type(name_and_type)?;
            let receiver = class.pool.reference(own.method)?.class;
            let captured = descriptor.split(|byte| *byte == b')').next().unwrap_or_default();
            if captured != b"(" && captured != [b"(L", receiver, b";"].concat() {
                bridged.remove(&bootstrap);
                continue;
            }
            let line = lines.iter().rev().find(|(pc, _)| u32::from(*pc) <= instruction.pc).map_or(0, |(_, line)| *line);
            let method = class.pool.utf8(member.name)?.to_vec();
            places.entry(bootstrap).or_insert(Place { method, line });
        }
    }
    Ok(places)
}

/// Which of the instructions for int, long, float, double and references, in this order, a type has.
const fn kind(first: u8) -> u8 {
    match first {
        b'J' => 1,
        b'F' => 2,
        b'D' => 3,
        b'L' | b'[' => 4,
        _ => 0,
    }
}

/// A static method that calls the one that is meant.
fn bridge<'a>(pool: &mut Pool<'_>, own: &Bridged, place: &Place, number: usize) -> Result<Member<'a>> {
    let Reference { class, descriptor, .. } = pool.reference(own.method)?;
    let rest = descriptor.strip_prefix(b"(").unwrap_or_default();
    let descriptor = [b"(L", class, b";", rest].concat();
    let parsed = MethodDescriptor::parse(&descriptor)?;
    let (mut code, mut local) = (Vec::new(), 0_u16);
    for parameter in parsed.parameters() {
        code.extend([WIDE, ILOAD + kind(parameter[0])]);
        put_u2(&mut code, local);
        local += slots(parameter[0]) as u16;
    }
    code.push(if own.interface { INVOKEINTERFACE } else { INVOKEVIRTUAL });
    put_u2(&mut code, own.method);
    if own.interface {
        code.extend([local as u8, 0]);
    }
    code.push(if parsed.result == b"V" { RETURN } else { IRETURN + kind(parsed.result[0]) });
    let mut lines = Vec::new();
    [1, 0, place.line].into_iter().for_each(|word| put_u2(&mut lines, word));
    let lines = Attribute { name: pool.add_utf8(b"LineNumberTable")?, bytes: Cow::Owned(lines) };
    let handlers: Vec<Handler> = Vec::new();
    let code = Code { max_stack: local.max(2), max_locals: local, bytes: &code, handlers, attributes: vec![lines] };
    let attribute = Attribute { name: pool.add_utf8(b"Code")?, bytes: Cow::Owned(code.write()?) };
    // As the compiler names lambdas; its own end in a number.
    let name = [b"lambda$", &place.method[..], format!("$reference{number}").as_bytes()].concat();
    let name: Vec<u8> = name.into_iter().filter(|byte| !matches!(byte, b'<' | b'>')).collect();
    Ok(Member {
        access: access::PRIVATE | access::STATIC | access::SYNTHETIC,
        name: pool.add_utf8(&name)?,
        descriptor: pool.add_utf8(&descriptor)?,
        attributes: vec![attribute],
    })
}
