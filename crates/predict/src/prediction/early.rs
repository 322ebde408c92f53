//! A text is read by the streaming analyses while it is converted: on two processors that takes as long as the slower
//! of both.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use reweave_trace::text::Format;
use reweave_trace::{Result, Trace, open_beside};

use super::stream::{self, Input};
use super::{LONG, Options, chosen, for_reading, streaming};
use crate::analysis::AnalysisRef;

/// What the analyses made of it.
pub struct Early {
    analyses: Vec<AnalysisRef>,
    read: Result<stream::Read>,
}

impl Early {
    /// If it was for these analyses.
    pub(super) fn of(self, analyses: &[AnalysisRef]) -> Option<Result<stream::Read>> {
        let ids = |analyses: &[AnalysisRef]| analyses.iter().map(|analysis| analysis.id()).collect::<Vec<_>>();
        (ids(&self.analyses) == ids(analyses)).then_some(self.read)
    }
}

/// Opens a trace in any format, for [`predict_from`](super::predict_from).
pub fn open(
    path: &Path,
    options: &Options<'_>,
    progress: &mut dyn FnMut(&'static str, f64),
) -> Result<(Trace, Option<Early>)> {
    // Which analyses there are can depend on the number of events. Should this be another one in the end (a comment is
    // a line, too), the trace is read again.
    let is_text = Format::of_file(path)? == Format::Std;
    let lines = if is_text && !options.by_name() { lines(path).unwrap_or(0) } else { 0 };
    let analyses = streaming(&chosen(lines, options));
    let limits = for_reading(&options.limits);
    let readers = if options.share.is_some() { 0 } else { stream::readers(&analyses, &limits) };
    let read = |texts: Vec<_>| {
        let inputs = texts.into_iter().map(|text| Input::Text(text, path)).collect();
        stream::read_all(inputs, &analyses, &limits, &mut |done| progress("reading", done))
    };
    let (trace, read) = open_beside(path, readers, read)?;
    Ok((trace, read.map(|read| Early { analyses, read })))
}

/// Bytes of the shortest lines of a text (`A|r(x)|1`, with its end).
const SHORTEST: u64 = 9;

/// How many lines a text has; none if it is too short for that to matter.
fn lines(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() <= LONG * SHORTEST {
        return Ok(0);
    }
    let (mut lines, mut part) = (0, vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(lines),
            len => lines += part[..len].iter().filter(|&&byte| byte == b'\n').count() as u64,
        }
    }
}
