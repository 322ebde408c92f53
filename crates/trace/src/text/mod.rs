//! Traces as text: STD (`thread|op(operand)|location`, what researchers exchange), CSV and JSON lines (ours, lossless
//! for events and stacks). Everything comes in as the same [`Trace`], whatever it was.

mod fields;
mod lines;
mod std_format;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

pub use std_format::LeftOut;
pub(crate) use std_format::thread_names;

use crate::format::Growing;
use crate::format::growing::Readers;
use crate::format::v1::FILE_MAGIC;
use crate::{Error, Meta, Result, Trace, TraceBuilder};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Our file format.
    Rwt,
    Std,
    Csv,
    JsonLines,
}

impl Format {
    /// By the extension of a file name.
    pub fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "rwt" => Some(Self::Rwt),
            "std" => Some(Self::Std),
            "csv" => Some(Self::Csv),
            "jsonl" | "json" | "ndjson" => Some(Self::JsonLines),
            _ => None,
        }
    }

    /// By how the file starts, for files without a telling name.
    fn of_content(start: &[u8]) -> Option<Self> {
        let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
        match start.first()? {
            _ if start.starts_with(&FILE_MAGIC) => Some(Self::Rwt),
            b'{' => Some(Self::JsonLines),
            _ if start.starts_with(lines::CSV_START.as_bytes()) => Some(Self::Csv),
            _ if line.iter().filter(|&&byte| byte == b'|').count() == 2 => Some(Self::Std),
            _ => None,
        }
    }

    /// By name, or else by content.
    pub fn of_file(path: &Path) -> Result<Self> {
        let mut start = Vec::new();
        let file = File::open(path).map_err(Error::io(path))?;
        file.take(512).read_to_end(&mut start).map_err(Error::io(path))?;
        if start.starts_with(&FILE_MAGIC) {
            return Ok(Self::Rwt);
        }
        // A file that is none of the text formats gets the message that says how to make a trace.
        Ok(Self::of_name(path).or_else(|| Self::of_content(&start)).unwrap_or(Self::Rwt))
    }
}

/// Opens a trace in any format; text is converted in memory.
pub fn open(path: impl AsRef<Path>) -> Result<Trace> {
    let path = path.as_ref();
    match Format::of_file(path)? {
        Format::Rwt => Trace::open(path),
        format => convert_in_memory(path, format, Readers::default()),
    }
}

/// As [`open`]; while a text in STD form is converted, `read` gets its events, once for each of so many readers. What it
/// returns is returned, or `None` where there was nothing to read meanwhile.
///
/// Such a text has reads and writes, locks, forks and joins, and atomic blocks: nothing else.
pub fn open_beside<R>(
    path: impl AsRef<Path>,
    readers: usize,
    read: impl FnOnce(Vec<Growing>) -> R,
) -> Result<(Trace, Option<R>)> {
    let path = path.as_ref();
    let is_worth_it = readers > 0 && thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    if !is_worth_it || Format::of_file(path)? != Format::Std {
        return Ok((open(path)?, None));
    }
    let (readers, growing) = Readers::new(readers);
    thread::scope(|scope| {
        let convert = || convert_in_memory(path, Format::Std, readers);
        let Ok(converting) = thread::Builder::new().name("convert".into()).spawn_scoped(scope, convert) else {
            // No thread to be had.
            return Ok((open(path)?, None));
        };
        let read = read(growing);
        let trace = converting.join().unwrap_or_else(|why| resume_unwind(why))?;
        Ok((trace, Some(read)))
    })
}

fn convert_in_memory(path: &Path, format: Format, readers: Readers) -> Result<Trace> {
    let mut builder = TraceBuilder::new(&Meta::default()).unpacked(readers);
    let finish = import(path, format, &mut builder)?;
    builder.open(finish.footer, &finish.symbols)
}

/// Converts between formats, chosen by the names. Tells what the output format could not express.
pub fn convert(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<LeftOut> {
    let (from, to) = (from.as_ref(), to.as_ref());
    let Some(format) = Format::of_name(to) else {
        let what = "no trace format has this extension: use .rwt, .std, .csv or .jsonl".to_owned();
        return Err(Error::Unsupported { path: to.to_owned(), what });
    };
    if let (Ok(a), Ok(b)) = (from.canonicalize(), to.canonicalize())
        && a == b
    {
        let what = "input and output are the same file: give another name for the output".to_owned();
        return Err(Error::Unsupported { path: to.to_owned(), what });
    }
    let trace = open(from)?;
    if format == Format::Rwt {
        copy(&trace, to)?;
        return Ok(LeftOut::default());
    }
    let mut out = BufWriter::new(File::create(to).map_err(Error::io(to))?);
    let left_out = export(&trace, format, &mut out)?;
    out.flush().map_err(Error::io(to))?;
    Ok(left_out)
}

/// Writes a trace as text.
pub fn export(trace: &Trace, format: Format, out: &mut dyn Write) -> Result<LeftOut> {
    match format {
        Format::Std => std_format::export(trace, out),
        Format::Csv => lines::export(trace, lines::Shape::Csv, out).map(|()| LeftOut::default()),
        Format::JsonLines => lines::export(trace, lines::Shape::Json, out).map(|()| LeftOut::default()),
        Format::Rwt => {
            let what = "our own format is a file, not a stream".to_owned();
            Err(Error::Unsupported { path: trace.path().to_owned(), what })
        }
    }
}

/// What an importer knows only at the end.
struct Finish {
    footer: crate::Footer,
    symbols: crate::Symbols,
}

fn import(path: &Path, format: Format, builder: &mut TraceBuilder) -> Result<Finish> {
    if format == Format::Std {
        return std_format::import(path, builder);
    }
    let file = BufReader::with_capacity(1 << 20, File::open(path).map_err(Error::io(path))?);
    let lines = Lines { path, from: Box::new(file), text: String::new(), number: 0 };
    match format {
        Format::Csv => lines::import(lines, lines::Shape::Csv, builder),
        _ => lines::import(lines, lines::Shape::Json, builder),
    }
}

/// Every readable event once more, into a new file: makes a whole file of a damaged one.
fn copy(trace: &Trace, to: &Path) -> Result<()> {
    let mut builder = TraceBuilder::create(to, trace.meta())?;
    for (stack, parent, pc) in trace.stacks().sorted() {
        builder.define_stack(stack, parent, pc)?;
    }
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        builder.set_stack(event.thread, event.stack);
        builder.skip_to(event.id)?;
        builder.push(event.thread, event.pc, event.op)?;
    }
    builder.finish(trace.footer().cloned().unwrap_or_default(), Some(trace.symbols()))?;
    Ok(())
}

/// Lines of a text file with their numbers.
struct Lines<'a> {
    path: &'a Path,
    from: Box<dyn BufRead>,
    text: String,
    number: usize,
}

impl Lines<'_> {
    /// The next line that is not empty, without its end.
    fn next(&mut self) -> Result<Option<&str>> {
        loop {
            self.text.clear();
            self.number += 1;
            let read = self.from.read_line(&mut self.text).map_err(|error| match error.kind() {
                std::io::ErrorKind::InvalidData => self.fail("not text"),
                _ => Error::io(self.path)(error),
            })?;
            if read == 0 {
                return Ok(None);
            }
            if !self.text.trim().is_empty() {
                break;
            }
        }
        Ok(Some(self.text.trim()))
    }

    fn fail(&self, what: impl Into<String>) -> Error {
        Error::Text { path: self.path.to_owned(), line: self.number, what: what.into() }
    }
}
