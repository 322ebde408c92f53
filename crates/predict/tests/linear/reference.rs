//! The definitions themselves, by sets of events: slow, short, and sharing nothing with the analyses but the dense
//! form.

use std::collections::{BTreeMap, BTreeSet};

use reweave_model::{EventId, LockMode, Pc};
use reweave_predict::linear::{Access, Candidates, Channel, Linear, Lock, Sync, Thread, Touch, Word};

/// A set of steps.
type Set = u128;
pub const MAX_STEPS: usize = 128;

pub type PcPairs = BTreeSet<(u64, u64)>;

#[derive(Clone)]
enum Step {
    Access(Access, Vec<Touch>),
    Sync(Sync),
}

struct Section {
    lock: Lock,
    mode: LockMode,
    acquired: usize,
    released: Option<usize>,
    /// From the acquisition to the release.
    steps: Set,
}

/// Takes down the dense form of a trace.
#[derive(Default)]
pub struct Definitions {
    steps: Vec<(Thread, Step)>,
    /// By step: what was forgotten before it.
    forgotten: Vec<(usize, Word)>,
}

impl Linear for Definitions {
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        self.steps.push((access.thread, Step::Access(*access, touched.to_vec())));
    }
    fn left_out(&mut self, words: u64) {
        assert_eq!(words, 0, "the definitions look at everything");
    }
    fn sync(&mut self, _: EventId, thread: Thread, sync: Sync) {
        self.steps.push((thread, Step::Sync(sync)));
    }
    fn forget(&mut self, word: Word) {
        self.forgotten.push((self.steps.len(), word));
    }
    fn finish(&mut self) -> Candidates {
        Candidates::default()
    }
}

const fn bit(step: usize) -> Set {
    1 << step
}

fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..MAX_STEPS).filter(move |&step| set & bit(step) != 0)
}

/// What comes before each step, given what comes directly before; edges go forward.
fn closed(direct: &[Set]) -> Vec<Set> {
    let mut all: Vec<Set> = Vec::new();
    for &before in direct {
        all.push(members(before).fold(before, |set, step| set | all[step]));
    }
    all
}

fn exclude(one: LockMode, two: LockMode) -> bool {
    one == LockMode::Exclusive || two == LockMode::Exclusive
}

impl Definitions {
    pub fn fits(&self) -> bool {
        self.steps.len() <= MAX_STEPS
    }

    /// Direct edges of program order and synchronization without locks.
    fn hard(&self, firm_only: bool) -> Vec<Set> {
        let mut last: BTreeMap<Thread, usize> = BTreeMap::new();
        let mut pending: BTreeMap<Thread, Set> = BTreeMap::new();
        let mut channels: BTreeMap<Channel, Set> = BTreeMap::new();
        let mut direct = Vec::new();
        for (i, (thread, step)) in self.steps.iter().enumerate() {
            let mut before = pending.remove(thread).unwrap_or(0);
            before |= last.insert(*thread, i).map_or(0, bit);
            match *step {
                Step::Sync(Sync::Fork { child }) => *pending.entry(child).or_default() |= bit(i),
                Step::Sync(Sync::Join { child }) => {
                    before |= last.get(&child).copied().map_or(0, bit) | pending.get(&child).copied().unwrap_or(0);
                }
                Step::Sync(Sync::Publish { channel, fresh, firm }) if firm || !firm_only => {
                    let old = if fresh { 0 } else { channels.get(&channel).copied().unwrap_or(0) };
                    channels.insert(channel, old | bit(i));
                }
                Step::Sync(Sync::Observe { channel, firm }) if firm || !firm_only => {
                    before |= channels.get(&channel).copied().unwrap_or(0);
                }
                Step::Sync(Sync::Copy { from, to, fresh }) if !firm_only => {
                    let old = if fresh { 0 } else { channels.get(&to).copied().unwrap_or(0) };
                    channels.insert(to, old | channels.get(&from).copied().unwrap_or(0));
                }
                Step::Sync(Sync::Clear { channel }) => drop(channels.remove(&channel).is_some()),
                _ => {}
            }
            direct.push(before);
        }
        direct
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for (i, (thread, step)) in self.steps.iter().enumerate() {
            for section in sections.iter_mut().filter(|s| s.released.is_none()) {
                if self.steps[section.acquired].0 == *thread {
                    section.steps |= bit(i);
                }
            }
            match *step {
                Step::Sync(Sync::Acquire { lock, mode }) => {
                    sections.push(Section { lock, mode, acquired: i, released: None, steps: bit(i) });
                }
                Step::Sync(Sync::Release { lock, mode }) => {
                    let is = |s: &&mut Section| {
                        s.released.is_none() && (s.lock, s.mode) == (lock, mode) && self.steps[s.acquired].0 == *thread
                    };
                    sections.iter_mut().rev().find(is).expect("the front refuses others").released = Some(i);
                }
                _ => {}
            }
        }
        sections
    }

