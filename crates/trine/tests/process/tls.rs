//! Encrypted connections, with the command line that people use: what is offered, what accounts ask for, and what bytes that are no TLS cost.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Command, Output},
    time::Duration,
};

use testkit::{mysql::prelude::Queryable as _, wait_until};

use crate::Scratch;

/// Runs a statement with the command-line client under further options.
fn client(scratch: &Scratch, user: &str, password: &str, options: &[&str], sql: &str) -> Output {
    Command::new("mariadb")
        .args(["--protocol=tcp", "--host=127.0.0.1", "--batch", "--skip-column-names"])
        .args([format!("--port={}", scratch.server.port()), format!("--user={user}"), format!("--password={password}")])
        .args(options)
        .arg(format!("--execute={sql}"))
        .output()
        .expect("the client runs")
}

/// What it answered.
fn answered(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// What it was refused with.
fn refused(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file the server has made at its first start.
fn made(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.directory.path().join("data/tls").join(name)
}

fn run(scratch: &Scratch, statements: &[&str]) {
    let mut conn = scratch.server.connect().expect("connects");
    for statement in statements {
        conn.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

const PLAIN: &[&str] = &["--skip-ssl"];

#[test]
fn accounts_that_require_tls_are_let_in_over_tls_only() {
    let scratch = Scratch::start();
    run(
        &scratch,
        &["CREATE USER secret IDENTIFIED WITH caching_sha2_password BY 'one' REQUIRE SSL", "CREATE USER anyhow IDENTIFIED BY 'two'"],
    );
    let error = refused(&client(&scratch, "secret", "one", PLAIN, "SELECT 1"));
    assert!(error.contains("1045") && error.contains("Access denied for user 'secret'@'127.0.0.1' (using password: YES)"), "{error}");

    let authority = format!("--ssl-ca={}", made(&scratch, "ca.pem").display());
    let verified = ["--ssl", "--ssl-verify-server-cert", &authority];
    let status = "SHOW STATUS WHERE Variable_name IN ('Ssl_cipher', 'Ssl_version')";
    // The first login proves the password in full, the second one by its digest.
    for _ in 0..2 {
        assert_eq!(
            answered(&client(&scratch, "secret", "one", &verified, status)),
            "Ssl_cipher\tTLS_AES_256_GCM_SHA384\nSsl_version\tTLSv1.3\n"
        );
    }
    assert_eq!(answered(&client(&scratch, "anyhow", "two", PLAIN, status)), "Ssl_cipher\t\nSsl_version\t\n");
    let old = ["--ssl", "--tls-version=TLSv1.2", &authority];
    assert_eq!(
        answered(&client(&scratch, "anyhow", "two", &old, status)),
        "Ssl_cipher\tECDHE-ECDSA-AES256-GCM-SHA384\nSsl_version\tTLSv1.2\n"
    );
    assert_eq!(answered(&client(&scratch, "anyhow", "two", PLAIN, "SELECT @@have_ssl, @@tls_version")), "YES\tTLSv1.2,TLSv1.3\n");

    run(&scratch, &["ALTER USER secret REQUIRE NONE"]);
    answered(&client(&scratch, "secret", "one", &["--ssl"], "SELECT 1"));
    // Answers far larger than a record, both ways.
    let sql = format!("SELECT LENGTH('{}'), REPEAT('x', 300000)", "y".repeat(100_000));
    let answer = answered(&client(&scratch, "anyhow", "two", &["--ssl"], &sql));
    assert!(answer.starts_with("100000\txxx") && answer.len() > 300_000, "{} bytes", answer.len());
}

#[test]
fn accounts_that_require_a_certificate_ask_for_the_right_one() {
    let scratch = Scratch::start();
    run(
        &scratch,
        &[
            "CREATE USER x509 REQUIRE X509",
            "CREATE USER named REQUIRE SUBJECT '/CN=Trine_Auto_Generated_Client_Certificate' AND ISSUER '/CN=Trine_Auto_Generated_CA_Certificate'",
            "CREATE USER other REQUIRE SUBJECT '/CN=somebody else'",
        ],
    );
    let file = |option: &str, name: &str| format!("--{option}={}", made(&scratch, name).display());
    let (cert, key) = (file("ssl-cert", "client-cert.pem"), file("ssl-key", "client-key.pem"));
    let proved: &[&str] = &["--ssl", &cert, &key];
    for user in ["x509", "named"] {
        assert!(refused(&client(&scratch, user, "", &["--ssl"], "SELECT 1")).contains("1045"), "{user} without a certificate");
        let name = answered(&client(&scratch, user, "", proved, "SELECT CURRENT_USER()"));
        assert_eq!(name, format!("{user}@%\n"));
    }
    assert!(refused(&client(&scratch, "other", "", proved, "SELECT 1")).contains("1045"));
    let shown = answered(&client(&scratch, "x509", "", proved, "SHOW CREATE USER CURRENT_USER"));
    assert!(shown.contains(" REQUIRE X509 "), "{shown}");
}

#[test]
fn a_server_may_insist_on_tls_for_everybody_or_offer_none() {
    let scratch = Scratch::start();
    run(&scratch, &["SET GLOBAL require_secure_transport = ON"]);
    let error = refused(&client(&scratch, "root", "", PLAIN, "SELECT 1"));
    assert!(error.contains("3159") && error.contains("Connections using insecure transport are prohibited"), "{error}");
    answered(&client(&scratch, "root", "", &["--ssl"], "SELECT 1"));

    let scratch = Scratch::with_config("[security]\nauto-tls = false\n");
    assert_eq!(answered(&client(&scratch, "root", "", PLAIN, "SELECT @@have_ssl")), "DISABLED\n");
    assert!(refused(&client(&scratch, "root", "", &["--ssl", "--ssl-verify-server-cert"], "SELECT 1")).contains("SSL"));
    assert!(!made(&scratch, "server-cert.pem").exists());
}

/// The request for TLS as a client sends it: capabilities with CLIENT_SSL and CLIENT_PROTOCOL_41, a packet limit, a collation.
fn ask_for_tls(scratch: &Scratch, then: &[u8]) -> TcpStream {
    let mut socket = TcpStream::connect(("127.0.0.1", scratch.server.port())).expect("connects");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
    let mut greeting = [0; 4];
    socket.read_exact(&mut greeting).expect("the greeting's header");
    let mut rest = vec![0; usize::from(greeting[0])];
    socket.read_exact(&mut rest).expect("the greeting");
    let mut packet = vec![32, 0, 0, 1];
    packet.extend_from_slice(&0x0000_8a00u32.to_le_bytes());
    packet.extend_from_slice(&(1u32 << 24).to_le_bytes());
    packet.extend_from_slice(&[45; 1]);
    packet.extend_from_slice(&[0; 23]);
    packet.extend_from_slice(then);
    socket.write_all(&packet).expect("sends");
    socket
}

#[test]
fn bytes_that_are_no_tls_end_their_own_connection_with_a_line_in_the_log() {
    let scratch = Scratch::start();
    // Plain packets behind the request, which would be a handshake response if they were believed.
    let mut socket = ask_for_tls(&scratch, b"\x20\x00\x00\x02SELECT 1; this is no ClientHello at all");
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer); // The end may come as a reset.
    // At most an alert; no packet of the protocol.
    assert!(answer.is_empty() || answer[0] == 0x15, "{answer:?}");
    // Half a handshake that never goes on, on many connections at once: others do not notice.
    let waiting: Vec<TcpStream> = (0..50).map(|_| ask_for_tls(&scratch, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")).collect();
    answered(&client(&scratch, "root", "", &["--ssl"], "SELECT 1"));
    wait_until("a line about wrong TLS", Duration::from_secs(10), || {
        scratch.server.log_text().contains("TLS handshake failed").then_some(())
    })
    .expect("it is logged");
    wait_until("the end of handshakes that do not go on", Duration::from_secs(30), || {
        (scratch.server.log_text().matches("client did not finish its handshake in time").count() >= waiting.len()).then_some(())
    })
    .expect("they are ended");
    let connected = answered(&client(&scratch, "root", "", PLAIN, "SHOW GLOBAL STATUS LIKE 'Threads_connected'"));
    assert_eq!(connected, "Threads_connected\t1\n");
}
