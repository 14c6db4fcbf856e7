//! Random statements over three small tables, from a seed: joins, derived tables, subqueries of every kind, grouping, rollups, windows, set
//! operations, changes.
#![allow(missing_docs, dead_code)]

/// Deterministic numbers that look random.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

pub const TABLES: [&str; 3] = [
    "CREATE TABLE t (a INT PRIMARY KEY, b INT, c VARCHAR(20) COLLATE utf8mb4_bin, d DECIMAL(6,2), UNIQUE ub (b), KEY c_d (c, d), KEY dd (d))",
    "CREATE TABLE h (a INT, b INT, KEY ha (a))",
    "CREATE TABLE p (x INT, y VARCHAR(10) COLLATE utf8mb4_general_ci, z INT, PRIMARY KEY (x, y), KEY z (z))",
];

struct Table {
    name: &'static str,
    ints: &'static [&'static str],
    texts: &'static [&'static str],
}

const SHAPES: [Table; 3] = [
    Table { name: "t", ints: &["a", "b", "d"], texts: &["c"] },
    Table { name: "h", ints: &["a", "b"], texts: &[] },
    Table { name: "p", ints: &["x", "z"], texts: &["y"] },
];

/// Tables in reach of an expression: alias and shape.
type Scope = [(String, usize)];

fn int(r: &mut Numbers) -> String {
    match r.below(12) {
        0 => "NULL".into(),
        1 => "2.5".into(),
        2 => "'3'".into(),
        _ => r.below(12).to_string(),
    }
}

fn nullable(r: &mut Numbers, limit: u64) -> String {
    if r.one_in(6) { "NULL".into() } else { r.below(limit).to_string() }
}

fn text(r: &mut Numbers) -> &'static str {
    r.pick(&["'a'", "'b'", "'ab'", "'B'", "'c '", "''", "NULL", "'abc'"])
}

fn int_column(r: &mut Numbers, scope: &Scope) -> String {
    let (alias, shape) = &scope[r.below(scope.len() as u64) as usize];
    format!("{alias}.{}", r.pick(SHAPES[*shape].ints))
}

fn text_column(r: &mut Numbers, scope: &Scope) -> String {
    let (alias, shape) = &scope[r.below(scope.len() as u64) as usize];
    match SHAPES[*shape].texts {
        [] => "'b'".into(),
        texts => format!("{alias}.{}", r.pick(texts)),
    }
}

fn comparison(r: &mut Numbers) -> &'static str {
    r.pick(&["=", "=", "=", "<", ">", "<=", ">=", "<>", "<=>"])
}

fn condition(r: &mut Numbers, scope: &Scope, depth: u32) -> String {
    if depth > 0 && r.one_in(3) {
        let not = if r.one_in(6) { "NOT " } else { "" };
        let (a, b) = (condition(r, scope, depth - 1), condition(r, scope, depth - 1));
        return format!("{not}({a} {} {b})", r.pick(&["AND", "OR", "AND"]));
    }
    let (column, op) = (int_column(r, scope), comparison(r));
    match r.below(12) {
        0 => format!("{} {op} {}", text_column(r, scope), text(r)),
        1 | 2 => format!("{column} {op} {}", int_column(r, scope)),
        3 => format!("{column} BETWEEN {} AND {}", int(r), int(r)),
        4 => format!("{column} IN ({}, {}, {})", int(r), int(r), int(r)),
        5 => format!("{column} IS {}NULL", r.pick(&["", "NOT "])),
        6 => format!("{} LIKE {}", text_column(r, scope), r.pick(&["'a%'", "'%b'", "'_'", "'b%'"])),
        7 => format!("{column} + 1 {op} {}", int_column(r, scope)),
        8 if depth > 0 => subquery(r, scope, depth),
        _ => format!("{column} {op} {}", int(r)),
    }
}

