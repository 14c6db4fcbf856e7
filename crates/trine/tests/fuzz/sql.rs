//! The lexer, parser and normaliser. `parser`'s own tests mutate its golden statements word by word; here they are bytes.

use parser::{ParseOptions, digest, normalize_bytes, parse_bytes};

use crate::mutation::fuzz;

const SEEDS: [&str; 10] = [
    "SELECT a, b FROM t WHERE a = 1 AND b > 'x' ORDER BY b DESC LIMIT 10",
    "INSERT INTO t (a, b) VALUES (1, 'x'), (-2.5e3, NULL) ON DUPLICATE KEY UPDATE b = VALUES(b)",
    "UPDATE t SET b = CONCAT(b, \"z\\n\") WHERE a IN (1, 2, 3) LIMIT 1",
    "SELECT COUNT(DISTINCT a) FROM t t1 LEFT JOIN `t` t2 USING (a) GROUP BY b HAVING COUNT(*) > 1",
    "SELECT (SELECT MAX(a) FROM t) + 1, CASE WHEN a > 1 THEN 'p' ELSE NULL END FROM t /* c */ -- end",
    "CREATE TABLE x (a INT PRIMARY KEY AUTO_INCREMENT, b DECIMAL(10,2) DEFAULT 1.5, KEY (b))",
    "SET @a = 1, SESSION sql_mode = 'STRICT_TRANS_TABLES', @@global.x = ON",
    "SELECT CAST('2024-02-30' AS DATE), DATE_ADD(NOW(), INTERVAL 1 DAY), 0x4142, b'101', _utf8mb4'\u{e4}'",
    "/*!80000 SELECT */ 1; BEGIN; ROLLBACK TO SAVEPOINT s",
    "SELECT ((((((((((1))))))))))",
];

#[test]
fn texts() {
    let options = [
        ParseOptions::default(),
        ParseOptions { ansi_quotes: true, no_backslash_escapes: true, pipes_as_concat: true, ..ParseOptions::default() },
    ];
    fuzz("SQL texts", SEEDS.iter().map(|text| text.as_bytes().to_vec()).collect(), |input| {
        let parsed = options.each_ref().map(|options| {
            let _ = normalize_bytes(input, options);
            parse_bytes(input, options)
        });
        let _ = digest(&String::from_utf8_lossy(input));
        let Ok(statements) = &parsed[0] else { return false };
        // What the parser accepts it can say again.
        for statement in statements {
            let text = statement.to_string();
            parse_bytes(text.as_bytes(), &options[0]).unwrap_or_else(|error| panic!("{text:?} was restored, but: {error}"));
        }
        true
    });
}
