//! `utf8mb4_0900_ai_ci`: primary weights of the Unicode Collation Algorithm, no padding.
//!
//! Weights, contractions and expansions are ICU's root collation at primary strength, punctuation not ignored. Its sort key at this
//! strength is the concatenation of the characters' primary weights (one to four bytes each), where weights that follow one
//! another and begin with the same byte may share it:
//!
//! ```text
//! first weight of a run         all its bytes
//! next weight, same first byte  without the first byte, when that byte is compressible
//! run ends, next is smaller     03   (left out before the merge separator)
//! run ends, next is greater     ff
//! ```
//!
//! ICU's root is CLDR's, MySQL's is the plain table of Unicode 9.0. They agree on the order of ASCII and on which letters are equal; they differ
//! for typographic quotes (`’` equals `'` here), for characters newer than Unicode 9.0, and in the order of some symbols.
//!
//! Where only equality counts, ASCII is written as ranks among its weights, a byte a character; other text that happens to be equal to ASCII
//! (`é` equals `e`) is found by reading its sort key back.
//!
//! ASCII has no contractions and no expansions in this collation, so text of ASCII alone takes a path of its own: the same
//! weights from a table of 128 entries, the same compression, hence the same bytes. What a character adds depends on nothing but itself and the
//! first byte its predecessor may share, and few first bytes are shared in ASCII: all answers are tabulated, one load a character.

use std::{cmp::Ordering, sync::LazyLock};

use super::common_prefix;

use icu_collator::{
    CollatorBorrowed, CollatorPreferences,
    options::{AlternateHandling, CollatorOptions, Strength},
};

/// Ends a run of weights when a smaller weight follows.
const RUN_END_BEFORE_SMALLER: u8 = 0x03;
/// Ends a run of weights when a greater weight follows.
const RUN_END_BEFORE_GREATER: u8 = 0xff;
/// Weights up to this first byte end a run by themselves.
const MERGE_SEPARATOR: u8 = 0x02;

static COLLATOR: LazyLock<CollatorBorrowed<'static>> = LazyLock::new(|| {
    let mut options = CollatorOptions::default();
    options.strength = Some(Strength::Primary);
    options.alternate_handling = Some(AlternateHandling::NonIgnorable);
    CollatorBorrowed::try_new(CollatorPreferences::default(), options).expect("the root collation is compiled in")
});

/// What the ASCII path knows of the 128 characters.
struct Ascii {
    /// Primary weight, left-aligned; 0 for ignorable characters.
    weights: [u32; 128],
    /// Position among the weights, for comparisons; 0 for ignorable characters.
    ranks: [u8; 128],
    /// Whether the first byte of the weight is shared by neighbours.
    shares_first_byte: [bool; 128],
    /// What the successor of a character must know of it: 0, or the number of the first byte it may share.
    passes_on: [u8; 128],
    /// What a character adds behind a predecessor that passes on a number: `steps[number][character]`.
    steps: [[Step; 128]; PASSED_ON],
    /// The characters whose step behind such a predecessor begins with a byte, one for each weight: `readings[number][byte]`.
    readings: Vec<[Vec<u8>; 256]>,
}

/// What a character adds to a sort key: from the lowest byte up to five bytes of the key; in the highest byte how many of them count; below it
/// [`IGNORABLE`].
type Step = u64;

/// A step of a character that adds nothing: the one before it is its successor's predecessor.
const IGNORABLE: Step = 1 << 48;
const LEN_SHIFT: u32 = 56;
const STEP_LEN: usize = size_of::<Step>();

/// Numbers that characters pass on, with zero: as many first bytes are shared in ASCII, rounded up to a power of two.
const PASSED_ON: usize = 8;

/// The most bytes a character adds: the end of a run and a whole weight.
const MAX_STEP_LEN: usize = 5;

/// Characters whose steps are gathered before they go to the key together.
const BLOCK_CHARS: usize = 48;

/// What they may add, as a power of two, so that no place in it needs to be checked.
const BLOCK_BYTES: usize = (BLOCK_CHARS * MAX_STEP_LEN).next_power_of_two();

