//! How a member begins: on its own directory, as one of the first members, or by joining others.
//!
//! | directory | told | what happens |
//! |---|---|---|
//! | has a snapshot and an identity | anything | goes on where it was; flags about members are not looked at |
//! | empty | `initial_cluster` | writes the first snapshot: the same on all first members |
//! | empty | `join` | writes its identity, asks the leader to be let in, waits for the leader's snapshot |

use std::{sync::Arc, time::Duration};

use env::Env;
use parking_lot::RwLock;
use proto::{
    pdpb::Member,
    pdpeer::{JoinRequest, JoinResponse, pd_peer_client::PdPeerClient},
    pdstate::{Identity, SnapshotFile},
};
use tokio::sync::{mpsc, watch};
use tonic::transport::Endpoint;

use super::{Node, NodeStatus, Transport, driver::Driver};
use crate::{
    Error, Result,
    core::{Cluster, PlacementConfig, State, cluster::Live},
    group::{FIRST_INDEX, GroupDisk, LogWrite, RaftGroup, Recovered},
};

/// Pause between attempts to join.
const JOIN_PAUSE: Duration = Duration::from_millis(500);
/// How long one attempt may take.
const JOIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Who a member is and how it finds the others.
#[derive(Clone, Debug, Default)]
pub struct NodeOptions {
    /// Its name, unique in the cluster.
    pub name: String,
    /// Where the other members reach it.
    pub peer_urls: Vec<String>,
    /// Where clients reach it.
    pub client_urls: Vec<String>,
    /// Names and peer URLs of the first members, itself among them. Empty for a cluster of one.
    pub initial_cluster: Vec<(String, String)>,
    /// URLs (client or peer ports) of members to join; empty for a first member.
    pub join: Vec<String>,
    /// The commit the program was built from.
    pub git_hash: String,
    /// The configuration a new cluster begins with.
    pub placement: PlacementConfig,
}

/// What a member runs on.
pub struct Parts {
    /// The outside world.
    pub env: Env,
    /// Its disk.
    pub disk: Arc<dyn GroupDisk>,
    /// The way to the other members.
    pub transport: Arc<dyn Transport>,
    /// Called when the disk fails: what this member promised may be lost, so it must not go on.
    pub on_fatal: Box<dyn Fn(&Error) + Send + Sync>,
}

/// The id of a first member: the same wherever it is computed.
fn first_member_id(name: &str, peer_url: &str) -> u64 {
    let bytes = name.bytes().chain([b'=']).chain(peer_url.bytes());
    // FNV-1a; clients keep ids in signed fields.
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash >> 1).max(1)
}

impl Node {
    /// Starts a member. Joining waits until a leader lets it in.
    pub async fn start(options: NodeOptions, parts: Parts) -> Result<Arc<Self>> {
        let env = parts.env.clone();
        let disk = parts.disk.clone();
        let recovered = blocking(&env, move || disk.load()).await?;
        let (recovered, identity) = match (&recovered.identity, &recovered.snapshot) {
            (Some(identity), Some(_)) => (recovered.clone(), identity.clone()),
            (Some(identity), None) => {
                let identity = join(&options, identity.clone(), &parts).await?;
                (recovered, identity)
            }
            (None, _) if options.join.is_empty() => begin(&options, &parts).await?,
            (None, _) => {
                let identity = Identity { member_id: (env.random() >> 1).max(1), name: options.name.clone(), members: Vec::new() };
                write_identity(&parts, identity.clone()).await?;
                let identity = join(&options, identity, &parts).await?;
                (recovered, identity)
            }
        };
        let member = Member {
            name: identity.name.clone(),
            member_id: identity.member_id,
            peer_urls: options.peer_urls.clone(),
            client_urls: options.client_urls.clone(),
            binary_version: env!("CARGO_PKG_VERSION").to_owned(),
            git_hash: options.git_hash.clone(),
            ..Member::default()
        };
        Self::run(options, parts, member, &recovered, &identity.members)
    }

    fn run(options: NodeOptions, parts: Parts, member: Member, recovered: &Recovered, known: &[Member]) -> Result<Arc<Self>> {
        let state = match &recovered.snapshot {
            Some(snapshot) => State::decode(&snapshot.state)?,
            None => State::default(),
        };
        let group = RaftGroup::new(member.member_id, recovered, &crate::logging::raft_logger())?;
        let (inputs, receiver) = mpsc::unbounded_channel();
        let node = Arc::new(Self {
            env: parts.env.clone(),
            member,
            placement: options.placement,
            cluster: RwLock::new(Cluster { state, live: Live::default() }),
            inputs,
            leading: RwLock::new(None),
            status: watch::Sender::new(NodeStatus::default()),
            reachable: RwLock::default(),
        });
        parts.transport.attach(&node);
        let env = parts.env.clone();
        let driver = Driver::new(node.clone(), group, parts, receiver, known, recovered);
        env.spawn(driver.run());
        env.spawn(publish_member(node.clone()));
        Ok(node)
    }
}

async fn blocking<T: Send + 'static>(env: &Env, job: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    env.run_blocking(job).await.unwrap_or(Err(Error::Stopped))
}

