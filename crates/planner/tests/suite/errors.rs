//! What is wrong with a statement, with MySQL's numbers and messages.

use crate::fixture::{Options, plan};
use expr::SqlMode;

fn error(sql: &str) -> (u16, String) {
    match plan(sql, &Options::default()) {
        Ok(plan) => panic!("{sql} is planned\n{}", crate::fixture::explain(&plan)),
        Err(error) => {
            let error = error.to_mysql();
            (error.code, error.message)
        }
    }
}

#[test]
fn names_that_mean_nothing() {
    let table = [
        ("SELECT nope FROM t", 1054, "Unknown column 'nope' in 'field list'"),
        ("SELECT t.nope FROM t", 1054, "Unknown column 't.nope' in 'field list'"),
        ("SELECT a FROM t WHERE nope = 1", 1054, "Unknown column 'nope' in 'where clause'"),
        ("SELECT a FROM t JOIN h ON nope = 1", 1054, "Unknown column 'nope' in 'on clause'"),
        ("SELECT a FROM t GROUP BY nope", 1054, "Unknown column 'nope' in 'group statement'"),
        ("SELECT a FROM t ORDER BY nope", 1054, "Unknown column 'nope' in 'order clause'"),
        ("SELECT a FROM t ORDER BY 2", 1054, "Unknown column '2' in 'order clause'"),
        ("SELECT a FROM t HAVING nope = 1", 1054, "Unknown column 'nope' in 'having clause'"),
        ("SELECT COUNT(*) FROM t HAVING a > 1", 1054, "Unknown column 'a' in 'having clause'"),
        ("SELECT a AS x FROM t WHERE x = 1", 1054, "Unknown column 'x' in 'where clause'"),
        ("SELECT b FROM t JOIN h USING (nope)", 1054, "Unknown column 'nope' in 'from clause'"),
        ("SELECT a FROM t, h", 1052, "Column 'a' in field list is ambiguous"),
        ("SELECT t.a FROM t, h WHERE b = 1", 1052, "Column 'b' in where clause is ambiguous"),
        ("SELECT 1 FROM nope", 1146, "Table 'test.nope' doesn't exist"),
        ("SELECT 1 FROM nodb.t", 1049, "Unknown database 'nodb'"),
        ("SELECT x.* FROM t", 1051, "Unknown table 'x'"),
        ("SELECT 1 FROM t, t", 1066, "Not unique table/alias: 't'"),
        ("SELECT 1 FROM t AS x JOIN h AS x", 1066, "Not unique table/alias: 'x'"),
        ("SELECT 1 FROM (SELECT 1)", 1248, "Every derived table must have its own alias"),
        ("SELECT 1 FROM (SELECT a, a FROM t) s", 1060, "Duplicate column name 'a'"),
        ("SELECT *", 1096, "No tables used"),
        ("SELECT @@nope", 1193, "Unknown system variable 'nope'"),
        ("SELECT a FROM t FOR UPDATE OF x", 3568, "Unresolved table name 'x' in locking clause."),
        ("DELETE x FROM t", 1109, "Unknown table 'x' in MULTI DELETE"),
    ];
    for (sql, code, message) in table {
        assert_eq!(error(sql), (code, message.to_owned()), "{sql}");
    }
}

#[test]
fn groups_and_aggregates() {
    let not_grouped = |position: usize, column: &str| {
        format!(
            "Expression #{position} of SELECT list is not in GROUP BY clause and contains nonaggregated column '{column}' which is not \
             functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by"
        )
    };
    assert_eq!(error("SELECT a, b FROM h GROUP BY b"), (1055, not_grouped(1, "test.h.a")));
    assert_eq!(error("SELECT b, a + 1 FROM h GROUP BY b"), (1055, not_grouped(2, "test.h.a")));
    assert_eq!(
        error("SELECT a, COUNT(*) FROM h"),
        (
            1140,
            "In aggregated query without GROUP BY, expression #1 of SELECT list contains nonaggregated column 'test.h.a'; this is \
             incompatible with sql_mode=only_full_group_by"
                .to_owned()
        )
    );
    assert_eq!(error("SELECT a FROM h WHERE COUNT(*) > 1"), (1111, "Invalid use of group function".to_owned()));
    assert_eq!(error("SELECT SUM(COUNT(*)) FROM h"), (1111, "Invalid use of group function".to_owned()));
    assert_eq!(error("SELECT a FROM h GROUP BY COUNT(*)").0, 1111);
    assert_eq!(error("SELECT COUNT(*) AS n FROM h GROUP BY n"), (1056, "Can't group on 'n'".to_owned()));
    assert_eq!(error("SELECT DISTINCT a FROM h ORDER BY b").0, 3065);
}

#[test]
fn columns_that_follow_from_the_keys_need_not_be_grouped() {
    for sql in [
        "SELECT a, b, c FROM t GROUP BY a",
        "SELECT t.a, t.b, h.a FROM t JOIN h ON t.a = h.a GROUP BY h.a",
        "SELECT x, y, z FROM p GROUP BY y, x",
        "SELECT a, b FROM h WHERE a = 5 GROUP BY b",
        "SELECT b AS n, COUNT(*) FROM h GROUP BY n HAVING n > 3 ORDER BY n",
        "SELECT a + b, COUNT(*) FROM h GROUP BY a + b",
        "SELECT COUNT(*) FROM h GROUP BY a ORDER BY a, COUNT(*) DESC",
        "SELECT ANY_VALUE(a), b FROM h GROUP BY b",
        "SELECT (a + b) * 2 FROM h GROUP BY a + b",
    ] {
        assert!(plan(sql, &Options::default()).is_ok(), "{sql}: {:?}", plan(sql, &Options::default()).err());
    }
}

