//! Making inputs, and running a target over them.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

use testkit::Random;

/// Inputs of a target in a normal test run.
const ITERATIONS: usize = 30_000;
/// Inputs kept to be mutated further.
const MAX_CORPUS: usize = 2000;
/// Longest input.
const MAX_LEN: usize = 4096;

/// Bytes and numbers at which decoders take another way.
const BYTES: [u8; 14] = [0, 1, 2, 3, 4, 8, 9, 0x7f, 0x80, 0xf7, 0xfb, 0xfc, 0xfe, 0xff];
const NUMBERS: [u64; 8] = [0, 1, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX];

/// Runs `target` over mutations of `seeds`; it answers whether the input was accepted.
pub fn fuzz(name: &str, seeds: Vec<Vec<u8>>, mut target: impl FnMut(&[u8]) -> bool) {
    let number = |variable: &str| std::env::var(variable).ok().and_then(|text| text.parse::<u64>().ok());
    let long = number("TRINE_FUZZ_SECONDS").map(Duration::from_secs);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let seed = number("TRINE_FUZZ_SEED").unwrap_or(if long.is_some() { now } else { 0x7121e });
    let mut random = Random::new(seed);
    let mut corpus = seeds;
    for input in corpus.clone() {
        assert!(run(name, seed, &input, &mut target), "{name}: a good input is refused: {}", input.escape_ascii());
    }
    let started = Instant::now();
    let (mut inputs, mut accepted) = (0usize, 0usize);
    while long.map_or(inputs < ITERATIONS, |long| started.elapsed() < long) {
        let input = mutate(&mut random, &corpus);
        inputs += 1;
        if run(name, seed, &input, &mut target) {
            accepted += 1;
            match corpus.len() < MAX_CORPUS {
                true => corpus.push(input),
                false => {
                    let at = random.below(MAX_CORPUS);
                    corpus[at] = input;
                }
            }
        }
    }
    println!("{name}: {inputs} inputs, {accepted} accepted, seed {seed}");
    assert!(accepted > 0 && accepted < inputs, "{name}: {accepted} of {inputs} inputs were accepted: mutation reaches one side only");
}

fn run(name: &str, seed: u64, input: &[u8], target: &mut impl FnMut(&[u8]) -> bool) -> bool {
    catch_unwind(AssertUnwindSafe(|| target(input))).unwrap_or_else(|panic| {
        eprintln!("{name}: TRINE_FUZZ_SEED={seed}, input: \"{}\"", input.escape_ascii());
        resume_unwind(panic)
    })
}

fn mutate(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..1 + random.below(3) {
        change(random, corpus, &mut input);
    }
    input.truncate(MAX_LEN);
    input
}

fn change(random: &mut Random, corpus: &[Vec<u8>], input: &mut Vec<u8>) {
    let at = random.below(input.len() + 1);
    match random.below(9) {
        0 => input.truncate(at),
        1 => input.insert(at, BYTES[random.below(BYTES.len())]),
        2 => {
            let bytes: Vec<u8> = (0..random.below(12)).map(|_| random.bits() as u8).collect();
            input.splice(at..at, bytes);
        }
        // A piece again, or gone.
        3 => {
            let end = at + random.below(input.len() - at + 1);
            let piece = input[at..end].to_vec();
            input.splice(at..at, piece);
        }
        4 => {
            let end = at + random.below(input.len() - at + 1);
            input.drain(at..end);
        }
        // The head of this and the tail of another.
        5 => {
            let other = &corpus[random.below(corpus.len())];
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        // A number of 2, 4 or 8 bytes, in either order.
        6 => {
            let len = [2, 4, 8][random.below(3)];
            let number = NUMBERS[random.below(NUMBERS.len())].wrapping_add(random.below(3) as u64).wrapping_sub(1);
            let mut bytes = number.to_le_bytes()[..len].to_vec();
            if random.below(2) == 0 {
                bytes.reverse();
            }
            let end = (at + len).min(input.len());
            input.splice(at..end, bytes);
        }
        _ if at == input.len() => input.push(random.bits() as u8),
        7 => input[at] ^= 1 << random.below(8),
        _ => input[at] = BYTES[random.below(BYTES.len())],
    }
}
