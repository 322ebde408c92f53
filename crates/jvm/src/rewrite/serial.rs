//! The `serialVersionUID` that a class would have: it is made of the class's names and flags, so a class whose flags
//! are changed gets the old number as a field (Java Object Serialization Specification, 4.6).

use crate::classfile::{ClassFile, Member, Result, access};

/// Whether the number depends on what rewriting changes, and the class does not say it itself.
pub fn is_needed(class: &ClassFile<'_>) -> Result<bool> {
    if class.is(access::INTERFACE) || class.interfaces.is_empty() && class.super_name()? == Some(b"java/lang/Object") {
        return Ok(false);
    }
    // Enumerations have no number, records always 0.
    if matches!(class.super_name()?, None | Some(b"java/lang/Enum" | b"java/lang/Record")) {
        return Ok(false);
    }
    for field in &class.fields {
        if class.pool.utf8(field.name)? == b"serialVersionUID" {
            return Ok(false);
        }
    }
    Ok(class.methods.iter().any(|method| method.is(access::SYNCHRONIZED) && !method.is(access::PRIVATE)))
}

/// The number, computed as `ObjectStreamClass` does.
pub fn default_number(class: &ClassFile<'_>) -> Result<i64> {
    let mut out = Vec::new();
    put_text(&mut out, &dotted(class.name()?));
    let mut flags = u32::from(class_flags(class)?);
    if class.is(access::INTERFACE) {
        // As the JDK does it: an interface is abstract exactly if it has methods.
        let abstract_flag = u32::from(access::ABSTRACT);
        flags = if class.methods.is_empty() { flags & !abstract_flag } else { flags | abstract_flag };
    }
    out.extend_from_slice(&flags.to_be_bytes());
    let mut interfaces =
        class.interfaces.iter().map(|index| Ok(dotted(class.pool.class_name(*index)?))).collect::<Result<Vec<_>>>()?;
    interfaces.sort_unstable();
    for interface in &interfaces {
        put_text(&mut out, interface);
    }
    put_fields(class, &mut out)?;
    let is = |method: &&Member<'_>, name: &[u8]| class.pool.utf8(method.name).is_ok_and(|own| own == name);
    if class.methods.iter().any(|method| is(&method, b"<clinit>")) {
        put_member(&mut out, b"<clinit>", access::STATIC, b"()V");
    }
    put_methods(class, class.methods.iter().filter(|method| is(method, b"<init>")), &mut out)?;
    let methods = class.methods.iter().filter(|method| !is(method, b"<init>") && !is(method, b"<clinit>"));
    put_methods(class, methods, &mut out)?;
    let digest = sha1(&out);
    Ok(i64::from_le_bytes([digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7]]))
}

/// Flags as `Class.getModifiers` tells them: for a nested class, those of the `InnerClasses` attribute.
fn class_flags(class: &ClassFile<'_>) -> Result<u16> {
    let mut flags = class.access;
    if let Some(attribute) = class.attribute(b"InnerClasses") {
        for row in attribute.bytes.get(2..).unwrap_or_default().chunks_exact(8) {
            let index = u16::from_be_bytes([row[0], row[1]]);
            if class.pool.class_name(index)? == class.name()? {
                flags = u16::from_be_bytes([row[6], row[7]]);
            }
        }
    }
    Ok(flags & (access::PUBLIC | access::FINAL | access::INTERFACE | access::ABSTRACT))
}

fn put_fields(class: &ClassFile<'_>, out: &mut Vec<u8>) -> Result<()> {
    const KEPT: u16 = access::PUBLIC
        | access::PRIVATE
        | access::PROTECTED
        | access::STATIC
        | access::FINAL
        | access::VOLATILE
        | access::TRANSIENT;
    let mut fields = class.fields.iter().collect::<Vec<_>>();
    fields.sort_by_key(|field| class.pool.utf8(field.name).unwrap_or_default());
    for field in fields {
        if !field.is(access::PRIVATE) || !field.is(access::STATIC | access::TRANSIENT) {
            put_member(out, class.pool.utf8(field.name)?, field.access & KEPT, class.pool.utf8(field.descriptor)?);
        }
    }
    Ok(())
}

fn put_methods<'m>(
    class: &ClassFile<'_>,
    methods: impl Iterator<Item = &'m Member<'m>>,
    out: &mut Vec<u8>,
) -> Result<()> {
    const KEPT: u16 = access::PUBLIC
        | access::PRIVATE
        | access::PROTECTED
        | access::STATIC
        | access::FINAL
        | access::SYNCHRONIZED
        | access::NATIVE
        | access::ABSTRACT
        | access::STRICT;
    let mut rows = methods
        .filter(|method| !method.is(access::PRIVATE))
        .map(|method| Ok((class.pool.utf8(method.name)?, dotted(class.pool.utf8(method.descriptor)?), method.access)))
        .collect::<Result<Vec<_>>>()?;
    rows.sort_unstable_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    for (name, descriptor, flags) in rows {
        put_member(out, name, flags & KEPT, &descriptor);
    }
    Ok(())
}

fn put_member(out: &mut Vec<u8>, name: &[u8], flags: u16, descriptor: &[u8]) {
    put_text(out, name);
    out.extend_from_slice(&u32::from(flags).to_be_bytes());
    put_text(out, descriptor);
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u16).to_be_bytes());
    out.extend_from_slice(text);
}

fn dotted(name: &[u8]) -> Vec<u8> {
    name.iter().map(|byte| if *byte == b'/' { b'.' } else { *byte }).collect()
}

/// SHA-1 (FIPS 180-4), here only because the specification above asks for it.
fn sha1(message: &[u8]) -> [u8; 20] {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words = [0u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for i in 16..80 {
            words[i] = (words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (i, word) in words.iter().enumerate() {
            let (mix, constant) = match i / 20 {
                0 => (b & c | !b & d, 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => (b & c | b & d | c & d, 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6u32),
            };
            let next = a.rotate_left(5).wrapping_add(mix).wrapping_add(e).wrapping_add(constant).wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (own, new) in state.iter_mut().zip([a, b, c, d, e]) {
            *own = own.wrapping_add(new);
        }
    }
    let mut digest = [0; 20];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

#[cfg(test)]
mod tests {
    #[test]
    fn sha1_of_known_messages() {
        let hex = |message: &[u8]| super::sha1(message).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(b""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(hex(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}