static ASCII: LazyLock<Ascii> = LazyLock::new(|| {
    let key_of = |text: &[u8]| {
        let mut key = Vec::new();
        icu_sort_key(text, &mut key);
        key
    };
    let mut ascii = Ascii {
        weights: [0; 128],
        ranks: [0; 128],
        shares_first_byte: [false; 128],
        passes_on: [0; 128],
        steps: [[0; 128]; PASSED_ON],
        readings: Vec::new(),
    };
    for c in 0..128u8 {
        let key = key_of(&[c]);
        let at = usize::from(c);
        let mut bytes = [0; 4];
        bytes[..key.len()].copy_from_slice(&key);
        ascii.weights[at] = u32::from_be_bytes(bytes);
        ascii.shares_first_byte[at] = !key.is_empty() && key_of(&[c, c]).len() < 2 * key.len();
    }
    let mut sorted: Vec<u32> = ascii.weights.to_vec();
    sorted.extend([0]);
    sorted.sort_unstable();
    sorted.dedup();
    for (rank, weight) in ascii.ranks.iter_mut().zip(ascii.weights) {
        *rank = sorted.binary_search(&weight).expect("every weight is in the list of weights") as u8;
    }
    tabulate_steps(&mut ascii);
    ascii
});

/// Fills `passes_on` and `steps` from the weights.
fn tabulate_steps(ascii: &mut Ascii) {
    // One weight of each shared first byte stands for all of them; zero for no sharing.
    let mut runs = vec![0u32];
    for at in 0..128 {
        let weight = ascii.weights[at];
        if ascii.shares_first_byte[at] {
            let known = runs.iter().position(|run| *run != 0 && run >> 24 == weight >> 24);
            ascii.passes_on[at] = known.unwrap_or_else(|| {
                runs.push(weight);
                runs.len() - 1
            }) as u8;
        }
    }
    assert!(runs.len() <= PASSED_ON, "{} first bytes are shared in ASCII", runs.len() - 1);
    for (number, run) in runs.into_iter().enumerate() {
        for at in 0..128 {
            let mut added = Vec::with_capacity(MAX_STEP_LEN);
            push_weight(ascii, at, run, &mut added);
            assert!(added.len() <= MAX_STEP_LEN, "a character adds {added:?}");
            let len = (added.len() as Step) << LEN_SHIFT;
            added.resize(STEP_LEN, 0);
            let bytes = Step::from_le_bytes(added.try_into().expect("it was made that long"));
            ascii.steps[number][at] = bytes | len | if ascii.weights[at] == 0 { IGNORABLE } else { 0 };
        }
        ascii.readings.push(readings(&ascii.weights, &ascii.steps[number]));
    }
}

/// One character of each weight, by the first byte of its step.
fn readings(weights: &[u32; 128], steps: &[Step; 128]) -> [Vec<u8>; 256] {
    let mut readings = std::array::from_fn(|_| Vec::new());
    for at in 0..128 {
        if weights[at] != 0 && !weights[..at].contains(&weights[at]) {
            readings[usize::from(steps[at] as u8)].push(at as u8);
        }
    }
    readings
}

impl Ascii {
    /// Puts the ranks of the characters of ASCII with the sort key `out[start..]` in its place; leaves it where there are no such characters.
    fn read_back(&self, start: usize, out: &mut Vec<u8>) -> bool {
        let end = out.len();
        let (mut at, mut before) = (start, 0);
        while at < end {
            let key = &out[at..end];
            let step_of = |character: &&u8| {
                let step = self.steps[before][usize::from(**character)];
                key.starts_with(&step.to_le_bytes()[..(step >> LEN_SHIFT) as usize])
            };
            let Some(character) = self.readings[before][usize::from(key[0])].iter().find(step_of) else {
                out.truncate(end);
                return false;
            };
            let character = usize::from(*character);
            at += (self.steps[before][character] >> LEN_SHIFT) as usize;
            before = usize::from(self.passes_on[character]);
            out.push(self.ranks[character]);
        }
        out.drain(start..end);
        true
    }
}

fn icu_sort_key(text: &[u8], out: &mut Vec<u8>) {
    let Ok(()) = COLLATOR.write_sort_key_utf8_to(text, out);
}

/// Orders two strings.
#[inline]
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if a.is_ascii() && b.is_ascii() { compare_ascii(a, b) } else { COLLATOR.compare_utf8(a, b) }
}

fn compare_ascii(a: &[u8], b: &[u8]) -> Ordering {
    let ranks = &ASCII.ranks;
    let skipped = common_prefix(a, b);
    let (a, b) = (&a[skipped..], &b[skipped..]);
    let rank = |&byte: &u8| ranks[usize::from(byte & 0x7f)];
    let same = a.iter().zip(b).take_while(|(x, y)| rank(x) == rank(y)).count();
    // Behind the part of equal ranks an ignorable character may still shift one of the two.
    let weighty = |&r: &u8| r != 0;
    a[same..].iter().map(rank).filter(weighty).cmp(b[same..].iter().map(rank).filter(weighty))
}