#[test]
fn without_only_full_group_by_a_column_is_that_of_some_row() {
    let eval = crate::fixture::session(|eval| eval.sql_mode = SqlMode::default().without(SqlMode::ONLY_FULL_GROUP_BY));
    let planned = crate::fixture::plan_with("SELECT a, b FROM h GROUP BY b", &Options::default(), &eval).expect("planned");
    assert!(crate::fixture::explain(&planned).contains("first_row(test.h.a)"));
}

#[test]
fn shapes_that_do_not_fit() {
    let table = [
        ("SELECT (1, 2) = 3", 1241, "Operand should contain 2 column(s)"),
        ("SELECT (SELECT 1, 2)", 1241, "Operand should contain 1 column(s)"),
        ("SELECT a FROM t WHERE a IN (SELECT a, b FROM h)", 1241, "Operand should contain 1 column(s)"),
        ("SELECT 1 UNION SELECT 1, 2", 1222, "The used SELECT statements have a different number of columns"),
        ("INSERT INTO h VALUES (1)", 1136, "Column count doesn't match value count at row 1"),
        ("INSERT INTO h VALUES (1, 2), (3)", 1136, "Column count doesn't match value count at row 2"),
        ("INSERT INTO h (a) SELECT a, b FROM t", 1136, "Column count doesn't match value count at row 1"),
        ("INSERT INTO h (a, a) VALUES (1, 2)", 1110, "Column 'a' specified twice"),
        ("INSERT INTO h (nope) VALUES (1)", 1054, "Unknown column 'nope' in 'field list'"),
        ("UPDATE h SET nope = 1", 1054, "Unknown column 'nope' in 'field list'"),
        ("UPDATE (SELECT 1 AS a) s SET a = 2", 1288, "The target table s of the UPDATE is not updatable"),
        ("UPDATE t, h SET t.b = 1 ORDER BY t.a", 1221, "Incorrect usage of UPDATE and ORDER BY"),
        ("UPDATE t, h SET t.b = 1 LIMIT 1", 1221, "Incorrect usage of UPDATE and LIMIT"),
        ("SELECT a FROM t WHERE e > 'no date'", 1525, "Incorrect DATETIME value: 'no date'"),
        ("SELECT nope(1)", 1305, "FUNCTION test.nope does not exist"),
        ("SELECT 'a' LIKE 'a' ESCAPE 'xx'", 1210, "Incorrect arguments to ESCAPE"),
        ("SELECT a FROM t USE INDEX (ub) FORCE INDEX (c_d)", 1221, "Incorrect usage of USE INDEX and FORCE INDEX"),
        (
            "SELECT a FROM t UNION SELECT a FROM h ORDER BY t.a",
            1250,
            "Table 't' from one of the SELECTs cannot be used in global ORDER clause",
        ),
        ("SELECT a FROM t USE INDEX (nope)", 1176, "Key 'nope' doesn't exist in table 't'"),
    ];
    for (sql, code, message) in table {
        assert_eq!(error(sql), (code, message.to_owned()), "{sql}");
    }
}

#[test]
fn what_is_parsed_and_not_supported_names_the_feature() {
    let table = [
        ("WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r", "WITH RECURSIVE"),
        ("SELECT * FROM t, LATERAL (SELECT t.a) s", "LATERAL"),
        ("SELECT SUM(DISTINCT a) OVER () FROM t", "<window function>(DISTINCT ..)"),
        ("SELECT COUNT(*) OVER (GROUPS 1 PRECEDING) FROM t", "GROUPS"),
    ];
    for (sql, feature) in table {
        assert_eq!(error(sql), (1235, format!("This version of MySQL doesn't yet support '{feature}'")), "{sql}");
    }
}

#[test]
fn result_columns_are_named_as_mysql_names_them() {
    let names =
        |sql: &str| -> Vec<String> { plan(sql, &Options::default()).expect(sql).output.into_iter().map(|column| column.name).collect() };
    assert_eq!(
        names("SELECT a, t.b AS x, a+1, COUNT( * ), 'text', NULL FROM t GROUP BY a"),
        ["a", "x", "a+1", "COUNT( * )", "text", "NULL"]
    );
    assert_eq!(names("SELECT * FROM h NATURAL JOIN t"), ["a", "b", "c", "d", "e"]);
    assert_eq!(names("SELECT * FROM h JOIN t USING (b)"), ["b", "a", "a", "c", "d", "e"]);
    assert_eq!(names("SELECT t.* FROM h JOIN t USING (b)"), ["a", "b", "c", "d", "e"]);
    assert_eq!(names("SELECT 1 AS one UNION SELECT 2"), ["one"]);
    let output = plan("SELECT x.b AS y FROM t AS x", &Options::default()).expect("planned").output;
    let column = &output[0];
    assert_eq!((&*column.name, &*column.org_name, &*column.table, &*column.org_table, &*column.database), ("y", "b", "x", "t", "test"));
}
