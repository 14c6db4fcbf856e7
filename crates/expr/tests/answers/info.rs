//! Functions about the session, user variables, addresses and identifiers.

use crate::script::{answer_in, check, context, parse};
use expr::EvalCtx;

#[test]
fn session_functions_answer_from_the_context() {
    check(
        "database() => test
        schema() => test
        user() => root@localhost
        session_user() => root@localhost
        current_user() => root@%
        version() => 8.0.11-Trine
        connection_id() => 7
        row_count() => -1
        found_rows() => 0
        last_insert_id() => 0
        sleep(0) => 0
        benchmark(10, 1 + 1) => 0
        any_value(3) => 3",
    );
}

#[test]
fn user_variables_are_set_and_read() {
    let ctx = context();
    assert_eq!(answer_in(&ctx, "@a"), "NULL");
    assert_eq!(answer_in(&ctx, "@a := 5"), "5");
    assert_eq!(answer_in(&ctx, "@A + 1"), "6");
    assert_eq!(answer_in(&ctx, "@b := 'x'"), "x");
    assert_eq!(answer_in(&ctx, "concat(@b, @a)"), "x5");
    assert_eq!(answer_in(&ctx, "@d := 1.50"), "1.50");
    assert_eq!(answer_in(&ctx, "@d * 2"), "3.00");
}

#[test]
fn last_insert_id_with_an_argument_is_remembered() {
    let ctx = context();
    assert_eq!(answer_in(&ctx, "last_insert_id(42)"), "42");
    assert_eq!(ctx.last_insert_id.get(), 42);
    assert_eq!(ctx.last_insert_id.set_count(), 1);
    assert_eq!(answer_in(&ctx, "last_insert_id()"), "42");
}

#[test]
fn addresses_and_identifiers() {
    check(
        "inet_aton('10.0.5.9') => 167773449
        inet_aton('127.1') => 2130706433
        inet_aton('1.2.3.256') => NULL
        inet_ntoa(167773449) => 10.0.5.9
        inet_ntoa(-1) => NULL
        hex(inet6_aton('fdfe::5a55:caff:fefa:9089')) => FDFE0000000000005A55CAFFFEFA9089
        inet6_ntoa(unhex('FDFE0000000000005A55CAFFFEFA9089')) => fdfe::5a55:caff:fefa:9089
        inet6_ntoa(inet6_aton('10.0.5.9')) => 10.0.5.9
        is_ipv4('10.0.5.9') => 1
        is_ipv4('10.0.5.256') => 0
        is_ipv6('::1') => 1
        is_ipv4_mapped(inet6_aton('::ffff:10.0.5.9')) => 1
        is_ipv4_compat(inet6_aton('::10.0.5.9')) => 1
        is_uuid('6ccd780c-baba-1026-9564-5b8c656024db') => 1
        is_uuid('6ccd780c-baba-1026-9564') => 0
        hex(uuid_to_bin('6ccd780c-baba-1026-9564-5b8c656024db')) => 6CCD780CBABA102695645B8C656024DB
        hex(uuid_to_bin('6ccd780c-baba-1026-9564-5b8c656024db', 1)) => 1026BABA6CCD780C95645B8C656024DB
        bin_to_uuid(uuid_to_bin('6ccd780c-baba-1026-9564-5b8c656024db', 1), 1) => 6ccd780c-baba-1026-9564-5b8c656024db
        uuid_to_bin('x') => error 1411
        is_uuid(uuid()) => 1
        uuid() = uuid() => 0",
    );
}

#[test]
fn evaluation_contexts_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let ctx: EvalCtx = context();
    shared(&ctx);
    shared(&parse("1 + 1", &ctx).expect("builds"));
}
