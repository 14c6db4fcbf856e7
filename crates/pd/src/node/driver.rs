//! The task that drives a member's group: inputs in, turns out, one at a time.
//!
//! Each round takes all inputs that wait, then takes turns until nothing is left to do; one turn is one synced write, whatever the number of
//! proposals in it. Writes run on a thread that may wait for the disk. A failed write ends the member: what it promised may be lost.

use std::{collections::HashMap, sync::Arc};

use env::{CancelReason, Instant};
use prost::Message as _;
use proto::{
    pdpb::Member,
    pdstate::{Command, SnapshotFile},
};
use protobuf::Message as _;
use raft::eraftpb::{ConfChange, ConfChangeType, Entry, EntryType, Message, MessageType};
use tokio::sync::{mpsc, oneshot};

use super::{LEASE, Node, NodeStatus, TICK, Transport, leading};
use crate::{
    Error, Result,
    core::{Answer, State},
    group::{ELECTION_TICKS, FIRST_INDEX, GroupDisk, LogWrite, RaftGroup, Recovered, Turn},
};

/// Entries behind a snapshot after which a new one is made.
const SNAPSHOT_ENTRIES: usize = 10_000;
/// Bytes of them.
const SNAPSHOT_BYTES: usize = 64 << 20;
/// Inputs taken in one round.
const ROUND: usize = 4096;
/// Ticks between looks at who can be reached and who has caught up.
const HOUSEKEEPING_TICKS: u64 = 5;

/// What the driver is told.
pub(crate) enum Input {
    Message { message: Box<Message>, from_url: String },
    Propose { command: Box<Command>, reply: oneshot::Sender<Result<Answer>> },
    Change { change: Box<ConfChange>, reply: oneshot::Sender<Result<Answer>> },
    Confirm(oneshot::Sender<Result<()>>),
    Transfer { to: u64 },
    Unreachable(u64),
    SnapshotSent { member: u64, delivered: bool },
    Stop(oneshot::Sender<()>),
}

type Reply = oneshot::Sender<Result<Answer>>;

/// A question to the majority that is under way, and those that wait for the next one.
#[derive(Default)]
struct Confirmations {
    asked: Option<(u64, Instant)>,
    waiting: Vec<oneshot::Sender<Result<()>>>,
    next: Vec<oneshot::Sender<Result<()>>>,
}

pub(crate) struct Driver {
    pub(super) node: Arc<Node>,
    pub(super) group: RaftGroup,
    pub(super) disk: Arc<dyn GroupDisk>,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) inputs: mpsc::UnboundedReceiver<Input>,
    pub(super) on_fatal: Box<dyn Fn(&Error) + Send + Sync>,
    /// Where members can be reached that the state does not know (yet).
    pub(super) addresses: HashMap<u64, Vec<String>>,
    /// The last entry applied.
    pub(super) applied: u64,
    replies: HashMap<u64, Reply>,
    confirmations: Confirmations,
    next_context: u64,
    ticks: u64,
    /// The term whose predecessors' entries are all applied.
    caught_up_term: u64,
    /// The term in which leadership was handed over: a lease counts no more in it.
    transfer_term: u64,
    /// Until this tick no votes are given: before a restart this member may have confirmed a leader, whose lease still holds.
    votes_from_tick: u64,
}

impl Driver {
    pub(super) fn new(
        node: Arc<Node>,
        group: RaftGroup,
        parts: super::Parts,
        inputs: mpsc::UnboundedReceiver<Input>,
        members: &[Member],
        recovered: &Recovered,
    ) -> Self {
        // Contexts of another run of this process must not be taken for ours.
        let next_context = node.env.random() >> 1;
        Self {
            node,
            group,
            disk: parts.disk,
            transport: parts.transport,
            inputs,
            on_fatal: parts.on_fatal,
            addresses: members.iter().map(|member| (member.member_id, member.peer_urls.clone())).collect(),
            applied: recovered.snapshot.as_ref().map_or(0, |snapshot| snapshot.index),
            replies: HashMap::new(),
            confirmations: Confirmations::default(),
            next_context,
            ticks: 0,
            caught_up_term: 0,
            transfer_term: 0,
            votes_from_tick: if recovered.hard_state.term > FIRST_INDEX { ELECTION_TICKS as u64 } else { 0 },
        }
    }

