//! Schedules out of traces, and schedules as text (`.rws`): people read them.
//!
//! ```text
//! reweave schedule 1
//! # thread INDEX main | child NTH of PARENT | foreign K
//! thread 0 main
//! thread 1 child 0 of 0
//! # run THREAD STEPS [revoked | at-once]
//! run 0 15
//! run 1 4 revoked
//! ```

use std::fmt::Write as _;
use std::path::Path;

use reweave_model::{Descent, Op, Schedule, Segment, ThreadId, ThreadName};

use crate::{Error, Result, Trace};

const HEADER: &str = "reweave schedule ";
const VERSION: u32 = 1;

/// Who ran for how many steps in this trace.
pub fn schedule_of(trace: &Trace) -> Result<Schedule> {
    let mut descent = Descent::default();
    let mut schedule = Schedule::default();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        let thread = descent.see(&event);
        if event.op.is_step() {
            schedule.push(thread, 1);
        } else if event.op == Op::Stopped {
            schedule.stop_at_once(thread);
        } else if event.op == Op::Revoked && !schedule.revoke(thread) {
            // It had the token but took no step.
            schedule.segments.push(Segment { thread, steps: 0, revoked: true, at_once: false });
        }
    }
    schedule.threads = descent.names().to_vec();
    Ok(schedule)
}

/// The schedule as text.
pub fn to_text(schedule: &Schedule) -> String {
    let mut text = format!("{HEADER}{VERSION}\n");
    for (index, thread) in schedule.threads.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = match *thread {
            ThreadName { parent: u32::MAX, .. } => writeln!(text, "thread {index} main"),
            ThreadName { nth, .. } if nth & ThreadName::FOREIGN != 0 => {
                writeln!(text, "thread {index} foreign {}", nth & !ThreadName::FOREIGN)
            }
            ThreadName { parent, nth } => writeln!(text, "thread {index} child {nth} of {parent}"),
        };
    }
    for segment in &schedule.segments {
        let how = match segment {
            Segment { revoked: true, .. } => " revoked",
            Segment { at_once: true, .. } => " at-once",
            _ => "",
        };
        let _ = writeln!(text, "run {} {}{how}", segment.thread, segment.steps);
    }
    text
}

/// # Errors
/// The line number and what is wrong with it.
pub fn from_text(text: &str) -> Result<Schedule, (usize, String)> {
    let mut schedule = Schedule::default();
    let mut version = None;
    for (number, line) in text.lines().enumerate().map(|(i, line)| (i + 1, line)) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let fail = |what: &str| (number, format!("{what}: `{line}`"));
        if version.is_none() {
            let found = line.strip_prefix(HEADER).and_then(|rest| rest.trim().parse::<u32>().ok());
            match found {
                Some(found) if found > VERSION => {
                    let what = format!("schedule format {found} is newer than this build ({VERSION}): upgrade");
                    return Err((number, what));
                }
                Some(found) => version = Some(found),
                None => return Err(fail("not a schedule: the first line must be `reweave schedule 1`")),
            }
            continue;
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let int = |word: &str| word.parse::<u32>().map_err(|_| fail("not a number"));
        match words[..] {
            ["thread", index, ref rest @ ..] => {
                if int(index)? as usize != schedule.threads.len() {
                    return Err(fail(&format!("threads are numbered in order: expected {}", schedule.threads.len())));
                }
                let name = match *rest {
                    ["main"] => ThreadName::MAIN,
                    ["foreign", k] if int(k)? < ThreadName::FOREIGN => {
                        ThreadName { parent: 0, nth: ThreadName::FOREIGN | int(k)? }
                    }
                    ["child", nth, "of", parent] => ThreadName { parent: int(parent)?, nth: int(nth)? },
                    _ => return Err(fail("expected `main`, `child N of P` or `foreign N`")),
                };
                if name != ThreadName::MAIN && name.parent as usize >= schedule.threads.len() {
                    return Err(fail("a thread's parent must stand before it"));
                }
                schedule.threads.push(name);
            }
            ["run", thread, steps, ref rest @ ..] => {
                let (thread, steps) = (ThreadId(int(thread)?), int(steps)?);
                if thread.index() >= schedule.threads.len() {
                    return Err(fail("no such thread above"));
                }
                let (revoked, at_once) = match *rest {
                    [] => (false, false),
                    ["revoked"] => (true, false),
                    ["at-once"] => (false, true),
                    _ => return Err(fail("expected nothing, `revoked` or `at-once` after the steps")),
                };
                schedule.segments.push(Segment { thread, steps, revoked, at_once });
            }
            _ => return Err(fail("expected `thread …` or `run …`")),
        }
    }
    if version.is_none() {
        return Err((1, "not a schedule: it is empty".to_owned()));
    }
    Ok(schedule)
}

pub fn save(schedule: &Schedule, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    std::fs::write(path, to_text(schedule)).map_err(Error::io(path))
}

pub fn load(path: impl AsRef<Path>) -> Result<Schedule> {
    let path = path.as_ref();
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    from_text(&text).map_err(|(line, what)| Error::Text { path: path.to_owned(), line, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives() {
        let schedule = Schedule {
            threads: vec![
                ThreadName::MAIN,
                ThreadName { parent: 0, nth: 0 },
                ThreadName { parent: 0, nth: ThreadName::FOREIGN | 3 },
                ThreadName { parent: 1, nth: 7 },
            ],
            segments: vec![
                Segment { thread: ThreadId(0), steps: 15, revoked: false, at_once: true },
                Segment { thread: ThreadId(3), steps: 0, revoked: true, at_once: false },
                Segment { thread: ThreadId(1), steps: 4, revoked: false, at_once: false },
            ],
        };
        assert_eq!(from_text(&to_text(&schedule)), Ok(schedule));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, part) in [
            ("", 1, "empty"),
            ("thread 0 main", 1, "first line"),
            ("reweave schedule 2", 1, "newer"),
            ("reweave schedule 1\n# x\nthread 1 main", 3, "in order"),
            ("reweave schedule 1\nthread 0 child 0 of 0", 2, "parent"),
            ("reweave schedule 1\nthread 0 main\nrun 1 3", 3, "no such thread"),
            ("reweave schedule 1\nthread 0 main\nrun 0 x", 3, "not a number"),
            ("reweave schedule 1\nthread 0 main\nrun 0 3 later", 3, "revoked"),
        ] {
            let (found, what) = from_text(text).expect_err(text);
            assert_eq!(found, line, "{text}");
            assert!(what.contains(part), "{text}: {what}");
        }
    }
}
