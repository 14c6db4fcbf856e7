//! What the other members call.

use std::sync::Arc;

use proto::{
    pdpeer::{JoinRequest, JoinResponse, RaftDone, RaftFrame, pd_peer_server::PdPeer},
    pdstate::{PutMember, command::Kind},
};
use protobuf::Message as _;
use raft::eraftpb::Message;
use tonic::{Request, Response, Status, Streaming};

use crate::{Error, node::Node};

/// `pdpeer.PdPeer` of one member.
#[derive(Clone, Debug)]
pub struct PeerService {
    node: Arc<Node>,
}

impl PeerService {
    /// The service of a member.
    pub fn new(node: Arc<Node>) -> Self {
        Self { node }
    }
}

#[tonic::async_trait]
impl PdPeer for PeerService {
    async fn raft(&self, request: Request<Streaming<RaftFrame>>) -> Result<Response<RaftDone>, Status> {
        let mut frames = request.into_inner();
        while let Some(frame) = frames.message().await? {
            let ours = self.node.cluster_id();
            if frame.cluster_id != 0 && ours != 0 && frame.cluster_id != ours {
                return Err(Status::failed_precondition(Error::WrongCluster { asked: frame.cluster_id, ours }.to_string()));
            }
            match Message::parse_from_bytes(&frame.message) {
                Ok(message) => {
                    self.node.receive(message, frame.from_url).map_err(|error| Status::unavailable(error.to_string()))?;
                }
                Err(_) => return Err(Status::invalid_argument("not a message of the group")),
            }
        }
        Ok(Response::new(RaftDone {}))
    }

    async fn join(&self, request: Request<JoinRequest>) -> Result<Response<JoinResponse>, Status> {
        let Some(member) = request.into_inner().member.filter(|member| member.member_id != 0 && !member.peer_urls.is_empty()) else {
            return Err(Status::invalid_argument("a member needs an id and an address"));
        };
        let node = &self.node;
        if !node.status().leads {
            let leader_urls = node.leader().map(|leader| leader.peer_urls).unwrap_or_default();
            return Ok(Response::new(JoinResponse { leader_urls, ..JoinResponse::default() }));
        }
        let known = node.read(|cluster| cluster.state.members.get(&member.member_id).cloned());
        let done = match known {
            Some(known) if known == member => Ok(()),
            Some(_) => node.propose(Kind::PutMember(PutMember { member: Some(member) })).await.map(|_| ()),
            None => node.add_member(member).await,
        };
        match done {
            Ok(()) => {
                let (cluster_id, members) =
                    node.read(|cluster| (cluster.state.cluster_id, cluster.state.members.values().cloned().collect()));
                Ok(Response::new(JoinResponse { cluster_id, members, ..JoinResponse::default() }))
            }
            Err(error @ Error::Member { .. }) => Ok(Response::new(JoinResponse { refused: error.to_string(), ..JoinResponse::default() })),
            Err(error) => Err(Status::unavailable(error.to_string())),
        }
    }
}
