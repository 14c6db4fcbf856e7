//! One member of the replicated placement driver.
//!
//! ```text
//!   gRPC, HTTP ──▶ Node ──propose / confirm──▶ driver (one task) ──▶ RaftGroup ──▶ disk, other members
//!                   │                             │ committed entries
//!                   └────────── Cluster ◀─────────┘
//! ```
//!
//! The driver is the only one that touches the group; everybody else sends it inputs. A member *leads* once it was elected **and** has applied
//! everything its predecessors committed **and** has opened a window of timestamps behind theirs; only then does [`Node::leading`] answer.
//!
//! Invariants:
//! - A timestamp is handed out only after a majority confirmed, later than the request came in, that this member leads: either asked just
//!   now, or within a lease that ends before any other member can be elected. A deposed leader therefore hands out nothing more.
//! - A timestamp lies below a limit that was committed; whoever leads next starts at that limit.
//! - Ids come from ranges reserved by committed commands.

mod driver;
mod leading;
mod start;
mod transport;

use std::{sync::Arc, time::Duration};

use base::TimeStamp;
use env::{Env, Instant};
use parking_lot::RwLock;
use proto::{
    pdpb::Member,
    pdstate::{Command, command::Kind},
};
use raft::eraftpb::{ConfChange, ConfChangeType};
use tokio::sync::{mpsc, oneshot, watch};

pub use leading::Leading;
pub use start::{NodeOptions, Parts};
pub(crate) use transport::MAX_FRAME_BYTES;
pub use transport::{GrpcTransport, Transport};

use crate::{
    Error, Result,
    core::{Answer, Cluster, PlacementConfig},
};
use driver::Input;

/// How often the group's time goes on.
pub const TICK: Duration = Duration::from_millis(100);

/// A confirmation by a majority counts for this long: shorter than the time for which no other member is voted for, with room for clocks
/// that run at different speeds.
pub(crate) const LEASE: Duration = Duration::from_millis(TICK.as_millis() as u64 * crate::group::ELECTION_TICKS as u64 * 7 / 10);

/// A proposal that is not committed by then is given up; it may be committed later all the same.
const PROPOSAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Where this member stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeStatus {
    /// Id of the leader; 0 when none is known.
    pub leader: u64,
    /// Term of the group.
    pub term: u64,
    /// Whether this member leads and may answer for the cluster.
    pub leads: bool,
    /// Whether this member was removed from the cluster.
    pub removed: bool,
}

/// One member; shared by everything that serves requests.
pub struct Node {
    env: Env,
    member: Member,
    placement: PlacementConfig,
    cluster: RwLock<Cluster>,
    inputs: mpsc::UnboundedSender<Input>,
    leading: RwLock<Option<Arc<Leading>>>,
    status: watch::Sender<NodeStatus>,
    /// Members the leader has heard from lately, itself included.
    reachable: RwLock<Vec<u64>>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node").field("member", &self.member.name).field("status", &*self.status.borrow()).finish()
    }
}

impl Node {
    /// The outside world.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// This member.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// Where this member stands.
    pub fn status(&self) -> NodeStatus {
        *self.status.borrow()
    }

    /// Follows where this member stands.
    pub fn watch(&self) -> watch::Receiver<NodeStatus> {
        self.status.subscribe()
    }

    /// Looks at the cluster. Must not wait for anything inside.
    pub fn read<T>(&self, look: impl FnOnce(&Cluster) -> T) -> T {
        look(&self.cluster.read())
    }

