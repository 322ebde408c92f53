//! The language: what is read is what is printed, and mistakes are named with their place.

use std::fs;
use std::path::Path;

use reweave_script::language::{Error, parse, print};

/// Every statement and every form of place once.
const EVERYTHING: &str = r#"
type Node { value: i32, next: ref, "own lock": lock, changed: condition, slots: semaphore(3), meet: barrier(2) }
type "java.lang.Object" { a: i8, b: i16, c: i64, d: f32, e: f64, f: bool, g: thread }
global head: ref = null
global counters: i64[3] = 1, -2, 0x7fffffffffffffff
global ratio: f64 = 0.5
global "odd name": f32 = 1.5
global node: Node
global locks: lock[2]
global m: lock
global c: condition
global s: semaphore(1)
global b: barrier(2)

func worker(%node: ref, %n: i32) -> i32 {
entry:
  %x: i32 = const 5 @ "Worker.java":12
  %x = move %n @ "Worker.java":13:7
  %y: i32 = neg %x
  %y = not %y
  %z: i32 = add %x, 1
  %z = sub %z, %y
  %z = ushr %z, 2
  %big: i64 = conv %z
  %wide: i64 = conv unsigned %z
  %f: f64 = conv %big
  %f = mul %f, -1.5e300
  %f = add %f, inf
  %less: bool = cmp lt %x, %y
  %less = cmp uge %y, 3
  branch %less, yes, "no more"
yes:
  enter m
  enter element(locks, %x) shared
  enter %node
  enter field(%node, "Node.own lock")
  %got: bool = try enter m
  %got = try enter m shared
  wait c, m
  wait %node, %node
  %woken: bool = try wait c, m
  notify one c
  notify all field(%node, Node.changed)
  exit m
  post s
  take s
  %got = try take field(%node, Node.slots)
  %last: bool = barrier b
  barrier field(node, Node.meet)
  jump "no more"
"no more":
  %v: i32 = load field(%node, Node.value) [volatile]
  store field(%node, Node.value), %v
  store element(counters, 1), 7 [atomic release]
  %w: i64 = load element(counters, %big) [atomic acquire]
  %w = rmw add element(counters, 0), 1 [relaxed]
  %w = rmw cas element(counters, 0), 1, %w [acq_rel]
  %h: ref = rmw exchange head, null [seq_cst]
  fence seq_cst
  switch %x, 1: yes, -2: out, default: out
out:
  return %x
}

func nothing() {
entry:
  unreachable
}

func main() -> i32 {
entry:
  %p: ref = alloc Node
  %o: ref = alloc "java.lang.Object"
  %a: ref = alloc i32[%n]
  %t: thread = start worker(%p, 3)
  detach %t
  join %t
  %r: i32 = call worker(%p, -1)
  call nothing()
  %i: i64 = input
  output "r = \"", %r, "\" and ", 1
  assert true
  assert false, "never\n"
  opaque "native method" reads(head, element(counters, 0)) writes(field(node, Node.value))
  return 0
}
"#;

fn error(text: &str) -> Error {
    match parse("test.rwi", text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error,
    }
}

#[test]
fn what_is_printed_is_read_as_the_same_program() {
    let text = EVERYTHING.replace("alloc i32[%n]", "alloc i32[4]");
    let program = parse("test.rwi", &text).unwrap();
    let printed = print(&program);
    let again = parse("test.rwi", &printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(print(&again), printed);
    assert_eq!(program.statements().count(), again.statements().count());
    for ((_, one), (_, other)) in program.statements().zip(again.statements()) {
        assert_eq!((one.id, &one.kind, one.position.source), (other.id, &other.kind, other.position.source));
    }
    // Up to empty lines, quotes that are not needed and hexadecimal numbers it is the text itself.
    let lines = |text: &str| text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let expected = lines(
        &text.replace("0x7fffffffffffffff", &i64::MAX.to_string()).replace("\"java.lang.Object\"", "java.lang.Object"),
    );
    assert_eq!(lines(&printed), expected);
}

#[test]
fn golden_programs_are_read_and_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/script");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let program = parse(&path.display().to_string(), &text).unwrap_or_else(|error| panic!("{error}"));
        let printed = print(&program);
        assert_eq!(print(&parse("again", &printed).unwrap()), printed);
        seen += 1;
    }
    assert!(seen >= 10, "{seen} programs");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let body = |statement: &str| format!("global x: i32\nfunc main() {{\nentry:\n  {statement}\n  return\n}}\n");
    let cases = [
        ("global x i32", "test.rwi:1:10: expected `:`, found `i32`"),
        ("global x: lok", "test.rwi:1:11: `lok` is not a type: bool"),
        ("nonsense", "test.rwi:1:1: expected `type`, `global` or `func`, found `nonsense`"),
        ("func main() {\nentry:\n  return", "test.rwi:1: the function does not end"),
        ("func main() {\nentry:\n}", "test.rwi:2: the block `entry` does not end"),
        ("func other() {\nentry:\n  return\n}", "test.rwi:1: there is no function `main`"),
        ("global x: i32 = 1, 2", "test.rwi:1: there is room for 1 values, not 2"),
        (&body("%a = const 1"), "test.rwi:4:3: `%a` has no type yet: write `%a: TYPE = …`"),
        (&body("%a: i32 = add %b, 1"), "test.rwi:4:17: nothing has been written to `%b` above"),
        (&body("%a: bool = load x"), "test.rwi:4: the place holds i32, not bool"),
        (&body("%a: i8 = const 300"), "test.rwi:4: 300 is no value of type i8"),
        (&body("store y, 1"), "test.rwi:4:9: there is no global `y`"),
        (&body("enter x"), "test.rwi:4: expected a lock"),
        (&body("jump nowhere"), "test.rwi:4:8: this function has no block `nowhere`"),
        (&body("jump entry"), "test.rwi:5: the block has ended"),
        (&body("park"), "test.rwi:4:3: `park` is not supported by the interpreter yet: use a semaphore"),
        (&body("call virtual f()"), "virtual and indirect calls are not supported by the interpreter yet"),
        (&body("call f()"), "test.rwi:4:8: there is no function `f`"),
        (&body("call main() unwind out"), "`unwind` is not supported by the interpreter yet"),
        (&body("%a: i32 = load raw(x, 0, 4)"), "`raw` is not supported by the interpreter yet"),
        (&body("output \"never ends"), "test.rwi:4:10: the text does not end on its line"),
        (&body("store x, 1 extra"), "test.rwi:4:14: expected the end of the line, found `extra`"),
        (&body("store x, 1 [atomic acquire]"), "test.rwi:4: a store is relaxed, release or seq_cst"),
        (&body("return 1"), "test.rwi:5: the block has ended"),
        (&body("%t: thread = start main(1)"), "`main` takes 0 arguments, not 1"),
        (&body("store x, ?"), "test.rwi:4:12: `?` means nothing here"),
        (&body("store x, 99999999999999999999"), "is no number that fits into 64 bits"),
    ];
    for (text, expected) in cases {
        let error = error(text).to_string();
        assert!(error.contains(expected), "{text}\n  expected {expected}\n  got      {error}");
    }
}
