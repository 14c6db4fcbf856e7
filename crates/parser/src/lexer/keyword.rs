//! Keywords of MySQL 8.0 (reference manual, chapter "Keywords and Reserved Words") and their lookup.
//!
//! The table holds every reserved word, and those non-reserved words the grammar asks for; any other non-reserved word is an
//! identifier to the lexer already. Words that MySQL treats as function names only when `(` follows at once (`COUNT`, `SUM`,
//! `NOW`, …) are no keywords here: the expression parser knows them.
//!
//! Lookup is one hash of the word, folded to upper case, into a table filled at compile time, and one comparison.

macro_rules! keywords {
    (reserved: [$($r:ident),* $(,)?], free: [$($n:ident),* $(,)?]) => {
        /// A keyword.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u16)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, missing_docs)]
        pub(crate) enum Kw { $($r,)* $($n,)* }

        /// Keywords in the order of [`Kw`].
        const KEYWORDS: &[(Kw, &str)] = &[$((Kw::$r, stringify!($r)),)* $((Kw::$n, stringify!($n)),)*];

        /// How many of them, from the first, are reserved.
        const RESERVED: usize = [$(stringify!($r)),*].len();
    };
}

keywords! {
    reserved: [
        ACCESSIBLE, ADD, ALL, ALTER, ANALYZE, AND, AS, ASC, ASENSITIVE, BEFORE, BETWEEN, BIGINT, BINARY, BLOB, BOTH, BY, CALL,
        CASCADE, CASE, CHANGE, CHAR, CHARACTER, CHECK, COLLATE, COLUMN, CONDITION, CONSTRAINT, CONTINUE, CONVERT, CREATE, CROSS, CUBE,
        CUME_DIST, CURRENT_DATE, CURRENT_TIME, CURRENT_TIMESTAMP, CURRENT_USER, CURSOR, DATABASE, DATABASES, DAY_HOUR,
        DAY_MICROSECOND, DAY_MINUTE, DAY_SECOND, DEC, DECIMAL, DECLARE, DEFAULT, DELAYED, DELETE, DENSE_RANK, DESC, DESCRIBE,
        DETERMINISTIC, DISTINCT, DISTINCTROW, DIV, DOUBLE, DROP, DUAL, EACH, ELSE, ELSEIF, EMPTY, ENCLOSED, ESCAPED, EXCEPT, EXISTS,
        EXIT, EXPLAIN, FALSE, FETCH, FIRST_VALUE, FLOAT, FLOAT4, FLOAT8, FOR, FORCE, FOREIGN, FROM, FULLTEXT, FUNCTION, GENERATED,
        GET, GRANT, GROUP, GROUPING, GROUPS, HAVING, HIGH_PRIORITY, HOUR_MICROSECOND, HOUR_MINUTE, HOUR_SECOND, IF, IGNORE, IN, INDEX,
        INFILE, INNER, INOUT, INSENSITIVE, INSERT, INT, INT1, INT2, INT3, INT4, INT8, INTEGER, INTERSECT, INTERVAL, INTO,
        IO_AFTER_GTIDS, IO_BEFORE_GTIDS, IS, ITERATE, JOIN, JSON_TABLE, KEY, KEYS, KILL, LAG, LAST_VALUE, LATERAL, LEAD, LEADING,
        LEAVE, LEFT, LIKE, LIMIT, LINEAR, LINES, LOAD, LOCALTIME, LOCALTIMESTAMP, LOCK, LONG, LONGBLOB, LONGTEXT, LOOP, LOW_PRIORITY,
        MASTER_BIND, MASTER_SSL_VERIFY_SERVER_CERT, MATCH, MAXVALUE, MEDIUMBLOB, MEDIUMINT, MEDIUMTEXT, MIDDLEINT, MINUTE_MICROSECOND,
        MINUTE_SECOND, MOD, MODIFIES, NATURAL, NOT, NO_WRITE_TO_BINLOG, NTH_VALUE, NTILE, NULL, NUMERIC, OF, ON, OPTIMIZE,
        OPTIMIZER_COSTS, OPTION, OPTIONALLY, OR, ORDER, OUT, OUTER, OUTFILE, OVER, PARTITION, PERCENT_RANK, PRECISION, PRIMARY,
        PROCEDURE, PURGE, RANGE, RANK, READ, READS, READ_WRITE, REAL, RECURSIVE, REFERENCES, REGEXP, RELEASE, RENAME, REPEAT, REPLACE,
        REQUIRE, RESIGNAL, RESTRICT, RETURN, REVOKE, RIGHT, RLIKE, ROW, ROWS, ROW_NUMBER, SCHEMA, SCHEMAS, SECOND_MICROSECOND, SELECT,
        SENSITIVE, SEPARATOR, SET, SHOW, SIGNAL, SMALLINT, SPATIAL, SPECIFIC, SQL, SQLEXCEPTION, SQLSTATE, SQLWARNING, SQL_BIG_RESULT,
        SQL_CALC_FOUND_ROWS, SQL_SMALL_RESULT, SSL, STARTING, STORED, STRAIGHT_JOIN, SYSTEM, TABLE, TERMINATED, THEN, TINYBLOB,
        TINYINT, TINYTEXT, TO, TRAILING, TRIGGER, TRUE, UNDO, UNION, UNIQUE, UNLOCK, UNSIGNED, UPDATE, USAGE, USE, USING, UTC_DATE,
        UTC_TIME, UTC_TIMESTAMP, VALUES, VARBINARY, VARCHAR, VARCHARACTER, VARYING, VIRTUAL, WHEN, WHERE, WHILE, WINDOW, WITH, WRITE,
        XOR, YEAR_MONTH, ZEROFILL,
    ],
    free: [
        ACCOUNT, ACTION, ADMIN, AFTER, AGAINST, ALGORITHM, ALWAYS, ANY, ARRAY, ASCII, AT, ATTRIBUTE, AUTO_INCREMENT, BEGIN, BINLOG,
        BIT, BOOL, BOOLEAN, BUCKETS, BYTE, CACHE, CANCEL, CASCADED, CHAIN, CHANGED, CHARSET, CHECKSUM, CIPHER, CLONE, CLOSE, COALESCE,
        COLLATION, COLUMNS, COLUMN_FORMAT, COMMENT, COMMIT, COMMITTED, CONCURRENT, CONNECTION, CONSISTENT, CURRENT, DATA, DATE,
        DATETIME, DAY, DDL, DEALLOCATE, DEFINER, DIRECTORY, DISABLE, DISCARD, DISK, DO, DUMPFILE, DUPLICATE, DYNAMIC, ENABLE,
        ENCRYPTION, END, ENFORCED, ENGINE, ENGINES, ENGINE_ATTRIBUTE, ENUM, ERROR, ERRORS, ESCAPE, EVENT, EVENTS, EXCHANGE, EXECUTE,
        EXPANSION, EXPIRE, EXPORT, EXTENDED, FAILED_LOGIN_ATTEMPTS, FAST, FIELDS, FIRST, FIXED, FLUSH, FOLLOWING, FORMAT, FULL,
        GEOMCOLLECTION, GEOMETRY, GEOMETRYCOLLECTION, GET_FORMAT, GLOBAL, GRANTS, HANDLER, HASH, HELP, HISTOGRAM, HISTORY, HOSTS,
        HOUR, IDENTIFIED, IMPORT, INDEXES, INSTALL, INSTANCE, INVISIBLE, INVOKER, ISOLATION, ISSUER, JOBS, JSON, KEY_BLOCK_SIZE,
        LANGUAGE, LAST, LESS, LEVEL, LINESTRING, LIST, LOCAL, LOCKED, LOGFILE, LOGS, MASTER, MEDIUM, MEMBER, MEMORY, MICROSECOND,
        MINUTE, MODE, MODIFY, MONTH, MULTILINESTRING, MULTIPOINT, MULTIPOLYGON, MUTEX, NAMES, NATIONAL, NCHAR, NESTED, NEVER, NO,
        NONE, NOWAIT, NULLS, NVARCHAR, OFFSET, OLD, ONLY, OPEN, OPTIMISTIC, OPTIONAL, ORDINALITY, PARSER, PARTIAL, PARTITIONING,
        PARTITIONS, PASSWORD, PASSWORD_LOCK_TIME, PATH, PAUSE, PERSIST, PERSIST_ONLY, PESSIMISTIC, PLUGINS, POINT, POLYGON, PRECEDING,
        PREPARE, PRIVILEGES, PROCESSLIST, PROFILE, PROFILES, PROXY, QUARTER, QUERY, QUICK, RANDOM, REBUILD, RECOVER, REFERENCE,
        REMOVE, REORGANIZE, REPAIR, REPEATABLE, REPLICA, REPLICAS, RESET, RESOURCE, RESPECT, RESTART, RESUME, RETAIN, RETURNING,
        REUSE, ROLE, ROLLBACK, ROLLUP, ROUTINE, SAVEPOINT, SECOND, SECONDARY, SECONDARY_ENGINE_ATTRIBUTE, SECURITY, SERIAL,
        SERIALIZABLE, SERVER, SESSION, SHARE, SHUTDOWN, SIGNED, SIMPLE, SKIP, SLAVE, SNAPSHOT, SOME, SOUNDS, SQL_BUFFER_RESULT,
        SQL_NO_CACHE, SRID, START, STATUS, STOP, STORAGE, SUBJECT, SUBPARTITION, SUBPARTITIONS, TABLES, TABLESPACE, TEMPORARY, TEXT,
        THAN, TIME, TIMESTAMP, TRANSACTION, TRIGGERS, TRUNCATE, TYPE, UNBOUNDED, UNCOMMITTED, UNDEFINED, UNICODE, UNINSTALL, UNKNOWN,
        UPGRADE, USER, USER_RESOURCES, VALIDATION, VALUE, VARIABLES, VIEW, VISIBLE, WARNINGS, WEEK, WITHOUT, WORK, X509, XA, YEAR,
    ]
}

