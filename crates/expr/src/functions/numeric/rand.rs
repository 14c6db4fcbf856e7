//! RAND([seed]) with MySQL's own generator, so that a seed gives the same sequence here.
//!
//! The generator is two linear recurrences modulo 2^30 - 1. A constant seed starts one sequence per call and execution;
//! a seed that is a column starts anew for every row.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use types::Datum;

use crate::error::Result;
use crate::functions::{Args, Builtin, Want};
use crate::result_type as rt;

pub(super) const TABLE: &[Builtin] =
    &[Builtin::new("rand", (0, 1), &[Want::Int], |_| rt::double(), rand).sees_null().never_null().volatile()];

const MODULUS: u32 = 0x3fff_ffff;

/// The generators of one execution's calls of RAND(seed).
#[derive(Debug, Default)]
pub struct RandStates {
    /// By the address of the call, which stays where it is while its statement runs.
    by_call: Mutex<FxHashMap<usize, RandState>>,
}

impl Clone for RandStates {
    /// The clone goes on where the original is, on its own.
    fn clone(&self) -> Self {
        RandStates { by_call: Mutex::new(self.by_call.lock().clone()) }
    }
}

/// The state of one generator.
#[derive(Clone, Copy, Debug)]
struct RandState {
    first: u32,
    second: u32,
}

impl RandState {
    fn new(first: u32, second: u32) -> Self {
        RandState { first: first % MODULUS, second: second % MODULUS }
    }

    /// The generator of RAND(seed).
    fn seeded(seed: u32) -> Self {
        RandState::new(seed.wrapping_mul(0x10001).wrapping_add(55_555_555), seed.wrapping_mul(0x1000_0001))
    }

    /// The next number, at least 0 and below 1.
    fn next(&mut self) -> f64 {
        let modulus = u64::from(MODULUS);
        self.first = ((u64::from(self.first) * 3 + u64::from(self.second)) % modulus) as u32;
        self.second = ((u64::from(self.first) + u64::from(self.second) + 33) % modulus) as u32;
        f64::from(self.first) / f64::from(MODULUS)
    }
}

fn rand(a: &Args<'_>) -> Result<Datum> {
    if a.is_empty() {
        return Ok(Datum::Double(::rand::random::<f64>()));
    }
    let seed = if a.is_null(0) { 0 } else { a.bits(0) as u32 };
    if !a.call.args[0].is_constant() {
        return Ok(Datum::Double(RandState::seeded(seed).next()));
    }
    let owner = std::ptr::from_ref(a.call) as usize;
    let mut states = a.ctx.rand.by_call.lock();
    let state = states.entry(owner).or_insert_with(|| RandState::seeded(seed));
    Ok(Datum::Double(state.next()))
}