    /// Changes what only the leading member sees. The replicated state is changed by proposals alone.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut Cluster) -> T) -> T {
        change(&mut self.cluster.write())
    }

    /// The cluster's id, 0 until the first leader has chosen one.
    pub fn cluster_id(&self) -> u64 {
        self.cluster.read().state.cluster_id
    }

    /// What belongs to leading, if this member leads.
    pub fn leading(&self) -> Result<Arc<Leading>> {
        self.leading.read().clone().ok_or(Error::NoLeader)
    }

    /// Members that can be reached, as the leader sees it.
    pub fn reachable_members(&self) -> Vec<u64> {
        self.reachable.read().clone()
    }

    /// The leader, as far as it is known.
    pub fn leader(&self) -> Option<Member> {
        let leader = self.status().leader;
        self.cluster.read().state.members.get(&leader).cloned()
    }

    /// Replicates a command and answers what it answered.
    pub async fn propose(&self, kind: Kind) -> Result<Answer> {
        self.ask(|reply| Input::Propose { command: Box::new(Command { kind: Some(kind) }), reply }).await
    }

    async fn ask<T>(&self, input: impl FnOnce(oneshot::Sender<Result<T>>) -> Input) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.inputs.send(input(reply)).map_err(|_| Error::Stopped)?;
        tokio::select! {
            // A dropped sender is a lost leadership: the command may be committed by another leader all the same.
            answer = answer => answer.unwrap_or(Err(Error::NoLeader)),
            () = self.env.sleep(PROPOSAL_TIMEOUT) => Err(Error::NoLeader),
        }
    }

    /// Answers once it is certain that this member led at some time after the call.
    pub async fn confirm(&self) -> Result<Arc<Leading>> {
        let leading = self.leading()?;
        let left = leading.lease_left(self.env.now());
        if left.is_zero() {
            self.ask(Input::Confirm).await?;
        } else if left < LEASE / 2 && leading.begin_renewing_lease() {
            // Renewed in the background, so that busy times never wait for it.
            let (reply, _) = oneshot::channel();
            self.inputs.send(Input::Confirm(reply)).map_err(|_| Error::Stopped)?;
        }
        Ok(leading)
    }

    /// `count` timestamps that follow each other; answers the greatest.
    pub async fn timestamps(self: &Arc<Self>, count: u64) -> Result<TimeStamp> {
        if !(1..=crate::oracle::MAX_BATCH).contains(&count) {
            return Err(Error::Invalid("a batch has 1 to 262144 timestamps"));
        }
        self.confirm().await?.timestamps(self, count).await
    }

    /// The first of `count` ids that nobody else gets.
    pub async fn allocate_ids(&self, count: u64) -> Result<u64> {
        self.leading()?.allocate_ids(self, count).await
    }

    /// Adds a member, or answers that it is one. It begins as a learner and votes once it has caught up.
    pub async fn add_member(&self, member: Member) -> Result<()> {
        self.leading()?;
        let known = self.read(|cluster| {
            cluster.state.members.values().find(|known| known.name == member.name || known.member_id == member.member_id).cloned()
        });
        if let Some(known) = known {
            if known.member_id == member.member_id {
                return Ok(());
            }
            return Err(Error::Member { member: member.name, reason: "the name is taken; remove the old member first" });
        }
        self.change_member(ConfChangeType::AddLearnerNode, &member).await
    }

    /// Removes a member. A leader that is removed hands over first.
    pub async fn remove_member(&self, id: u64) -> Result<()> {
        self.leading()?;
        let (member, count) = self.read(|cluster| (cluster.state.members.get(&id).cloned(), cluster.state.members.len()));
        let Some(member) = member else { return Err(Error::Member { member: id.to_string(), reason: "not known" }) };
        if count == 1 {
            return Err(Error::Member { member: member.name, reason: "it is the last one" });
        }
        self.change_member(ConfChangeType::RemoveNode, &member).await
    }

    async fn change_member(&self, kind: ConfChangeType, member: &Member) -> Result<()> {
        use prost::Message as _;
        let mut change = ConfChange::default();
        change.set_change_type(kind);
        change.node_id = member.member_id;
        change.context = member.encode_to_vec().into();
        self.ask(|reply| Input::Change { change: Box::new(change), reply }).await.map(|_| ())
    }

    /// Hands leadership to another member; answers once it leads, or when that did not come about in time.
    pub async fn transfer_leader(&self, to: u64) -> Result<()> {
        self.leading()?;
        if !self.read(|cluster| cluster.state.members.contains_key(&to)) {
            return Err(Error::Member { member: to.to_string(), reason: "not known" });
        }
        let mut status = self.watch();
        self.inputs.send(Input::Transfer { to }).map_err(|_| Error::Stopped)?;
        let there = status.wait_for(|status| status.leader == to);
        tokio::select! {
            reached = there => reached.map(|_| ()).map_err(|_| Error::Stopped),
            () = self.env.sleep(Duration::from_secs(3)) => {
                Err(Error::Member { member: to.to_string(), reason: "it did not take over in time" })
            }
        }
    }

    /// Changes the replicated configuration.
    pub async fn change_config(&self, change: impl FnOnce(&mut PlacementConfig)) -> Result<()> {
        let leading = self.leading()?;
        let _order = leading.config_change.lock().await;
        let mut config = self.read(|cluster| cluster.state.config.clone());
        change(&mut config);
        config.check().map_err(Error::Invalid)?;
        let json = serde_json::to_string(&config).expect("a configuration is representable in JSON");
        self.propose(Kind::PutConfig(proto::pdstate::PutConfig { json })).await.map(|_| ())
    }

    /// A message of another member, and where that member can be answered. An error once this member has stopped.
    pub fn receive(&self, message: raft::eraftpb::Message, from_url: String) -> Result<()> {
        self.inputs.send(Input::Message { message: Box::new(message), from_url }).map_err(|_| Error::Stopped)
    }

    /// A message to a member could not be delivered.
    pub fn report_unreachable(&self, member: u64) {
        let _ = self.inputs.send(Input::Unreachable(member));
    }

    /// A snapshot to a member left, or did not.
    pub fn report_snapshot(&self, member: u64, delivered: bool) {
        let _ = self.inputs.send(Input::SnapshotSent { member, delivered });
    }

    /// Stops the member; completes when it touches its disk no more.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.inputs.send(Input::Stop(reply)).is_ok() {
            // An error means that the driver ended by itself.
            let _ = done.await;
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.env.now()
    }
}
