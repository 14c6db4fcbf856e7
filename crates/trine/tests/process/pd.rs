//! Three placement drivers as processes: killed, restarted, removed and joined while timestamps are taken.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::Duration,
};

use proto::pdpb::{self, pd_client::PdClient};
use testkit::wait_until;
use tonic::transport::Channel;

use crate::BINARY;

/// The file of the public reports.
const CONFIG: &str = "[log]\nlevel = \"info\"\n[replication]\nlocation-labels = [\"region\", \"zone\", \"rack\", \"host\"]\n";

/// An election takes one to two seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A page that takes longer is asked for again.
const PAGE_TIMEOUT: Duration = Duration::from_secs(5);

/// A page of the member of the placement driver at an address, if it answers.
pub fn page(address: &str, method: &str, path: &str) -> Option<(u16, serde_json::Value)> {
    let mut stream = TcpStream::connect_timeout(&address.parse().ok()?, PAGE_TIMEOUT).ok()?;
    stream.set_read_timeout(Some(PAGE_TIMEOUT * 3)).ok()?;
    write!(stream, "{method} /pd/api/v1/{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text).ok()?;
    let text = String::from_utf8(text).ok()?;
    let status = text.split(' ').nth(1)?.parse().ok()?;
    let body = text.split_once("\r\n\r\n")?.1;
    // A page that came through another member has no length and is sent in chunks.
    let body = if text.contains("transfer-encoding: chunked") { join_chunks(body)? } else { body.to_owned() };
    Some((status, serde_json::from_str(&body).ok()?))
}

/// The text of a body that is sent as chunks, each behind its length.
fn join_chunks(mut body: &str) -> Option<String> {
    let mut whole = String::new();
    loop {
        let (length, rest) = body.split_once("\r\n")?;
        let length = usize::from_str_radix(length.trim(), 16).ok()?;
        if length == 0 {
            return Some(whole);
        }
        whole += rest.get(..length)?;
        body = rest.get(length..)?.strip_prefix("\r\n")?;
    }
}

struct Member {
    child: Child,
    name: String,
    client: String,
    peer: String,
}

impl Member {
    fn start(directory: &tempfile::TempDir, name: &str, (client, peer): (&str, &str), more: &[&str]) -> Self {
        let config = directory.path().join("pd.toml");
        std::fs::write(&config, CONFIG).expect("the file is written");
        let mut child = Command::new(BINARY)
            .args(["pd", "--name", name, "--config", &config.to_string_lossy(), "--log-level", "warn"])
            .args(["--data-dir", &directory.path().join(name).to_string_lossy()])
            .args(["--client-urls", &format!("http://{client}"), "--peer-urls", &format!("http://{peer}")])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let output = child.stdout.take().expect("the output is ours");
        let client = BufReader::new(output).lines().find_map(|line| Some(line.ok()?.trim().strip_prefix("clients: http://")?.to_owned()));
        Self { child, name: name.to_owned(), client: client.expect("it says where it listens"), peer: peer.to_owned() }
    }

    fn kill(mut self) -> (String, String, String) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it ends");
        (self.name.clone(), self.client.clone(), self.peer.clone())
    }

    /// A page of the member, if it answers.
    fn page(&self, method: &str, path: &str) -> Option<(u16, serde_json::Value)> {
        page(&self.client, method, path)
    }

    /// Who leads and may answer for the cluster: the leader's own page, wherever it is asked for.
    fn leader(&self) -> Option<String> {
        let (_, page) = self.page("GET", "status")?;
        page.get("is_leader")?.as_bool()?.then(|| page["name"].as_str().map(str::to_owned))?
    }

    /// Timestamps over a fresh connection.
    fn timestamp(&self, runtime: &tokio::runtime::Runtime) -> Option<(i64, i64)> {
        runtime.block_on(async {
            let channel = Channel::from_shared(format!("http://{}", self.client)).ok()?.connect().await.ok()?;
            let request = pdpb::TsoRequest { count: 5, ..Default::default() };
            let mut answers = PdClient::new(channel).tso(tokio_stream::iter([request])).await.ok()?.into_inner();
            let timestamp = tokio::time::timeout(Duration::from_secs(5), answers.message()).await.ok()?.ok()??.timestamp?;
            Some((timestamp.physical, timestamp.logical))
        })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").to_string()
}

fn leader_of(members: &[Member]) -> usize {
    let agreed = || {
        let leader = members.first()?.leader()?;
        let all = members.iter().all(|member| member.leader().as_deref() == Some(&leader));
        members.iter().position(|member| all && member.name == leader)
    };
    wait_until("a leader", PATIENCE, agreed).expect("a leader")
}

#[test]
fn timestamps_grow_while_placement_drivers_are_killed_removed_and_joined() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let peers: Vec<String> = (0..3).map(|_| free_address()).collect();
    let initial = peers.iter().enumerate().map(|(n, peer)| format!("pd{n}=http://{peer}")).collect::<Vec<_>>().join(",");
    let first = ["--initial-cluster", &initial];
    let mut members: Vec<Member> =
        peers.iter().enumerate().map(|(n, peer)| Member::start(&directory, &format!("pd{n}"), ("127.0.0.1:0", peer), &first)).collect();
    let mut last = (0, 0);
    let mut take = |members: &[Member]| {
        for member in members {
            let timestamp = wait_until("a timestamp", PATIENCE, || member.timestamp(&runtime)).expect("a timestamp");
            assert!(timestamp > last, "{timestamp:?} after {last:?}");
            last = timestamp;
        }
    };
    for _ in 0..2 {
        let leader = leader_of(&members);
        take(&members);
        let (name, client, peer) = members.remove(leader).kill();
        leader_of(&members);
        take(&members);
        members.push(Member::start(&directory, &name, (&client, &peer), &first));
    }
    // All of them at once.
    let killed: Vec<_> = members.drain(..).map(Member::kill).collect();
    for (name, client, peer) in killed {
        members.push(Member::start(&directory, &name, (&client, &peer), &first));
    }
    let leader = leader_of(&members);
    take(&members);
    let labels = members[leader].page("GET", "config/replicate").expect("a page").1["location-labels"].clone();
    assert_eq!(labels, "region,zone,rack,host", "the file's setting is the cluster's");

    // One goes for good, another comes, told by a member that does not lead.
    let gone = (leader + 1) % 3;
    let removed = members[leader].page("DELETE", &format!("members/name/{}", members[gone].name)).expect("a page");
    assert_eq!(removed.0, 200, "{removed:?}");
    let mut ended = members.remove(gone);
    wait_until("the removed member ends", PATIENCE, || ended.child.try_wait().ok().flatten()).expect("it ends by itself");
    drop(ended);
    let join = format!("http://{}", members[0].client);
    members.push(Member::start(&directory, "joined", ("127.0.0.1:0", "127.0.0.1:0"), &["--join", &join]));
    leader_of(&members);
    take(&members);
    let healthy = || {
        let (_, page) = members[0].page("GET", "health")?;
        let page = page.as_array()?;
        (page.len() == 3 && page.iter().all(|member| member["health"] == true)).then_some(())
    };
    wait_until("three healthy members", PATIENCE, healthy).expect("three healthy members");
}

#[test]
fn a_misspelt_key_is_named_with_the_nearest_known_one() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = directory.path().join("pd.toml");
    std::fs::write(&config, "[replication]\nlocation-label = [\"zone\"]\n").expect("the file is written");
    let output = Command::new(BINARY).args(["pd", "--config", &config.to_string_lossy()]).output().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("replication.location-labels"), "{text}");
}
