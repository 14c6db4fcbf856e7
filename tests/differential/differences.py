"""Where MariaDB 10.11 answers otherwise than MySQL 8.0, which Trine follows: each with its reason."""

import re

# (what the statement must contain, why)
BY_TEXT = [
    (r"TIME_TO_SEC\(", "TIME_TO_SEC of a time with a fraction: MySQL gives whole seconds, MariaDB the fraction too"),
    (r"[LR]PAD\(", "padding with an empty text: MySQL gives an empty text, MariaDB NULL"),
    (r"REPLACE\(", "REPLACE of an empty text by NULL: MySQL gives NULL, MariaDB the text"),
    (r"VAR_SAMP\(|STDDEV_POP\(", "variances: MariaDB rounds them to four places more than the argument has"),
    (r"/", "quotients: MariaDB goes on with the places that are shown, MySQL with all that were computed"),
    (r"DIV|%", "quotients and remainders of DOUBLE: digits beyond a double's precision"),
    (r"INTERVAL", "a text plus an interval is a text in MySQL, also where a number is wanted; in MariaDB it is a moment"),
    (r"(SUM|AVG)\(.*ADDTIME", "hours beyond 838: MariaDB's average overflows"),
    (r"\+0", "a negative time as a number: MariaDB loses its sign"),
    (r"(GREATEST|LEAST)\(", "the greatest of texts where a number is wanted: MySQL compares texts, MariaDB numbers"),
]
NOT_NEEDED = "numbers out of range in operands whose value is not needed: MySQL and MariaDB do not look at them, Trine computes whole columns (1690)"


def reason(statement, ours, theirs):
    """Why the answers may differ; None if nobody knows."""
    if ours == ("error", 1690) and theirs[0] == "rows":
        return NOT_NEEDED
    if "error" in (ours[0], theirs[0]):
        return None
    return next((why for pattern, why in BY_TEXT if re.search(pattern, statement)), None)
