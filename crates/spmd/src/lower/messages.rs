//! Messages and collectives: who brings what, who waits for what (R13, R14, R21).
//!
//! Nothing travels with the program's messages. The k-th send of (communicator, from, to, tag) belongs
//! to the k-th *posted* receive that got (communicator, from, tag).

use std::collections::HashMap;

use crate::event::{Collective, Event, Flow};
use crate::ids::{Communicator, Moment, Rank, Request, Window};
use crate::order::{Channel, Sync};

use super::Lowering;

#[derive(Default)]
pub(super) struct Messages {
    pub(super) fence_members: HashMap<Window, u32>,
    sends: HashMap<(Communicator, Rank, i32), u32>,
    synchronous: HashMap<Request, Channel>,
    posted: u64,
    // invariant: in the order in which they were posted
    pending: Vec<Posted>,
    /// Receives that are done, by what they got: in the order in which they were posted.
    received: HashMap<(Communicator, Rank, i32), Received>,
    collectives: HashMap<Collective, Flow>,
}

struct Posted {
    order: u64,
    request: Request,
    communicator: Communicator,
    from: Option<Rank>,
    tag: Option<i32>,
    moment: Moment,
}

/// How many receives got a kind of message, and which of them others may still be posted before.
#[derive(Default)]
struct Received {
    /// Those that were posted before everything that is pending.
    settled: u32,
    later: Vec<u64>,
}

impl Lowering {
    /// Events of messages and collectives.
    pub(super) fn message(&mut self, moment: Moment, event: &Event) {
        match event {
            Event::Send { communicator, to, tag, synchronous } => {
                let number = self.messages.sends.entry((*communicator, *to, *tag)).or_default();
                *number += 1;
                let (communicator, to, tag, number, from) = (*communicator, *to, *tag, *number, self.rank);
                if let Some(request) = synchronous {
                    let taken = Channel::Taken { communicator, from, to, tag, number };
                    self.messages.synchronous.insert(*request, taken);
                }
                let brings = vec![Channel::Message { communicator, from, to, tag, number }];
                self.out.syncs.push(Sync { moment, brings, awaits: Vec::new(), voids: None });
            }
            Event::Taken { request } => {
                if let Some(taken) = self.messages.synchronous.remove(request) {
                    self.out.syncs.push(Sync { moment, brings: Vec::new(), awaits: vec![(taken, 1)], voids: None });
                }
            }
            Event::Posted { communicator, request, from, tag } => {
                self.messages.posted += 1;
                self.messages.pending.push(Posted {
                    order: self.messages.posted,
                    request: *request,
                    communicator: *communicator,
                    from: *from,
                    tag: *tag,
                    moment,
                });
            }
            Event::Received { request, from, tag } => self.received(moment, *request, *from, *tag),
            Event::Enter { collective, flow, contributes } => self.enter(moment, *collective, flow, *contributes),
            Event::Exit { collective } => self.exit(moment, *collective),
            _ => {}
        }
    }

    fn received(&mut self, moment: Moment, request: Request, from: Rank, tag: i32) {
        let messages = &mut self.messages;
        let Some(index) = messages.pending.iter().position(|posted| posted.request == request) else { return };
        let posted = messages.pending.remove(index);
        let communicator = posted.communicator;
        // Receives that were posted before, are not done, and ask for just this message took earlier
        // ones. Of those that would take others too nothing is known: counting them out names an
        // earlier message, which orders less.
        let earlier = || messages.pending.iter().take_while(|earlier| earlier.order < posted.order);
        let same = |earlier: &&Posted| earlier.communicator == communicator;
        let exact = |earlier: &&Posted| earlier.from == Some(from) && earlier.tag == Some(tag);
        let could = |earlier: &&Posted| {
            earlier.from.is_none_or(|wanted| wanted == from) && earlier.tag.is_none_or(|wanted| wanted == tag)
        };
        let ahead = earlier().filter(same).filter(exact).count() as u32;
        let certain = earlier().filter(same).filter(could).count() as u32 == ahead;
        let oldest = messages.pending.first().map_or(u64::MAX, |pending| pending.order);
        let received = messages.received.entry((communicator, from, tag)).or_default();
        let done = received.later.partition_point(|&order| order < posted.order);
        let number = received.settled + done as u32 + ahead + 1;
        received.later.insert(done, posted.order);
        let settled = received.later.partition_point(|&order| order < oldest);
        received.settled += settled as u32;
        received.later.drain(..settled);
        let to = self.rank;
        let awaits = vec![(Channel::Message { communicator, from, to, tag, number }, 1)];
        self.out.syncs.push(Sync { moment, brings: Vec::new(), awaits, voids: None });
        if certain {
            let brings = vec![Channel::Taken { communicator, from, to, tag, number }];
            self.out.syncs.push(Sync { moment: posted.moment, brings, awaits: Vec::new(), voids: None });
        }
    }

    fn enter(&mut self, moment: Moment, collective: Collective, flow: &Flow, contributes: bool) {
        let rank = self.rank;
        let brings = match flow {
            Flow::All { .. } | Flow::ToRoot { .. } if contributes => vec![Channel::Entered(collective)],
            Flow::FromRoot { root } if *root == rank => vec![Channel::Entered(collective)],
            Flow::Prefix { .. } => vec![Channel::EnteredBy(collective, rank)],
            Flow::Pairs { to, .. } => to.iter().map(|&to| Channel::EnteredFor(collective, rank, to)).collect(),
            _ => Vec::new(),
        };
        self.messages.collectives.insert(collective, flow.clone());
        self.out.syncs.push(Sync { moment, brings, awaits: Vec::new(), voids: None });
    }

    fn exit(&mut self, moment: Moment, collective: Collective) {
        let Some(flow) = self.messages.collectives.remove(&collective) else { return };
        let rank = self.rank;
        let awaits = match flow {
            Flow::All { contributors } => vec![(Channel::Entered(collective), contributors)],
            Flow::FromRoot { root } if root != rank => vec![(Channel::Entered(collective), 1)],
            Flow::ToRoot { root, contributors } if root == rank => vec![(Channel::Entered(collective), contributors)],
            Flow::Prefix { before } => {
                before.iter().map(|&before| (Channel::EnteredBy(collective, before), 1)).collect()
            }
            Flow::Pairs { from, .. } => {
                from.iter().map(|&from| (Channel::EnteredFor(collective, from, rank), 1)).collect()
            }
            _ => Vec::new(),
        };
        self.out.syncs.push(Sync { moment, brings: Vec::new(), awaits, voids: None });
    }
}