fn subquery(r: &mut Numbers, scope: &Scope, depth: u32) -> String {
    let shape = r.below(3) as usize;
    let alias = format!("s{depth}");
    let inner = [(alias.clone(), shape)];
    let filter = if r.one_in(2) {
        format!("{} = {} AND {}", int_column(r, &inner), int_column(r, scope), condition(r, &inner, 0))
    } else {
        condition(r, &inner, depth - 1)
    };
    let (not, name) = (r.pick(&["", "NOT "]), SHAPES[shape].name);
    let (outer, column) = (int_column(r, scope), int_column(r, &inner));
    match r.below(5) {
        0 => format!("{not}EXISTS (SELECT 1 FROM {name} {alias} WHERE {filter})"),
        1 | 2 => format!("{outer} {not}IN (SELECT {column} FROM {name} {alias} WHERE {filter})"),
        3 => {
            let (op, quantifier) = (r.pick(&["<", ">", "=", "<>", ">=", "<="]), r.pick(&["ANY", "ALL"]));
            format!("{not}({outer} {op} {quantifier} (SELECT {column} FROM {name} {alias} WHERE {filter}))")
        }
        _ => format!("{outer} = (SELECT {}({column}) FROM {name} {alias} WHERE {filter})", r.pick(&["MAX", "MIN", "COUNT", "SUM"])),
    }
}

fn from(r: &mut Numbers) -> (String, Vec<(String, usize)>) {
    let mut scope: Vec<(String, usize)> = Vec::new();
    let mut text = String::new();
    for at in 0..1 + r.below(3) {
        let shape = r.below(3) as usize;
        let (alias, name) = (format!("q{at}"), SHAPES[shape].name);
        let item = match r.one_in(8) {
            true => format!("(SELECT * FROM {name} WHERE {}) {alias}", condition(r, &[(name.to_owned(), shape)], 0)),
            false => format!("{name} {alias}"),
        };
        if scope.is_empty() {
            text = item;
            scope.push((alias, shape));
            continue;
        }
        let on = format!("{} = {}", int_column(r, &scope), int_column(r, &[(alias.clone(), shape)]));
        scope.push((alias, shape));
        let more = if r.one_in(3) { format!(" AND {}", condition(r, &scope, 0)) } else { String::new() };
        let join = r.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"]);
        text = format!("{text} {join} {item} ON {on}{more}");
    }
    (text, scope)
}

/// A query, and whether the order of its rows is determined.
pub fn query(r: &mut Numbers) -> (String, bool) {
    let (from, scope) = from(r);
    let filter = if r.one_in(5) { String::new() } else { format!(" WHERE {}", condition(r, &scope, 2)) };
    let (column, other) = (int_column(r, &scope), int_column(r, &scope));
    let desc = r.pick(&["", " DESC"]);
    let all = scope
        .iter()
        .flat_map(|(alias, shape)| SHAPES[*shape].ints.iter().chain(SHAPES[*shape].texts).map(move |column| format!("{alias}.{column}")));
    let all = all.collect::<Vec<_>>().join(", ");
    match r.below(8) {
        0 => {
            let having = if r.one_in(3) { " HAVING COUNT(*) > 1" } else { "" };
            let aggregates = format!("COUNT(*), SUM({other}), MIN({other}), COUNT(DISTINCT {other})");
            (format!("SELECT {column}, {aggregates} FROM {from}{filter} GROUP BY {column}{having}"), false)
        }
        6 => {
            let levels = if r.one_in(2) { format!("{column}, {other}") } else { format!("{column} + 1") };
            let (functions, having) = (r.pick(&["COUNT(*)", "COUNT(DISTINCT 1)"]), r.pick(&["", " HAVING COUNT(*) > 1"]));
            (format!("SELECT {levels}, {functions}, MAX({other}) FROM {from}{filter} GROUP BY {levels} WITH ROLLUP{having}"), false)
        }
        7 => {
            let window = format!("PARTITION BY {column} ORDER BY {other}{desc}");
            let range = format!("ORDER BY {column}{desc} RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING");
            let functions =
                format!("RANK() OVER ({window}) AS r, SUM({other}) OVER ({window}), MIN({other}) OVER ({range}), COUNT(*) OVER ({range})");
            let rows = format!("SELECT {column} AS k, {other} AS o, {functions} FROM {from}{filter}");
            let outside = r.pick(&["", " WHERE r <= 2", " WHERE k > 3 AND r = 1", " WHERE o IS NULL"]);
            (format!("SELECT * FROM ({rows}) w{outside}"), false)
        }
        1 => (format!("SELECT COUNT(*), MAX({column}), AVG({column}), SUM({other}) FROM {from}{filter}"), false),
        2 => (format!("SELECT DISTINCT {column} FROM {from}{filter} ORDER BY {column}{desc} LIMIT {}", r.below(8)), true),
        3 => {
            let offset = if r.one_in(3) { format!(" OFFSET {}", r.below(4)) } else { String::new() };
            (format!("SELECT {all} FROM {from}{filter} ORDER BY {column}{desc}, {all} LIMIT {}{offset}", 1 + r.below(9)), true)
        }
        4 => {
            let op = r.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
            (format!("SELECT {column} FROM {from}{filter} {op} SELECT {other} FROM {from}"), false)
        }
        _ => {
            let flag = if r.one_in(4) { format!(", {}", subquery(r, &scope, 1)) } else { String::new() };
            (format!("SELECT {all}{flag} FROM {from}{filter}"), false)
        }
    }
}

