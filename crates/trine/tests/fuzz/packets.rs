//! The MySQL protocol's decoders.

use wire::{
    CapabilityFlags,
    auth::{Plugin, caching_sha2, native},
    command::Command,
    handshake::{HandshakeResponse, parse_change_user, server_capabilities},
    packet::PacketReader,
    params,
};

use crate::mutation::fuzz;

/// Payloads over this are refused.
const LIMIT: usize = 2048;

fn handshake_response(tail: &[u8]) -> Vec<u8> {
    let mut payload = server_capabilities().bits().to_le_bytes().to_vec();
    payload.extend_from_slice(&(1u32 << 24).to_le_bytes());
    payload.push(45);
    payload.extend_from_slice(&[0; 23]);
    payload.extend_from_slice(tail);
    payload
}

#[test]
fn streams_of_packets() {
    let packet = |sequence: u8, payload: &[u8]| {
        let mut packet = (payload.len() as u32).to_le_bytes()[..3].to_vec();
        packet.push(sequence);
        packet.extend_from_slice(payload);
        packet
    };
    let seeds = vec![packet(0, b"\x0e"), [packet(0, b"\x03SELECT 1"), packet(1, b"")].concat(), packet(0, &[7; 300])];
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    fuzz("streams of packets", seeds, |input| {
        let mut stream = input;
        let mut reader = PacketReader::new(LIMIT);
        let (mut packets, mut bytes) = (0, 0);
        while let Ok(payload) = runtime.block_on(reader.read(&mut stream)) {
            assert!(payload.len() <= LIMIT);
            packets += 1;
            bytes += payload.len() + 4;
        }
        assert!(bytes <= input.len(), "{bytes} bytes were read from {}", input.len());
        packets > 0
    });
}

#[test]
fn handshake_responses() {
    let seeds = vec![
        handshake_response(b"root\0\x03abcsbtest\0mysql_native_password\0\x07\x03key\x02vv"),
        handshake_response(b"\0\0\0caching_sha2_password\0\0"),
    ];
    fuzz("handshake responses", seeds, |input| {
        let _ = HandshakeResponse::is_tls_request(input);
        match HandshakeResponse::parse(input) {
            Ok(response) => {
                assert!(response.capabilities.contains(CapabilityFlags::CLIENT_PROTOCOL_41));
                // A server reads on only what both sides can do.
                assert!(server_capabilities().contains(response.capabilities));
                true
            }
            Err(_) => false,
        }
    });
}

#[test]
fn changes_of_user() {
    let seeds = vec![b"root\0\x04abcdtest\0\x2d\0mysql_native_password\0\x07\x03key\x02vv".to_vec(), b"a\0\0\0".to_vec()];
    fuzz("changes of user", seeds, |input| parse_change_user(input, server_capabilities()).is_ok());
}

#[test]
fn commands_and_their_parameters() {
    let seeds = vec![
        b"\x03SELECT 1".to_vec(),
        b"\x02test".to_vec(),
        b"\x04t\0%".to_vec(),
        b"\x0c\x01\0\0\0".to_vec(),
        b"\x18\x01\0\0\0\x02\0data".to_vec(),
        b"\x1c\x01\0\0\0\x09\0\0\0".to_vec(),
        // One parameter of each shape: integers, double, string, date, time, decimal.
        b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\x2a\0\0\0\0\0\0\0".to_vec(),
        b"\x17\x02\0\0\0\0\x01\0\0\0\x01\x01\x05\0\xfd\0\0\0\0\0\0\0\xf0\x3f".to_vec(),
        b"\x17\x03\0\0\0\0\x01\0\0\0\0\x01\x0c\0\x0b\0\xf6\0\x07\xe8\x07\x02\x1d\x0a\x0b\x0c\x08\x01\x01\0\0\0\x02\x03\x04\x041.50"
            .to_vec(),
    ];
    let long_data = [None, Some(b"long".to_vec())];
    fuzz("commands", seeds, |input| {
        let Ok(command) = Command::parse(input) else { return false };
        assert!(!command.name().is_empty());
        if let Command::StmtExecute { statement, parameters, .. } = command {
            let mut types = Vec::new();
            let count = (statement % 20) as usize;
            return match params::decode(parameters, count, &mut types, &long_data[..(statement as usize / 32) % 3]) {
                Ok(values) => {
                    assert_eq!(values.len(), count);
                    true
                }
                Err(_) => false,
            };
        }
        true
    });
}

#[test]
fn proofs_and_stored_passwords() {
    let scramble = *b"abcdefghijklmnopqrst";
    let seeds = [Plugin::Native, Plugin::CachingSha2].map(|plugin| plugin.hash(b"secret").into_bytes()).to_vec();
    fuzz("stored passwords", seeds, |input| {
        let stored = String::from_utf8_lossy(input);
        let known = [Plugin::Native, Plugin::CachingSha2].map(|plugin| plugin.is_valid_hash(&stored));
        assert!(!native::verify(&scramble, b"not a proof at all!!", &stored), "a wrong proof was accepted for {stored:?}");
        assert!(!caching_sha2::CachedDigest::new(input).verify(&scramble, input));
        known.contains(&true)
    });
}