/// Appends the sort key.
#[inline]
pub fn sort_key(text: &[u8], out: &mut Vec<u8>) {
    if text.is_ascii() { sort_key_ascii(text, out) } else { icu_sort_key(text, out) }
}

fn sort_key_ascii(text: &[u8], out: &mut Vec<u8>) {
    let ascii = &*ASCII;
    let start = out.len();
    let mut block_key = [0; BLOCK_BYTES + STEP_LEN];
    let (mut before, mut ignorable) = (0, 0);
    for block in text.chunks(BLOCK_CHARS) {
        let mut len = 0;
        for &byte in block {
            let at = usize::from(byte & 0x7f);
            let step = ascii.steps[before % PASSED_ON][at];
            // Whole steps are stored; the next one overwrites what does not count.
            let place = len % BLOCK_BYTES;
            block_key[place..place + STEP_LEN].copy_from_slice(&step.to_le_bytes());
            len += (step >> LEN_SHIFT) as usize;
            ignorable |= step;
            before = usize::from(ascii.passes_on[at]);
        }
        out.extend_from_slice(&block_key[..len]);
    }
    if ignorable & IGNORABLE != 0 {
        out.truncate(start);
        sort_key_with_ignorables(ascii, text, out);
    }
}

/// Appends the first `limit` bytes of the sort key; answers whether there may be more.
pub fn leading_sort_key(text: &[u8], limit: usize, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    // Every character of ASCII adds a byte at least, but for ignorable ones.
    let ascii = text.is_ascii();
    sort_key(if ascii { &text[..text.len().min(limit)] } else { text }, out);
    if out.len() - start < limit && ascii && text.len() > limit {
        out.truncate(start);
        sort_key(text, out);
    }
    let cut = out.len() - start >= limit;
    out.truncate(start + limit);
    cut
}

/// Begins what [`equality_key`] writes for text that is equal to no ASCII; no rank.
const NOT_ASCII: u8 = 0xff;

/// Appends bytes that are the same for two strings if, and only if, they are equal.
#[inline]
pub fn equality_key(text: &[u8], out: &mut Vec<u8>) {
    let ascii = &*ASCII;
    let start = out.len();
    if text.is_ascii() {
        let mut least = u8::MAX;
        out.extend(text.iter().map(|&byte| {
            let rank = ascii.ranks[usize::from(byte & 0x7f)];
            least = least.min(rank);
            rank
        }));
        if least == 0 {
            out.truncate(start);
            out.extend(text.iter().map(|&byte| ascii.ranks[usize::from(byte & 0x7f)]).filter(|rank| *rank != 0));
        }
        return;
    }
    icu_sort_key(text, out);
    if !ascii.read_back(start, out) {
        out.insert(start, NOT_ASCII);
    }
}

/// The sort key of ASCII in which control characters hide who precedes whom.
fn sort_key_with_ignorables(ascii: &Ascii, text: &[u8], out: &mut Vec<u8>) {
    let mut run = 0;
    for &byte in text {
        run = push_weight(ascii, usize::from(byte & 0x7f), run, out);
    }
}