/// Slots of the table, a power of two several times the number of words, so that probes are rare.
const SLOTS: usize = 4096;

/// The longest keyword; longer words are not looked up.
const MAX_KEYWORD_BYTES: usize = 29;

const EMPTY: u16 = u16::MAX;

static TABLE: [u16; SLOTS] = build_table();

const fn hash(word: &[u8]) -> usize {
    let mut h: u32 = 0x811c_9dc5;
    let mut i = 0;
    while i < word.len() {
        // Folds letters to upper case; what it does to other bytes does not matter, the comparison decides.
        h = (h ^ (word[i] & 0xdf) as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    ((h ^ (h >> 13)) as usize) & (SLOTS - 1)
}

const fn build_table() -> [u16; SLOTS] {
    let mut table = [EMPTY; SLOTS];
    let mut i = 0;
    while i < KEYWORDS.len() {
        let mut slot = hash(KEYWORDS[i].1.as_bytes());
        while table[slot] != EMPTY {
            slot = (slot + 1) & (SLOTS - 1);
        }
        table[slot] = i as u16;
        i += 1;
    }
    table
}

impl Kw {
    /// The keyword spelled by `word` in any letter case.
    pub(crate) fn lookup(word: &[u8]) -> Option<Kw> {
        if word.len() < 2 || word.len() > MAX_KEYWORD_BYTES {
            return None;
        }
        let mut slot = hash(word);
        while TABLE[slot] != EMPTY {
            let (kw, name) = KEYWORDS[TABLE[slot] as usize];
            if name.as_bytes().eq_ignore_ascii_case(word) {
                return Some(kw);
            }
            slot = (slot + 1) & (SLOTS - 1);
        }
        None
    }

    /// Whether the word is reserved: no identifier unless quoted or after a dot.
    pub(crate) fn is_reserved(self) -> bool {
        (self as usize) < RESERVED
    }

    /// The word in upper case.
    pub(crate) fn name(self) -> &'static str {
        KEYWORDS[self as usize].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_letter_case() {
        for (kw, name) in KEYWORDS {
            assert_eq!(Kw::lookup(name.as_bytes()), Some(*kw));
            assert_eq!(Kw::lookup(name.to_ascii_lowercase().as_bytes()), Some(*kw));
            assert_eq!(kw.name(), *name);
            assert!(name.len() <= MAX_KEYWORD_BYTES);
        }
        assert!(Kw::SELECT.is_reserved() && Kw::ZEROFILL.is_reserved() && !Kw::ACCOUNT.is_reserved());
        assert_eq!(Kw::lookup(b"sbtest1"), None);
        assert_eq!(Kw::lookup(b"selec\x94"), None);
    }
}