    /// Runs until the member is stopped, removed, or its disk fails.
    pub(super) async fn run(mut self) {
        let stopped = match self.serve().await {
            Ok(reply) => reply,
            Err(error) => {
                tracing::error!(%error, "the member stops");
                (self.on_fatal)(&error);
                None
            }
        };
        self.resign();
        self.node.status.send_modify(|status| *status = NodeStatus { leads: false, leader: 0, ..*status });
        self.transport.close();
        // Whoever asked may open the directory again.
        drop(self);
        if let Some(reply) = stopped {
            // Whoever asked may have gone away.
            let _ = reply.send(());
        }
    }

    async fn serve(&mut self) -> Result<Option<oneshot::Sender<()>>> {
        if self.group.conf_state().voters == [self.node.member.member_id] {
            // There is nobody to wait for.
            self.group.campaign()?;
        }
        let mut next_tick = self.node.now() + TICK;
        loop {
            self.take_turns().await?;
            if self.node.status.borrow().removed {
                return Ok(None);
            }
            let wait = next_tick.since(self.node.now());
            tokio::select! {
                input = self.inputs.recv() => match input {
                    Some(input) => if let Some(stop) = self.take_inputs(input) { return Ok(Some(stop)) },
                    None => return Ok(None),
                },
                () = self.node.env.sleep(wait) => {}
            }
            if self.node.now() >= next_tick {
                // Lost time is not made up for: a member that was paused must not believe that it waited for others.
                next_tick = self.node.now() + TICK;
                self.tick();
            }
        }
    }

    fn tick(&mut self) {
        self.group.tick();
        self.ticks += 1;
        if !self.ticks.is_multiple_of(HOUSEKEEPING_TICKS) || !self.group.status().leads {
            return;
        }
        *self.node.reachable.write() = self.group.reachable_voters();
        if let Some(learner) = self.group.learners_caught_up().first() {
            let member = self.node.read(|cluster| cluster.state.members.get(learner).cloned());
            let mut change = ConfChange::default();
            change.set_change_type(ConfChangeType::AddNode);
            change.node_id = *learner;
            change.context = member.unwrap_or_default().encode_to_vec().into();
            // Tried again at the next look when another change is under way.
            let _ = self.group.propose_change(Vec::new(), &change);
        }
    }

    fn take_inputs(&mut self, first: Input) -> Option<oneshot::Sender<()>> {
        let mut input = first;
        for _ in 0..ROUND {
            match input {
                Input::Stop(reply) => return Some(reply),
                other => self.take_input(other),
            }
            match self.inputs.try_recv() {
                Ok(next) => input = next,
                Err(_) => break,
            }
        }
        None
    }

    fn take_input(&mut self, input: Input) {
        match input {
            Input::Message { message, from_url } => self.take_message(*message, from_url),
            Input::Propose { command, reply } => {
                let context = self.context();
                match self.group.propose(context.to_be_bytes().to_vec(), command.encode_to_vec()) {
                    Ok(()) => {
                        self.replies.insert(context, reply);
                    }
                    Err(error) => drop(reply.send(Err(error))),
                }
            }
            Input::Change { change, reply } => {
                let context = self.context();
                match self.group.propose_change(context.to_be_bytes().to_vec(), &change) {
                    Ok(()) => {
                        self.replies.insert(context, reply);
                    }
                    Err(error) => drop(reply.send(Err(error))),
                }
            }
            Input::Confirm(reply) => {
                self.confirmations.next.push(reply);
                self.ask_majority();
            }
            Input::Transfer { to } => {
                self.transfer_term = self.group.status().term;
                self.drop_lease();
                self.group.transfer(to);
            }
            Input::Unreachable(member) => self.group.report_unreachable(member),
            Input::SnapshotSent { member, delivered } => self.group.report_snapshot(member, delivered),
            Input::Stop(_) => unreachable!("handled by the caller"),
        }
    }

