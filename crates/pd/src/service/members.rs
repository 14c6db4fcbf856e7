//! Who the members are. Answered by every member, whether it leads or not.

use std::sync::Arc;

use proto::{
    etcdserverpb::{self, cluster_server::Cluster},
    health::{self, HealthCheckRequest, HealthCheckResponse, health_server::Health},
    meta_storagepb::{self, meta_storage_server::MetaStorage},
    pdpb::{GetClusterInfoResponse, GetMembersResponse, Member, ResponseHeader, ServiceMode},
};
use tonic::{Request, Response, Status};

use crate::{Error, Result, node::Node};

fn header(node: &Node) -> Option<ResponseHeader> {
    Some(ResponseHeader { cluster_id: node.cluster_id(), error: None })
}

/// Timestamps and everything else come from the same members.
pub(super) fn cluster_info(node: &Node) -> GetClusterInfoResponse {
    GetClusterInfoResponse { header: header(node), service_modes: vec![ServiceMode::PdSvcMode as i32], tso_urls: Vec::new() }
}

/// All members and the leader. An error while no leader is known or the cluster has no id: a client would take it for settled.
pub(super) fn get_members(node: &Node) -> Result<GetMembersResponse> {
    if node.cluster_id() == 0 {
        return Err(Error::NoLeader);
    }
    // A leader of which no address is known yet is of no use to anybody.
    let leader = node.leader().filter(|leader| !leader.client_urls.is_empty()).ok_or(Error::NoLeader)?;
    let members: Vec<Member> = node.read(|cluster| cluster.state.members.values().cloned().collect());
    Ok(GetMembersResponse {
        header: header(node),
        members,
        leader: Some(leader.clone()),
        etcd_leader: Some(leader),
        ..GetMembersResponse::default()
    })
}

/// Whether this member can serve.
#[derive(Clone, Debug)]
pub struct HealthService(
    /// The member.
    pub Arc<Node>,
);

#[tonic::async_trait]
impl Health for HealthService {
    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        use health::health_check_response::ServingStatus;
        let serves = self.0.status().leader != 0 && self.0.cluster_id() != 0;
        let status = if serves { ServingStatus::Serving } else { ServingStatus::NotServing };
        Ok(Response::new(HealthCheckResponse { status: status as i32 }))
    }
}

/// The list of members in the form that clients of an etcd ask for.
#[derive(Clone, Debug)]
pub struct ClusterService(
    /// The member.
    pub Arc<Node>,
);

#[tonic::async_trait]
impl Cluster for ClusterService {
    async fn member_list(&self, _: Request<etcdserverpb::MemberListRequest>) -> Result<Response<etcdserverpb::MemberListResponse>, Status> {
        let node = &self.0;
        let member = |member: &Member| etcdserverpb::Member {
            id: member.member_id,
            name: member.name.clone(),
            peer_ur_ls: member.peer_urls.clone(),
            client_ur_ls: member.client_urls.clone(),
            is_learner: false,
        };
        let members = node.read(|cluster| cluster.state.members.values().map(member).collect());
        let header = etcdserverpb::ResponseHeader {
            cluster_id: node.cluster_id(),
            member_id: node.member().member_id,
            revision: 1,
            raft_term: node.status().term,
        };
        Ok(Response::new(etcdserverpb::MemberListResponse { header: Some(header), members }))
    }
}

/// Look-ups of small values: there are none.
#[derive(Clone, Debug)]
pub struct MetaStorageService(
    /// The member.
    pub Arc<Node>,
);

#[tonic::async_trait]
impl MetaStorage for MetaStorageService {
    async fn get(&self, _: Request<meta_storagepb::GetRequest>) -> Result<Response<meta_storagepb::GetResponse>, Status> {
        let header = meta_storagepb::ResponseHeader { cluster_id: self.0.cluster_id(), revision: 1 };
        Ok(Response::new(meta_storagepb::GetResponse { header: Some(header), ..Default::default() }))
    }
}
