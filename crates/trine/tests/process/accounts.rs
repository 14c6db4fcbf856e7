//! What accounts are held to when somebody logs in: locking after wrong passwords, passwords that have expired; and privileges as a client meets them.

use std::{
    net::{IpAddr, UdpSocket},
    time::Duration,
};

use testkit::mysql::{Conn, Error, OptsBuilder, prelude::Queryable as _};

use crate::Scratch;

fn options(scratch: &Scratch, user: &str, password: &str) -> OptsBuilder {
    options_at(scratch, "127.0.0.1", user, password)
}

fn options_at(scratch: &Scratch, address: &str, user: &str, password: &str) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some(address))
        .tcp_port(scratch.server.port())
        .user(Some(user))
        .pass(Some(password))
        .prefer_socket(false)
        .read_timeout(Some(Duration::from_secs(30)))
}

/// The error of a login; 0 when it succeeds.
fn log_in(scratch: &Scratch, user: &str, password: &str) -> (u16, String) {
    log_in_at(scratch, "127.0.0.1", user, password)
}

fn log_in_at(scratch: &Scratch, address: &str, user: &str, password: &str) -> (u16, String) {
    match Conn::new(options_at(scratch, address, user, password)) {
        Ok(_) => (0, String::new()),
        Err(Error::MySqlError(error)) => (error.code, error.message),
        Err(error) => panic!("{user}: {error}"),
    }
}

fn run(conn: &mut Conn, statements: &[&str]) {
    for statement in statements {
        conn.query_drop(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
}

#[test]
fn wrong_passwords_lock_an_account_that_asks_for_it_until_somebody_unlocks_it() {
    let scratch = Scratch::start();
    let mut root = scratch.server.connect().expect("connects");
    run(
        &mut root,
        &[
            "CREATE USER careful IDENTIFIED BY 'right' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3",
            "CREATE USER easy IDENTIFIED BY 'right'",
        ],
    );
    assert_eq!(log_in(&scratch, "careful", "wrong").0, 1045);
    assert_eq!(log_in(&scratch, "careful", "right").0, 0, "one wrong password is forgotten");
    assert_eq!(log_in(&scratch, "careful", "wrong").0, 1045);
    let blocked =
        "Access denied for user 'careful'@'%'. Account is blocked for 3 day(s) (3 day(s) remaining) due to 2 consecutive failed logins.";
    assert_eq!(log_in(&scratch, "careful", "wrong"), (3955, blocked.to_owned()));
    assert_eq!(log_in(&scratch, "careful", "right").0, 3955);
    run(&mut root, &["ALTER USER careful ACCOUNT UNLOCK"]);
    assert_eq!(log_in(&scratch, "careful", "right").0, 0);
    for _ in 0..4 {
        assert_eq!(log_in(&scratch, "easy", "wrong").0, 1045);
    }
    assert_eq!(log_in(&scratch, "easy", "right").0, 0);
}

#[test]
fn a_client_that_cannot_change_an_expired_password_is_told_so() {
    let scratch = Scratch::start();
    let mut root = scratch.server.connect().expect("connects");
    run(&mut root, &["CREATE USER late IDENTIFIED BY 'old' PASSWORD EXPIRE"]);
    assert_eq!(log_in(&scratch, "late", "wrong").0, 1045, "nobody learns of it without the password");
    let (code, message) = log_in(&scratch, "late", "old");
    assert_eq!(code, 1862, "{message}");
    run(&mut root, &["ALTER USER late IDENTIFIED BY 'new'"]);
    assert_eq!(log_in(&scratch, "late", "new").0, 0);
    run(&mut root, &["ALTER USER late ACCOUNT LOCK"]);
    assert_eq!(log_in(&scratch, "late", "new").0, 3118);
}

#[test]
fn a_grant_counts_for_connections_that_are_open_and_outlives_a_crash() {
    let scratch = Scratch::start();
    let mut root = scratch.server.connect().expect("connects");
    run(&mut root, &["CREATE TABLE test.t (a INT PRIMARY KEY)", "INSERT INTO test.t VALUES (7)", "CREATE USER reader IDENTIFIED BY 'pw'"]);
    let mut reader = Conn::new(options(&scratch, "reader", "pw")).expect("logs in");
    let read = |conn: &mut Conn| match conn.query_first::<i64, _>("SELECT a FROM test.t") {
        Ok(value) => Ok(value),
        Err(Error::MySqlError(error)) => Err(error.code),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(read(&mut reader), Err(1142));
    run(&mut root, &["GRANT SELECT ON test.* TO reader"]);
    assert_eq!(read(&mut reader), Ok(Some(7)));
    let statement = reader.prep("SELECT a FROM test.t WHERE a = ?").expect("prepares");
    run(&mut root, &["REVOKE SELECT ON test.* FROM reader"]);
    let refused = reader.exec_first::<i64, _, _>(&statement, (7,)).expect_err("revoked");
    assert!(matches!(&refused, Error::MySqlError(error) if error.code == 1142), "{refused}");
    run(&mut root, &["GRANT SELECT (a) ON test.t TO reader"]);
    let scratch = scratch.crash_and_restart();
    let mut reader = Conn::new(options(&scratch, "reader", "pw")).expect("logs in");
    assert_eq!(read(&mut reader), Ok(Some(7)));
}

/// An address of this machine that is not loopback, if it has one: that of the way out. Nothing is sent.
fn outer_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_loopback() && !address.is_unspecified())
}

#[test]
fn root_without_a_password_is_let_in_from_its_own_machine_only() {
    let Some(outside) = outer_address() else {
        println!("skipped: this machine has no address but loopback");
        return;
    };
    let (outside, scratch) = (outside.to_string(), Scratch::with_config("host = \"0.0.0.0\"\n"));
    assert_eq!(log_in(&scratch, "root", "").0, 0);
    let (code, message) = log_in_at(&scratch, &outside, "root", "");
    assert_eq!((code, message), (1045, format!("Access denied for user 'root'@'{outside}' (using password: NO)")));
    assert!(scratch.server.log_text().contains("root has no password"), "the log says why");
    run(&mut scratch.server.connect().expect("connects"), &["ALTER USER root IDENTIFIED BY 'safe'"]);
    assert_eq!(log_in_at(&scratch, &outside, "root", "safe").0, 0);
    let open = Scratch::with_config("host = \"0.0.0.0\"\n[security]\nallow-empty-root-password = true\n");
    assert_eq!(log_in_at(&open, &outside, "root", "").0, 0);
}
