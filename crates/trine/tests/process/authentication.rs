//! Passwords, with a real driver over an unencrypted connection: both plugins, the full and the fast way, and what is refused.
//!
//! The driver does not tell which way `caching_sha2_password` went, so it connects through a [`Tap`] that passes everything on and keeps what
//! the server said.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    process::Command,
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use testkit::{
    mysql::{ChangeUserOpts, Conn, Error, OptsBuilder, prelude::Queryable as _},
    wait_until,
};

use crate::Scratch;

/// `AuthMoreData` of `caching_sha2_password`: a payload of two bytes.
const FAST: &[u8] = &[0x01, 0x03];
const FULL: &[u8] = &[0x01, 0x04];

/// A relay for one connection.
struct Tap {
    port: u16,
    said: JoinHandle<Vec<u8>>,
}

impl Tap {
    fn to(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let said = std::thread::spawn(move || {
            let (client, _) = listener.accept().expect("a connection");
            let server = TcpStream::connect(("127.0.0.1", server_port)).expect("connects");
            let (client, server) = (Arc::new(client), Arc::new(server));
            let upward = {
                let (client, server) = (client.clone(), server.clone());
                std::thread::spawn(move || pass_on(&client, &server))
            };
            let said = pass_on(&server, &client);
            upward.join().expect("no panic");
            said
        });
        Self { port, said }
    }

    /// Whether the server said `payload` as a packet of its own. The connection must have been closed.
    fn heard(self, payload: &[u8]) -> bool {
        let mut said = &self.said.join().expect("no panic")[..];
        let mut heard = false;
        while let [a, b, c, _, rest @ ..] = said {
            let len = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            let (packet, after) = rest.split_at(len.min(rest.len()));
            heard |= packet == payload;
            said = after;
        }
        heard
    }
}

fn pass_on(mut from: &TcpStream, mut to: &TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        all.extend_from_slice(&buffer[..len]);
        if to.write_all(&buffer[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write); // It may be closed already.
    all
}

fn options(port: u16, user: &str, password: &str) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(port)
        .user(Some(user))
        .pass(Some(password))
        .prefer_socket(false)
        .read_timeout(Some(Duration::from_secs(30)))
}

/// Connects, and asks who one is.
fn log_in(port: u16, user: &str, password: &str) -> Result<(), Error> {
    let mut conn = Conn::new(options(port, user, password))?;
    let current: Option<String> = conn.query_first("SELECT CURRENT_USER()")?;
    assert_eq!(current, Some(format!("{user}@%")));
    Ok(())
}

/// Logs in through a tap; answers whether the server said `payload` on the way.
fn log_in_hearing(scratch: &Scratch, user: &str, password: &str, payload: &[u8]) -> bool {
    let tap = Tap::to(scratch.server.port());
    log_in(tap.port, user, password).unwrap_or_else(|error| panic!("{user}: {error}"));
    tap.heard(payload)
}

fn refused(scratch: &Scratch, user: &str, password: &str) {
    match log_in(scratch.server.port(), user, password) {
        Err(Error::MySqlError(error)) => {
            assert_eq!((error.code, error.state.as_str()), (1045, "28000"), "{user}: {}", error.message);
            let using = if password.is_empty() { "NO" } else { "YES" };
            assert_eq!(error.message, format!("Access denied for user '{user}'@'127.0.0.1' (using password: {using})"));
        }
        other => panic!("{user} with {password:?}: {other:?}"),
    }
}