/// Appends what a character adds when a run of weights like `run` (0: none) is open; answers the run that is open behind it.
fn push_weight(ascii: &Ascii, at: usize, run: u32, out: &mut Vec<u8>) -> u32 {
    let weight = ascii.weights[at];
    if weight == 0 {
        return run;
    }
    let bytes = weight.to_be_bytes();
    let shares = ascii.shares_first_byte[at];
    let in_run = shares && run >> 24 == weight >> 24;
    if !in_run {
        if run != 0 {
            if weight > run {
                out.push(RUN_END_BEFORE_GREATER);
            } else if bytes[0] > MERGE_SEPARATOR {
                out.push(RUN_END_BEFORE_SMALLER);
            }
        }
        out.push(bytes[0]);
    }
    out.extend(bytes[1..].iter().take_while(|&&b| b != 0));
    match (in_run, shares) {
        (true, _) => run,
        (false, true) => weight,
        (false, false) => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        sort_key(text.as_bytes(), &mut out);
        out
    }

    proptest! {
        #[test]
        fn ascii_path_gives_the_bytes_of_icu(text in "[\\x00-\\x7f]{0,24}") {
            let mut expected = Vec::new();
            icu_sort_key(text.as_bytes(), &mut expected);
            prop_assert_eq!(key(&text), expected);
        }

        #[test]
        fn ascii_comparison_is_icus(a in "[\\x00-\\x09 a-dA-D0-2_.-]{0,6}", b in "[\\x00-\\x09 a-dA-D0-2_.-]{0,6}") {
            prop_assert_eq!(compare(a.as_bytes(), b.as_bytes()), COLLATOR.compare_utf8(a.as_bytes(), b.as_bytes()));
            prop_assert_eq!(compare(a.as_bytes(), b.as_bytes()), key(&a).cmp(&key(&b)));
        }

        #[test]
        fn equality_keys_are_equal_for_equal_strings_only(a in "[\\x00-\\x02a-cA-C0-2 _.éÉßçàÄ漢ﬁ\u{300}-\u{301}]{0,5}", b in "[\\x00-\\x02a-cA-C0-2 _.éÉßçàÄ漢ﬁ\u{300}-\u{301}]{0,5}") {
            let key_of = |text: &str| {
                let mut out = b"before".to_vec();
                equality_key(text.as_bytes(), &mut out);
                out
            };
            prop_assert_eq!(key_of(&a) == key_of(&b), key(&a) == key(&b));
        }

        #[test]
        fn ascii_is_read_back_from_its_sort_key(text in "[\\x00-\\x7f]{0,24}") {
            let (mut ranks, mut read) = (Vec::new(), key(&text));
            equality_key(text.as_bytes(), &mut ranks);
            prop_assert!(ASCII.read_back(0, &mut read));
            prop_assert_eq!(read, ranks);
        }

        #[test]
        fn leading_sort_keys_are_the_beginning(text in "[\\x00-\\x02a-zA-Z0-9 _.éß漢]{0,24}|[\\x00-\\x7f]{0,24}", limit in 1..20usize) {
            let (whole, mut out) = (key(&text), b"x".to_vec());
            let cut = leading_sort_key(text.as_bytes(), limit, &mut out);
            prop_assert_eq!(&out[1..], &whole[..whole.len().min(limit)]);
            prop_assert!(cut || whole.len() <= limit);
        }

        #[test]
        fn comparison_is_the_order_of_sort_keys(a in "[a-eA-E éÉßøØ漢字😀ﬁ\u{300}-\u{303}]{0,6}", b in "[a-eA-E éÉßøØ漢字😀ﬁ\u{300}-\u{303}]{0,6}") {
            prop_assert_eq!(compare(a.as_bytes(), b.as_bytes()), key(&a).cmp(&key(&b)));
        }
    }

    #[test]
    fn steps_are_no_beginnings_of_each_other() {
        let bytes = |step: Step| step.to_le_bytes()[..(step >> LEN_SHIFT) as usize].to_vec();
        for (number, steps) in ASCII.steps.iter().enumerate().take(ASCII.readings.len()) {
            let characters: Vec<usize> = ASCII.readings[number].iter().flatten().map(|at| usize::from(*at)).collect();
            for a in &characters {
                for b in characters.iter().filter(|b| *b != a) {
                    assert!(!bytes(steps[*b]).starts_with(&bytes(steps[*a])), "behind {number}, {a} and {b}");
                }
            }
        }
        assert!(ASCII.ranks.iter().all(|rank| *rank != NOT_ASCII));
    }

    #[test]
    fn sort_keys_stay_what_indexes_hold() {
        // FNV-1a over the keys of all characters of the Basic Multilingual Plane. When this fails, the collation data changed: raise
        // WEIGHTS_VERSION, and refuse data of the old one or reindex it.
        let mut keys = Vec::new();
        for c in (0..=0xffff).filter_map(char::from_u32) {
            sort_key(c.to_string().as_bytes(), &mut keys);
            keys.push(0);
        }
        let hash = keys.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        assert_eq!(hash, 0xc267_7f21_ad67_bc34, "{hash:#x}");
    }

    #[test]
    fn answers_of_mysql() {
        let equal = |a: &str, b: &str| compare(a.as_bytes(), b.as_bytes()) == Ordering::Equal;
        assert!(equal("a", "A") && equal("é", "E") && equal("ß", "ss") && equal("ﬁ", "FI"));
        assert!(!equal("a", "a ") && !equal("a b", "ab") && !equal("a-b", "ab"));
        assert_eq!(compare(b"a", b"B"), Ordering::Less);
        assert_eq!(compare(b"Z", b"a"), Ordering::Greater);
        assert_eq!(compare(b"10", b"9"), Ordering::Less);
    }
}