async fn write_identity(parts: &Parts, identity: Identity) -> Result<()> {
    let disk = parts.disk.clone();
    blocking(&parts.env, move || disk.write_identity(&identity)).await
}

/// A first member: writes the state that all first members begin with.
async fn begin(options: &NodeOptions, parts: &Parts) -> Result<(Recovered, Identity)> {
    let own = (options.name.clone(), options.peer_urls.first().cloned().unwrap_or_default());
    let first = if options.initial_cluster.is_empty() { vec![own] } else { options.initial_cluster.clone() };
    let mut members: Vec<Member> = Vec::new();
    for (name, url) in first {
        match members.iter_mut().find(|member| member.name == name) {
            Some(member) => member.peer_urls.push(url),
            None => {
                let member_id = first_member_id(&name, &url);
                members.push(Member { member_id, name, peer_urls: vec![url], ..Member::default() });
            }
        }
    }
    let Some(own) = members.iter().find(|member| member.name == options.name) else {
        return Err(Error::Member { member: options.name.clone(), reason: "the initial cluster does not name this member" });
    };
    let identity = Identity { member_id: own.member_id, name: options.name.clone(), members: members.clone() };
    let mut voters: Vec<u64> = members.iter().map(|member| member.member_id).collect();
    voters.sort_unstable();
    let state = State { members: members.into_iter().map(|member| (member.member_id, member)).collect(), ..State::default() };
    let snapshot = SnapshotFile { index: FIRST_INDEX, term: FIRST_INDEX, voters, learners: Vec::new(), state: state.encode().into() };
    // The snapshot first: an identity without one means "joining".
    let disk = parts.disk.clone();
    let recovered = blocking(&parts.env, move || {
        disk.write(LogWrite { snapshot: Some(snapshot), ..LogWrite::default() })?;
        disk.load()
    });
    let recovered = recovered.await?;
    write_identity(parts, identity.clone()).await?;
    Ok((recovered, identity))
}

/// Asks to be let in until somebody does or says why not. Answers the identity with the members it was told.
async fn join(options: &NodeOptions, mut identity: Identity, parts: &Parts) -> Result<Identity> {
    if !identity.members.is_empty() {
        return Ok(identity);
    }
    let member = Member {
        name: identity.name.clone(),
        member_id: identity.member_id,
        peer_urls: options.peer_urls.clone(),
        client_urls: options.client_urls.clone(),
        ..Member::default()
    };
    let mut urls = options.join.clone();
    if urls.is_empty() {
        return Err(Error::Member {
            member: member.name,
            reason: "the directory is that of a member that was joining; --join is needed again",
        });
    }
    loop {
        let url = urls.remove(0);
        match ask_to_join(&url, &member).await {
            Ok(answer) if answer.cluster_id != 0 => {
                identity.members = answer.members;
                write_identity(parts, identity.clone()).await?;
                return Ok(identity);
            }
            Ok(answer) if !answer.refused.is_empty() => {
                tracing::error!(%url, reason = %answer.refused, "not let in");
                return Err(Error::Member { member: member.name, reason: "the cluster refuses it; see the log" });
            }
            Ok(answer) => urls.splice(0..0, answer.leader_urls.into_iter().take(1)).for_each(drop),
            Err(error) => tracing::info!(%error, "cannot join yet"),
        }
        if urls.is_empty() {
            urls.clone_from(&options.join);
            parts.env.sleep(JOIN_PAUSE).await;
        }
    }
}

async fn ask_to_join(url: &str, member: &Member) -> Result<JoinResponse> {
    let unreachable = |status: String| Error::Unreachable { url: url.to_owned(), status };
    let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|error| unreachable(error.to_string()))?.timeout(JOIN_TIMEOUT);
    let channel = endpoint.connect_timeout(JOIN_TIMEOUT).connect().await.map_err(|error| unreachable(error.to_string()))?;
    let request = JoinRequest { member: Some(member.clone()) };
    let answer = PdPeerClient::new(channel).join(request).await.map_err(|status| unreachable(status.to_string()))?;
    Ok(answer.into_inner())
}

/// Tells the leader this member's addresses where the replicated ones differ: they are flags of the process, which may change.
async fn publish_member(node: Arc<Node>) {
    let mut status = node.watch();
    loop {
        if status.wait_for(|status| status.leader != 0 || status.removed).await.is_err() || status.borrow().removed {
            return;
        }
        let published = node.read(|cluster| cluster.state.members.get(&node.member.member_id) == Some(&node.member));
        if published {
            return;
        }
        // The leader publishes itself when it begins.
        if let (false, Some(leader)) = (node.status().leads, node.leader()) {
            for url in &leader.peer_urls {
                if let Err(error) = ask_to_join(url, &node.member).await {
                    tracing::debug!(%error, "cannot publish this member's addresses yet");
                }
            }
        }
        node.env.sleep(JOIN_PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_members_agree_on_their_ids() {
        let id = first_member_id("pd1", "http://127.0.0.1:2380");
        assert_eq!(id, first_member_id("pd1", "http://127.0.0.1:2380"));
        assert_ne!(id, first_member_id("pd2", "http://127.0.0.1:2380"));
        assert!(id > 0 && id <= i64::MAX as u64);
    }
}
