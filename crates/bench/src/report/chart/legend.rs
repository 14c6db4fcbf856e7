//! What stands at the end of a line and above a column: the subject's name if it is short, otherwise a letter that is explained beside it.

/// Longest name, in characters, that fits beside a chart and above a figure.
const LONGEST_NAME: usize = 12;

/// What each subject is called within charts and tables of many columns.
pub(crate) fn labels(subjects: &[String]) -> Vec<String> {
    if subjects.iter().all(|name| name.chars().count() <= LONGEST_NAME) {
        return subjects.to_vec();
    }
    (0..subjects.len()).map(letter).collect()
}

fn letter(position: usize) -> String {
    let last = char::from(b'A' + (position % 26) as u8);
    if position < 26 { last.to_string() } else { format!("{}{last}", letter(position / 26 - 1)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_stand_beside_the_lines_and_long_ones_become_letters() {
        assert_eq!(labels(&["trine".to_string(), "mariadb".to_string()]), ["trine", "mariadb"]);
        assert_eq!(labels(&["trine, plan cache on".to_string(), "trine".to_string()]), ["A", "B"]);
        assert_eq!((letter(25), letter(26)), ("Z".to_string(), "AA".to_string()));
    }
}