/// A statement that changes rows.
pub fn change(r: &mut Numbers) -> String {
    let scope = |name: &str, shape| [(name.to_owned(), shape)];
    let (t, h, p) = (scope("t", 0), scope("h", 1), scope("p", 2));
    let (t_filter, h_filter, p_filter) = (condition(r, &t, 1), condition(r, &h, 1), condition(r, &p, 1));
    let (key, value) = (r.below(25), nullable(r, 25));
    match r.below(18) {
        0..=2 => format!("INSERT INTO t VALUES ({key}, {value}, {}, {}.25)", text(r), r.below(5)),
        3..=4 => format!("INSERT INTO h VALUES ({value}, {}), ({}, {value})", nullable(r, 12), nullable(r, 12)),
        5..=6 => {
            format!("INSERT IGNORE INTO p VALUES ({}, {}, {value}), ({}, 'q', 3)", r.below(6), r.pick(&["'a'", "'A'", "'b'"]), r.below(6))
        }
        7 => {
            format!("INSERT INTO t (a, b, c) VALUES ({key}, {value}, 'ins') ON DUPLICATE KEY UPDATE c = CONCAT(c, 'u'), d = VALUES(a) + a")
        }
        8 => format!("REPLACE INTO t VALUES ({key}, {value}, {}, NULL)", text(r)),
        9 => format!("UPDATE t SET d = d + 1, c = 'upd' WHERE {t_filter}"),
        10 => format!("UPDATE t SET a = a + 30, b = a WHERE {t_filter} ORDER BY a DESC LIMIT {}", r.below(4)),
        11 => format!("UPDATE p SET z = x + 1, y = CONCAT(y, 'z') WHERE {p_filter} ORDER BY x, y LIMIT 2"),
        12 => format!("UPDATE t JOIN h ON t.a = h.a SET t.d = 7, h.b = 9 WHERE {t_filter}"),
        13 => format!("DELETE FROM t WHERE {t_filter} ORDER BY a LIMIT 1"),
        14 => format!("DELETE FROM h WHERE {h_filter} ORDER BY a, b LIMIT 2"),
        15 => format!("DELETE t, h FROM t JOIN h ON t.a = h.a WHERE t.a = {key}"),
        16 => format!("UPDATE t SET b = {value} WHERE a = {key}"),
        _ => format!("UPDATE p SET x = x + 1, z = x WHERE x = {} AND y = {}", r.below(6), text(r)),
    }
}
