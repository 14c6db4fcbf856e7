//! Compiles the `.proto` files with a compiler written in Rust, so that no `protoc` is needed.

use std::error::Error;

use prost_types::field_descriptor_proto::{Label, Type};

const FILES: [&str; 16] = [
    "metapb.proto",
    "errorpb.proto",
    "deadlock.proto",
    "kvrpcpb.proto",
    "eraftpb.proto",
    "raft_cmdpb.proto",
    "raft_serverpb.proto",
    "coprocessor.proto",
    "tipb.proto",
    "tikvpb.proto",
    "pdpb.proto",
    "pdstate.proto",
    "pdpeer.proto",
    "health.proto",
    "etcdserverpb.proto",
    "meta_storagepb.proto",
];

/// Rare and large parts of a store's hot messages live in a box: an answer without them is moved as a few words.
const BOXED: [&str; 4] = ["context", "region_error", "error", "locked"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let mut config = prost_build::Config::new();
    config.bytes(["."]).disable_comments(["."]);
    for file in &descriptors.file {
        for message in &file.message_type {
            for field in &message.field {
                let is_single_message = field.r#type() == Type::Message && field.label() != Label::Repeated;
                if !file.package().starts_with("pd") && is_single_message && BOXED.contains(&field.name()) {
                    config.boxed(format!(".{}.{}.{}", file.package(), message.name(), field.name()));
                }
            }
        }
    }
    tonic_prost_build::configure().compile_fds_with_config(descriptors, config)?;
    Ok(())
}