    fn happens_before(&self) -> Vec<Set> {
        let mut direct = self.hard(false);
        for (i, before) in direct.iter_mut().enumerate() {
            for j in 0..i {
                if let (Step::Sync(Sync::Release { lock, mode }), Step::Sync(Sync::Acquire { lock: other, mode: how })) =
                    (&self.steps[j].1, &self.steps[i].1)
                    && lock == other
                    && exclude(*mode, *how)
                {
                    *before |= bit(j);
                }
            }
        }
        direct
    }

    /// The writes that each step reads from.
    fn sources(&self) -> Vec<Set> {
        let mut last: BTreeMap<(Word, u8), usize> = BTreeMap::new();
        let mut forgotten = self.forgotten.iter().peekable();
        let mut all = Vec::new();
        for (i, (_, step)) in self.steps.iter().enumerate() {
            while let Some((_, word)) = forgotten.next_if(|(at, _)| *at <= i) {
                last.retain(|(other, _), _| other != word);
            }
            let mut sources = 0;
            if let Step::Access(access, touched) = step {
                for touch in touched {
                    for byte in (0..8).filter(|byte| touch.mask >> byte & 1 != 0) {
                        if access.kind.reads() {
                            sources |= last.get(&(touch.word, byte)).copied().map_or(0, bit);
                        }
                        if access.kind.writes() {
                            last.insert((touch.word, byte), i);
                        }
                    }
                }
            }
            all.push(sources);
        }
        all
    }

    fn access(&self, step: usize) -> Option<(&Access, &[Touch])> {
        match &self.steps[step].1 {
            Step::Access(access, touched) => Some((access, touched)),
            Step::Sync(_) => None,
        }
    }

    /// Whether they touch a common byte in one life of it, one writes, and the threads differ.
    fn clash(&self, one: usize, two: usize) -> bool {
        let (Some((a, at)), Some((b, bt))) = (self.access(one), self.access(two)) else { return false };
        let same_life = |word: Word| {
            !self.forgotten.iter().any(|&(at, gone)| gone == word && one.min(two) < at && at <= one.max(two))
        };
        let share = at.iter().any(|x| bt.iter().any(|y| x.word == y.word && x.mask & y.mask != 0 && same_life(x.word)));
        share && a.thread != b.thread && (a.kind.writes() || b.kind.writes())
    }

    /// Conflicting pairs for which `race` holds.
    fn pairs(&self, race: impl Fn(usize, usize) -> bool) -> PcPairs {
        let mut pairs = PcPairs::new();
        for j in 0..self.steps.len() {
            for i in 0..j {
                let (Some((a, _)), Some((b, _))) = (self.access(i), self.access(j)) else { continue };
                if self.clash(i, j) && a.kind.conflicts(b.kind) && race(i, j) {
                    let (Pc(one), Pc(two)) = (a.pc, b.pc);
                    pairs.insert((one.min(two), one.max(two)));
                }
            }
        }
        pairs
    }