    fn take_message(&mut self, message: Message, from_url: String) {
        if message.to != self.node.member.member_id {
            tracing::debug!(to = message.to, "a message for another member");
            return;
        }
        if !from_url.is_empty() {
            self.addresses.insert(message.from, vec![from_url]);
        }
        let asks_for_vote = matches!(message.get_msg_type(), MessageType::MsgRequestVote | MessageType::MsgRequestPreVote);
        if asks_for_vote && self.ticks < self.votes_from_tick {
            return;
        }
        if message.get_msg_type() == MessageType::MsgTransferLeader {
            // A follower may pass one on; a lease must not outlive it.
            self.transfer_term = self.group.status().term;
            self.drop_lease();
        }
        if let Err(error) = self.group.step(message) {
            tracing::debug!(%error, "a message was refused");
        }
    }

    fn context(&mut self) -> u64 {
        self.next_context += 1;
        self.next_context
    }

    /// Asks the majority whether this member leads, one question at a time: those who come meanwhile wait for the next.
    fn ask_majority(&mut self) {
        if self.confirmations.asked.is_some() || self.confirmations.next.is_empty() {
            return;
        }
        if !self.group.status().leads {
            self.confirmations.next.clear();
            return;
        }
        let context = self.context();
        self.confirmations.waiting = std::mem::take(&mut self.confirmations.next);
        self.confirmations.asked = Some((context, self.node.now()));
        self.group.confirm(context.to_be_bytes().to_vec());
    }

    fn confirmed(&mut self, context: &[u8]) {
        let Some((asked, at)) = self.confirmations.asked else { return };
        if asked.to_be_bytes() != context {
            return;
        }
        self.confirmations.asked = None;
        let status = self.group.status();
        if status.leads
            && self.transfer_term < status.term
            && let Some(leading) = &*self.node.leading.read()
            && leading.term == status.term
        {
            leading.extend_lease(at + LEASE);
        }
        for reply in self.confirmations.waiting.drain(..) {
            // Callers may have gone away.
            let _ = reply.send(Ok(()));
        }
        self.ask_majority();
    }

    fn drop_lease(&self) {
        if let Some(leading) = &*self.node.leading.read() {
            leading.drop_lease();
        }
    }

    async fn take_turns(&mut self) -> Result<()> {
        while let Some(turn) = self.group.take_turn() {
            self.follow_status();
            let Turn { send, install, write, committed, confirmed } = turn;
            self.send(send);
            for context in &confirmed {
                self.confirmed(context);
            }
            if !write.is_empty() {
                self.write(write).await?;
            }
            if let Some(snapshot) = install {
                self.install(&snapshot)?;
            }
            self.apply(committed)?;
            let second = self.group.written();
            self.send(second.send);
            self.apply(second.committed)?;
            self.group.applied();
            self.follow_status();
            self.shorten_log().await?;
            if self.group.take_wanted_snapshot()
                && let Some(snapshot) = self.snapshot()
            {
                self.group.offer_snapshot(&snapshot);
            }
        }
        self.follow_status();
        Ok(())
    }

    async fn write(&self, write: LogWrite) -> Result<()> {
        let disk = self.disk.clone();
        self.node.env.run_blocking(move || disk.write(write)).await.unwrap_or(Err(Error::Stopped))
    }

    fn send(&self, messages: Vec<Message>) {
        if messages.is_empty() {
            return;
        }
        let cluster = self.node.cluster.read();
        let state = &cluster.state;
        for message in messages {
            let known = state.members.get(&message.to).map(|member| &member.peer_urls).filter(|urls| !urls.is_empty());
            let Some(urls) = known.or_else(|| self.addresses.get(&message.to)) else { continue };
            let is_snapshot = message.get_msg_type() == MessageType::MsgSnapshot;
            match message.write_to_bytes() {
                Ok(bytes) => self.transport.send(message.to, urls, state.cluster_id, bytes, is_snapshot),
                Err(error) => tracing::warn!(%error, "a message cannot be encoded"),
            }
        }
    }

    fn install(&mut self, snapshot: &SnapshotFile) -> Result<()> {
        let state = State::decode(&snapshot.state)?;
        tracing::info!(index = snapshot.index, regions = state.regions.len(), "a snapshot of another member was installed");
        self.node.cluster.write().state = state;
        self.applied = snapshot.index;
        Ok(())
    }

