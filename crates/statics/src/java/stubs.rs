//! Methods of function objects: made up here, as code that loads what was captured and calls the implementation.

use std::rc::Rc;

use reweave_jvm::classfile::access;

use super::classes::{Body, Classes, FieldId, MethodId};
use super::code::{BlockCode, Call, Code, Def, How, Info, Kind, Member, Place, Statement, Value};

/// The field that holds what was captured as the n-th.
pub fn captured(classes: &mut Classes<'_>, index: usize) -> FieldId {
    let member = member(classes, index);
    classes.field_of(member.class, member.name, access::FINAL, true)
}

fn member(classes: &mut Classes<'_>, index: usize) -> Member {
    let class = classes.names.add("");
    let name = classes.names.add(&format!("captured {index}"));
    Member { class, name, descriptor: classes.names.add("Ljava/lang/Object;") }
}

const NEW: u8 = 8;
const STATIC: u8 = 6;

/// Adds the method of a function object that is made in `method` at `pc`.
pub fn add(
    classes: &mut Classes<'_>,
    method: MethodId,
    count: usize,
    implementation: Member,
    kind: u8,
    pc: u32,
) -> MethodId {
    let parameters = classes.parameter_types(implementation.descriptor).len();
    let has_receiver = !matches!(kind, STATIC | NEW);
    let given = (parameters + usize::from(has_receiver)).saturating_sub(count);
    for index in 0..count {
        captured(classes, index);
    }
    let members: Vec<Member> = (0..count).map(|index| member(classes, index)).collect();
    let mut code = Code::default();
    let mut value = |def: Def| {
        code.values.push(Info { def, block: 0, pc });
        Value(code.values.len() as u32 - 1)
    };
    let own: Vec<Value> = (0..=given).map(|index| value(Def::Parameter(index as u32))).collect();
    let mut statements: Vec<Statement> = Vec::new();
    let mut arguments: Vec<Value> = Vec::new();
    if kind == NEW {
        let made = value(Def::New(implementation.class));
        statements.push(Statement { pc, kind: Kind::Define(made) });
        arguments.push(made);
    }
    for member in members {
        let loaded = value(Def::Load(Place::Field(own[0], member)));
        statements.push(Statement { pc, kind: Kind::Define(loaded) });
        arguments.push(loaded);
    }
    arguments.extend(&own[1..]);
    let returns = kind != NEW && !classes.names.text(implementation.descriptor).ends_with(")V");
    let to = returns.then(|| value(Def::Result));
    let how = match kind {
        STATIC => How::Static,
        7 | NEW => How::Special,
        _ => How::Virtual,
    };
    let result = if kind == NEW { arguments.first().copied() } else { to };
    statements.push(Statement { pc, kind: Kind::Call(Box::new(Call { to, how, method: implementation, arguments })) });
    statements.push(Statement { pc, kind: Kind::Return(result) });
    code.parameters = own;
    code.blocks = vec![BlockCode { statements, next: Vec::new(), handlers: Vec::new() }];
    let lines = classes.body(method).and_then(Result::ok).map_or(0, |body| body.line(pc));
    classes.add_method(method, Rc::new(Body::new(code, vec![(0, lines)])))
}