fn with_accounts() -> Scratch {
    let scratch = Scratch::start();
    let mut conn = scratch.server.connect().expect("connects");
    for statement in [
        "CREATE USER sha2 IDENTIFIED WITH caching_sha2_password BY 'one two three'",
        "CREATE USER native IDENTIFIED WITH mysql_native_password BY 'four'",
        "CREATE USER nothing IDENTIFIED WITH caching_sha2_password BY ''",
        "CREATE USER first IDENTIFIED WITH caching_sha2_password BY 'first'",
    ] {
        conn.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    wait_for_key(&scratch);
    scratch
}

/// The server makes its key pair for the first client that asks for it. Compiled without optimisation that takes longer than a client has for
/// its handshake.
fn wait_for_key(scratch: &Scratch) {
    wait_until("a login that needs the key", Duration::from_secs(120), || log_in(scratch.server.port(), "first", "first").ok())
        .unwrap_or_else(|error| panic!("{error}; log:\n{}", scratch.server.log_text()));
}

#[test]
fn caching_sha2_password_takes_the_full_way_once_and_then_the_fast_one() {
    let scratch = with_accounts();
    assert!(log_in_hearing(&scratch, "sha2", "one two three", FULL), "the first login proves the password by RSA");
    assert!(log_in_hearing(&scratch, "sha2", "one two three", FAST), "the second one by its digest");
    refused(&scratch, "sha2", "one two");
    refused(&scratch, "sha2", "");
    assert!(log_in_hearing(&scratch, "sha2", "one two three", FAST), "a wrong password does not spoil the digest");

    let mut conn = scratch.server.connect().expect("connects");
    conn.query_drop("ALTER USER sha2 IDENTIFIED WITH caching_sha2_password BY 'another'").expect("changes the password");
    refused(&scratch, "sha2", "one two three");
    assert!(log_in_hearing(&scratch, "sha2", "another", FULL), "a changed password has no digest yet");

    // Digests live in memory only.
    let scratch = scratch.crash_and_restart();
    wait_for_key(&scratch);
    assert!(log_in_hearing(&scratch, "sha2", "another", FULL), "the first login after a start");
    assert!(log_in_hearing(&scratch, "sha2", "another", FAST));
}

#[test]
fn a_wrong_password_is_refused_before_any_right_one_was_seen() {
    let scratch = with_accounts();
    refused(&scratch, "sha2", "wrong");
    refused(&scratch, "native", "wrong");
    refused(&scratch, "native", "");
    refused(&scratch, "nobody", "wrong");
    refused(&scratch, "nothing", "something");
}

#[test]
fn mysql_native_password_and_empty_passwords_log_in() {
    let scratch = with_accounts();
    log_in(scratch.server.port(), "native", "four").expect("logs in");
    log_in(scratch.server.port(), "nothing", "").expect("logs in without a password");
    assert!(!log_in_hearing(&scratch, "native", "four", FULL), "the native plugin has one way only");
}

#[test]
fn an_open_connection_changes_its_user_between_plugins() {
    let scratch = with_accounts();
    let mut conn = Conn::new(options(scratch.server.port(), "native", "four")).expect("logs in");
    for (user, password) in [("sha2", "one two three"), ("native", "four"), ("sha2", "one two three")] {
        let change = ChangeUserOpts::new().with_user(Some(user.to_owned())).with_pass(Some(password.to_owned()));
        conn.change_user(change).unwrap_or_else(|error| panic!("{user}: {error}"));
        let current: Option<String> = conn.query_first("SELECT CURRENT_USER()").expect("answers");
        assert_eq!(current, Some(format!("{user}@%")));
    }
}

/// A second, independent client: the C library behind the command line that people use. Unless told that there is no TLS it sends the password
/// in the clear, which is no proof on a connection that is not encrypted.
#[test]
fn the_command_line_client_logs_in_with_both_plugins() {
    let scratch = with_accounts();
    let run = |user: &str, password: &str| {
        Command::new("mariadb")
            .args(["--protocol=tcp", "--skip-ssl", "--host=127.0.0.1", "--batch", "--skip-column-names", "--execute=SELECT CURRENT_USER()"])
            .args([format!("--port={}", scratch.server.port()), format!("--user={user}"), format!("--password={password}")])
            .output()
            .expect("the client runs")
    };
    for (user, password) in [("sha2", "one two three"), ("sha2", "one two three"), ("native", "four")] {
        let output = run(user, password);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains(&format!("{user}@%")), "{user}: {said}");
    }
    let output = run("sha2", "wrong");
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("1045"), "{output:?}");
}