    pub fn hb(&self) -> PcPairs {
        let before = closed(&self.happens_before());
        self.pairs(|i, j| before[j] & bit(i) == 0)
    }

    pub fn shb(&self) -> PcPairs {
        let direct = self.happens_before();
        let sources = self.sources();
        let with: Vec<Set> = direct.iter().zip(&sources).map(|(a, b)| a | b).collect();
        let before = closed(&with);
        self.pairs(|i, j| members(direct[j]).fold(direct[j], |set, step| set | before[step]) & bit(i) == 0)
    }

    pub fn lockset(&self) -> PcPairs {
        let before = closed(&self.hard(true));
        let sections = self.sections();
        let held = |step| sections.iter().filter(move |s| s.steps & bit(step) != 0);
        let apart = |i, j| held(i).any(|a| held(j).any(|b| a.lock == b.lock && exclude(a.mode, b.mode)));
        self.pairs(|i, j| before[j] & bit(i) == 0 && !apart(i, j))
    }

    /// Rules (a) to (c); `late` says where an edge of (a) and one of (b) lead.
    fn precedence(&self, weak: bool) -> PcPairs {
        let n = self.steps.len();
        let happens_before = closed(&self.happens_before());
        let hard = closed(&self.hard(false));
        let sections = self.sections();
        let mut edges: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut precedes = vec![0; n];
        loop {
            let count = edges.len();
            for one in &sections {
                for two in &sections {
                    let Some(end) = one.released.filter(|&end| end < two.acquired) else { continue };
                    let (a, b) = (self.steps[one.acquired].0, self.steps[two.acquired].0);
                    if one.lock != two.lock || a == b || !exclude(one.mode, two.mode) {
                        continue;
                    }
                    for e in members(one.steps) {
                        for f in members(two.steps) {
                            if self.clash(e, f) {
                                edges.insert((end, if weak { f } else { two.acquired }));
                            }
                            if (precedes[f] | hard[f]) & bit(e) != 0 {
                                match (weak, two.released) {
                                    (true, Some(released)) => drop(edges.insert((end, released))),
                                    (true, None) => {}
                                    (false, _) => drop(edges.insert((end, two.acquired))),
                                }
                            }
                        }
                    }
                }
            }
            if edges.len() == count {
                break;
            }
            for &(from, to) in &edges {
                for (j, before) in happens_before.iter().enumerate() {
                    if j == to || before & bit(to) != 0 {
                        precedes[j] |= happens_before[from] | bit(from);
                    }
                }
            }
        }
        self.pairs(|i, j| (precedes[j] | hard[j]) & bit(i) == 0)
    }

    pub fn wcp(&self) -> PcPairs {
        self.precedence(true)
    }

    pub fn cp(&self) -> PcPairs {
        self.precedence(false)
    }

    pub fn syncp(&self) -> PcPairs {
        let direct = self.hard(false);
        let sources = self.sources();
        let with: Vec<Set> = direct.iter().zip(&sources).map(|(a, b)| a | b).collect();
        let before = closed(&with);
        let sections = self.sections();
        self.pairs(|i, j| {
            let start = direct[i] | direct[j];
            let mut ideal = members(start).fold(start, |set, step| set | before[step]);
            loop {
                let old = ideal;
                for one in sections.iter().filter(|s| old & bit(s.acquired) != 0) {
                    let needed = sections.iter().any(|two| {
                        ideal & bit(two.acquired) != 0
                            && one.lock == two.lock
                            && self.steps[one.acquired].0 != self.steps[two.acquired].0
                            && one.acquired < two.acquired
                            && exclude(one.mode, two.mode)
                    });
                    match one.released {
                        Some(released) if needed => ideal |= bit(released) | before[released],
                        None if needed => return false,
                        _ => {}
                    }
                }
                if ideal == old {
                    return ideal & (bit(i) | bit(j)) == 0;
                }
            }
        })
    }
}
