//! A command line: a verb, `name=value` options, flags, and the rest (keys, or `op:key=value` mutations).

use base::TimeStamp;
use bytes::Bytes;

pub struct Words<'a> {
    verb: &'a str,
    words: Vec<(&'a str, bool)>,
}

impl<'a> Words<'a> {
    pub fn new(line: &'a str) -> Self {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap_or_default();
        Self { verb, words: words.map(|word| (word, false)).collect() }
    }

    pub fn verb(&self) -> &'a str {
        self.verb
    }

    pub fn value(&mut self, name: &str) -> Option<&'a str> {
        let found =
            self.words.iter_mut().find(|(word, _)| !word.contains(':') && word.split_once('=').is_some_and(|(left, _)| left == name))?;
        found.1 = true;
        found.0.split_once('=').map(|(_, value)| value)
    }

    pub fn number(&mut self, name: &str) -> u64 {
        self.value(name).map_or(0, |value| value.parse().unwrap_or_else(|_| panic!("{name}={value} is not a number")))
    }

    /// A timestamp; `max` is the greatest one, and absent is zero.
    pub fn ts(&mut self, name: &str) -> TimeStamp {
        self.ts_or(name, TimeStamp::ZERO)
    }

    /// A timestamp; `12s` is twelve seconds of physical time.
    pub fn ts_or(&mut self, name: &str, absent: TimeStamp) -> TimeStamp {
        match self.value(name) {
            None => absent,
            Some("max") => TimeStamp::MAX,
            Some(value) => match value.strip_suffix('s') {
                Some(seconds) => TimeStamp::compose(seconds.parse::<u64>().expect("seconds") * 1000, 0),
                None => TimeStamp(value.parse().unwrap_or_else(|_| panic!("{name}={value} is not a timestamp"))),
            },
        }
    }

    pub fn bytes(&mut self, name: &str) -> Option<Bytes> {
        self.value(name).map(|value| Bytes::copy_from_slice(value.as_bytes()))
    }

    pub fn list(&mut self, name: &str) -> Vec<Bytes> {
        let items = self.value(name).into_iter().flat_map(|value| value.split(','));
        items.map(|item| Bytes::copy_from_slice(item.as_bytes())).collect()
    }

    pub fn flag(&mut self, name: &str) -> bool {
        let found = self.words.iter_mut().find(|(word, _)| *word == name);
        found.is_some_and(|word| {
            word.1 = true;
            true
        })
    }

    /// Keys: single letters, so that they cannot be taken for flags.
    pub fn keys(&mut self) -> Vec<&'a str> {
        self.take(|word| word.len() == 1)
    }

    /// Mutations.
    pub fn rest(&mut self) -> Vec<&'a str> {
        self.take(|word| word.contains(':'))
    }

    fn take(&mut self, wanted: impl Fn(&str) -> bool) -> Vec<&'a str> {
        let taken = self.words.iter_mut().filter(|(word, _)| wanted(word));
        taken
            .map(|word| {
                word.1 = true;
                word.0
            })
            .collect()
    }

    pub fn positional_number(&mut self) -> u64 {
        let word = self.words.first_mut().expect("a number");
        word.1 = true;
        word.0.parse().expect("a number")
    }

    pub fn assert_all_used(&self, line: &str) {
        let unused: Vec<_> = self.words.iter().filter(|(_, used)| !used).map(|(word, _)| word).collect();
        assert!(unused.is_empty(), "not understood in {line:?}: {unused:?}");
    }
}