    fn apply(&mut self, entries: Vec<Entry>) -> Result<()> {
        for entry in entries {
            assert!(entry.index == self.applied + 1, "entry {} was handed out behind {}", entry.index, self.applied);
            self.applied = entry.index;
            let reply = <[u8; 8]>::try_from(&entry.context[..]).ok().and_then(|context| self.replies.remove(&u64::from_be_bytes(context)));
            let outcome = match entry.get_entry_type() {
                EntryType::EntryNormal if entry.data.is_empty() => {
                    self.caught_up_term = entry.term;
                    continue;
                }
                EntryType::EntryNormal => match Command::decode(&entry.data[..]) {
                    Ok(command) => self.node.cluster.write().state.apply(command),
                    // The entry is the same on all members, and so is its lack of effect.
                    Err(_) => Err(Error::Invalid("a command that cannot be decoded")),
                },
                EntryType::EntryConfChange => self.apply_change(&entry),
                EntryType::EntryConfChangeV2 => Err(Error::Invalid("a joint change of members")),
            };
            if let Some(reply) = reply {
                // Whoever asked may have gone away.
                let _ = reply.send(outcome);
            }
        }
        Ok(())
    }

    fn apply_change(&mut self, entry: &Entry) -> Result<Answer> {
        let mut change = ConfChange::default();
        change.merge_from_bytes(&entry.data).map_err(|_| Error::Invalid("a change of members that cannot be decoded"))?;
        self.group.apply_change(&change)?;
        let id = change.node_id;
        let mut cluster = self.node.cluster.write();
        let members = &mut cluster.state.members;
        if change.get_change_type() == ConfChangeType::RemoveNode {
            members.remove(&id);
            self.addresses.remove(&id);
        } else if let Ok(member) = Member::decode(&change.context[..])
            && member.member_id == id
        {
            members.entry(id).or_insert(member);
        }
        tracing::info!(member = id, change = ?change.get_change_type(), members = members.len(), "the members changed");
        drop(cluster);
        if change.get_change_type() == ConfChangeType::RemoveNode && id == self.node.member.member_id {
            self.node.status.send_modify(|status| status.removed = true);
        }
        Ok(Answer::Done)
    }

    /// Tells everybody who leads; begins or ends leading.
    fn follow_status(&mut self) {
        let group = self.group.status();
        let leading = self.node.leading.read().as_ref().map(|leading| leading.term);
        if leading.is_some_and(|term| !group.leads || term != group.term) {
            self.resign();
        }
        if !group.leads {
            self.replies.clear();
            (self.confirmations.asked, self.confirmations.waiting) = (None, Vec::new());
            self.confirmations.next.clear();
        }
        if group.leads && self.caught_up_term == group.term {
            self.caught_up_term = 0;
            tracing::info!(term = group.term, "elected; all earlier entries are applied");
            self.node.env.spawn(leading::establish(self.node.clone(), group.term));
        }
        let leads = self.node.leading.read().is_some();
        self.node.status.send_if_modified(|status| {
            let now = NodeStatus { leader: group.leader, term: group.term, leads, ..*status };
            let changed = *status != now;
            *status = now;
            changed
        });
    }

    fn resign(&mut self) {
        let Some(leading) = self.node.leading.write().take() else { return };
        tracing::info!(term = leading.term, "this member leads no more");
        leading.drop_lease();
        leading.ended.cancel(CancelReason::Shutdown);
        self.node.reachable.write().clear();
    }

    /// The state as it is now.
    fn snapshot(&self) -> Option<SnapshotFile> {
        let conf_state = self.group.conf_state();
        Some(SnapshotFile {
            index: self.applied,
            term: self.group.log().term_at(self.applied)?,
            voters: conf_state.voters.clone(),
            learners: conf_state.learners.clone(),
            state: self.node.read(|cluster| cluster.state.encode()).into(),
        })
    }

    /// Shortens a long log.
    async fn shorten_log(&mut self) -> Result<()> {
        let log = self.group.log().clone();
        if log.len() < SNAPSHOT_ENTRIES && (log.len() < 1000 || log.bytes() < SNAPSHOT_BYTES) {
            return Ok(());
        }
        let Some(snapshot) = self.snapshot() else { return Ok(()) };
        self.write(LogWrite { snapshot: Some(snapshot), ..LogWrite::default() }).await?;
        log.compact(self.applied, self.group.conf_state().clone());
        tracing::debug!(index = self.applied, "the log was shortened");
        Ok(())
    }
}
