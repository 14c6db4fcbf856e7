"""Random SELECT statements over two small tables, from a seed.

Expressions are grown from templates by kind: in a template `%n` stands for a number, `%s` for text, `%t` for a moment, `%d` for a day, `%m` for a time,
`%p` for a condition, `%c` for a comparison, `%k` for a small integer, `%i` for an integer column, `%u` for a unit of time. Within quotes it stands for
itself.
"""

import random

COLUMNS = {
    "n": ["v.i", "v.id", "v.u", "v.i", "v.n", "v.f"],
    "s": ["v.s"],
    "t": ["v.t", "v.t", "v.d"],
    "d": ["v.d"],
    "m": ["v.m"],
}
LITERALS = {
    "n": ["0", "1", "-1", "2", "3", "10", "1.5", "-2.25", "0.001", "100", "1e3", "NULL"],
    "s": ["'abc'", "'a'", "''", "'A b'", "'12'", "NULL", "'%a%'"],
    "t": ["'2020-03-31 10:00:00'", "NULL", "CAST('2021-05-05 05:05:05.5' AS DATETIME(1))"],
    "d": ["DATE'2020-12-31'", "NULL"],
    "m": ["TIME'10:11:12'", "NULL", "TIME(v.t)"],
    "p": ["v.i > 1", "v.n IS NULL", "v.s = 'a'", "v.f < 2", "TRUE", "v.d < '2021-01-01'"],
}
UNITS = ["DAY", "MONTH", "YEAR", "HOUR", "MINUTE", "SECOND", "WEEK", "QUARTER", "MICROSECOND"]
MOMENT = "'%Y-%m-%d %H:%i:%s.%f|%a %b %j %W %M %U %v %x %p %r %T %D'"
TEMPLATES = {
    "n": """(%n + %n);(%n - %n);(%n * %n);(%n / %n);(%n DIV %n);(%n % %n);(-%n);ABS(%n);SIGN(%n);ROUND(%n);ROUND(%n,%k);TRUNCATE(%n,%k);CEIL(%n);FLOOR(%n);
        MOD(%n,%n);IFNULL(%n,%n);COALESCE(%n,%n,0);NULLIF(%n,%n);IF(%p,%n,%n);CASE WHEN %p THEN %n ELSE %n END;GREATEST(%n,%n);LEAST(%n,%n);SQRT(%n);
        POW(%n,%k);LOG2(%n);EXP(%k);INTERVAL(%n,1,5,10);ELT(%k,%n,%n);CAST(%n AS SIGNED);CAST(%n AS DECIMAL(10,2));CAST(%s AS SIGNED);BIT_COUNT(%i);
        (%i & %i);(%i | %i);(%i ^ %i);(%i << %k);(%i >> %k);LENGTH(%s);CHAR_LENGTH(%s);BIT_LENGTH(%s);LOCATE(%s,%s);INSTR(%s,%s);ASCII(%s);ORD(%s);
        FIELD(%s,%s,%s);STRCMP(%s,%s);CRC32(%s);CONV(%s,10,16)+0;YEAR(%d);MONTH(%t);QUARTER(%d);WEEK(%d,%k);WEEKDAY(%d);DAYOFWEEK(%d);DAYOFYEAR(%d);
        TO_DAYS(%d);DATEDIFF(%d,%d);HOUR(%m);MINUTE(%t);MICROSECOND(%t);TIME_TO_SEC(%m);UNIX_TIMESTAMP(%t);TIMESTAMPDIFF(%u,%t,%t);EXTRACT(%u FROM %t);
        PERIOD_DIFF(202001,199912);LAST_DAY(%d)+0;%d+0;%m+0""",
    "s": """CONCAT(%s,%s);CONCAT_WS(%s,%s,%s);UPPER(%s);LOWER(%s);LEFT(%s,%k);RIGHT(%s,%k);SUBSTRING(%s,%k);SUBSTRING(%s,%k,%k);TRIM(%s);LTRIM(%s);RTRIM(%s);
        TRIM(LEADING %s FROM %s);REPLACE(%s,%s,%s);REVERSE(%s);REPEAT(%s,%k);LPAD(%s,%k,%s);RPAD(%s,%k,%s);SPACE(%k);HEX(%s);HEX(%i);UNHEX(HEX(%s));MD5(%s);
        SHA1(%s);TO_BASE64(%s);IF(%p,%s,%s);IFNULL(%s,%s);COALESCE(%s,%s);NULLIF(%s,%s);CASE WHEN %p THEN %s ELSE %s END;GREATEST(%s,%s);LEAST(%s,%s);
        SUBSTRING_INDEX(%s,%s,%k);INSERT(%s,%k,%k,%s);QUOTE(%s);SOUNDEX(%s);ELT(%k,%s,%s);MAKE_SET(%k,%s,%s);EXPORT_SET(%k,%s,%s);BIN(%i);OCT(%i);CHAR(%k+65);
        CONV(%i,10,36);FORMAT(v.n,%k);INET_NTOA(%k);CAST(%i AS CHAR);CAST(v.n AS CHAR);CAST(%t AS CHAR);CAST(%d AS CHAR);CAST(%m AS CHAR);DAYNAME(%d);
        MONTHNAME(%d);DATE_FORMAT(%t,MOMENT);DATE_FORMAT(%d,'%c/%e/%y');TIME_FORMAT(%m,'%H:%i:%s')""",
    "t": """DATE_ADD(%t, INTERVAL %k %u);DATE_SUB(%t, INTERVAL %k %u);(%t + INTERVAL %k %u);CAST(%t AS DATETIME);CAST(%d AS DATETIME(3));IF(%p,v.t,v.t);
        COALESCE(v.t,%t);TIMESTAMP(%d);ADDTIME(v.t,%m);SUBTIME(v.t,v.m);STR_TO_DATE('2020-05-06 07:08:09','%Y-%m-%d %H:%i:%s');FROM_UNIXTIME(%k*86400)""",
    "d": """DATE(%t);DATE_ADD(%d, INTERVAL %k DAY);DATE_SUB(%d, INTERVAL %k MONTH);LAST_DAY(%d);MAKEDATE(2020,%k);FROM_DAYS(730000+%k);IF(%p,v.d,%d);
        CAST(%t AS DATE)""",
    "m": "SEC_TO_TIME(%k*100);TIMEDIFF(v.t,v.t);MAKETIME(%k,%k,%k);ADDTIME(v.m,v.m);IFNULL(v.m,%m);CAST(v.t AS TIME)",
    "p": """%n %c %n;%n %c %n;%s %c %s;%s %c %n;%t %c %t;%d %c %d;%m %c %m;(%p AND %p);(%p OR %p);(%p XOR %p);(NOT %p);%n IS NULL;%s IS NOT NULL;(%p IS TRUE);
        (%p IS NOT UNKNOWN);%n <=> %n;%s <=> %s;%n BETWEEN %n AND %n;%s BETWEEN %s AND %s;%d BETWEEN %d AND %d;%n IN (%n,%n,%n);%s IN (%s,%s);%s LIKE %s;
        %s NOT LIKE 'a%';%s RLIKE '^[a-z]+';EXISTS (SELECT 1 FROM w WHERE w.i = v.i);v.i IN (SELECT i FROM w);(v.i,v.n) IN (SELECT i,n FROM w);
        v.n NOT IN (SELECT n FROM w WHERE n IS NOT NULL);v.i > ALL (SELECT i FROM w WHERE w.id < 3);v.n = ANY (SELECT n FROM w)""",
}
TEMPLATES = {kind: [part.strip().replace("MOMENT", MOMENT) for part in text.split(";")] for kind, text in TEMPLATES.items()}
AGGREGATES = """COUNT(%n);SUM(%n);AVG(%n);MIN(%n);MAX(%n);COUNT(DISTINCT %n);SUM(DISTINCT %n);BIT_AND(v.u + 0*%n);GROUP_CONCAT(%n ORDER BY v.id);STDDEV_POP(%n);
    VAR_SAMP(%n)""".replace("\n", "").split(";")
GROUPS = ["v.s", "v.i", "v.d", "v.n % 2", "LEFT(v.s,1)"]
MATCHES = ["v.i = w.i", "v.n = w.n", "v.s = w.s", "v.d = w.d AND v.i > w.i", "v.i = w.i AND v.n = w.n"]

VALUES = {
    "i": "0;1;-1;2;3;7;-5;100;2147483647;-2147483648;NULL;10;5",
    "u": "0;1;18446744073709551615;9223372036854775807;NULL;5;10;42",
    "n": "0.000;1.500;-1.500;123456789.123;-0.001;0.005;NULL;2.000;10.250",
    "f": "0;1.5;-2.25;1e10;1e-5;NULL;3;0.1;100",
    "s": "'';'a';'A';'abc';'12';'1.5x';' b ';NULL;'2020-01-02';'-7';'%';'a_b';'日本'",
    "b": "'';'a';x'00ff';NULL;'12';'AbC'",
    "t": "'2020-02-29 12:34:56.789';'1999-12-31 23:59:59.999';'2024-01-01 00:00:00';NULL;'2021-06-15 08:00:00.5'",
    "d": "'2020-02-29';'1999-12-31';'2024-01-01';NULL;'2021-06-15'",
    "m": "'12:34:56';'-01:00:00';'838:59:59';NULL;'00:00:01'",
}
VALUES = {column: text.split(";") for column, text in VALUES.items()}


class Statements:
    """Makes the tables and statements of one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def set_up(self):
        """Statements that make the tables."""
        yield "CREATE TABLE v (id INT PRIMARY KEY, i INT, u BIGINT UNSIGNED, n DECIMAL(12,3), f DOUBLE, s VARCHAR(30), b VARBINARY(20), t DATETIME(3), d DATE, m TIME, KEY(i), KEY(s), KEY(n,i))"
        yield "CREATE TABLE w (id INT PRIMARY KEY, i INT, n DECIMAL(12,3), s VARCHAR(30), d DATE, UNIQUE(i))"
        for row in range(24):
            values = ", ".join(self.random.choice(VALUES[column]) for column in "iunfsbtdm")
            yield f"INSERT INTO v VALUES ({row}, {values})"
        for row, number in enumerate(self.random.sample([value for value in VALUES["i"] if value != "NULL"], 10)):
            values = ", ".join(self.random.choice(VALUES[column]) for column in "nsd")
            yield f"INSERT INTO w VALUES ({row}, {number}, {values})"

    def expression(self, kind, depth):
        """An expression of a kind that is at most so deep."""
        if depth <= 0 or self.random.random() < 0.3:
            leaves = COLUMNS.get(kind, [])
            if leaves and self.random.random() < 0.6:
                return self.random.choice(leaves)
            return self.random.choice(LITERALS[kind])
        return self.fill(self.random.choice(TEMPLATES[kind]), depth - 1)

    def fill(self, template, depth):
        """The template with its places filled."""
        out, quoted, at = [], False, 0
        while at < len(template):
            quoted ^= template[at] == "'"
            place = template[at + 1 : at + 2]
            if template[at] != "%" or quoted or place not in "nstdmpckiu" or not place:
                out.append(template[at])
                at += 1
                continue
            at += 2
            if place in TEMPLATES:
                out.append(self.expression(place, depth))
            else:
                small = str(self.random.randint(0, 5))
                choices = {"c": ["=", "<", ">", "<=", ">=", "<>"], "k": [small], "i": ["v.i", "v.id", "v.u", "3", "255"], "u": UNITS}
                out.append(self.random.choice(choices[place]))
        return "".join(out)

    def statement(self):
        """A SELECT whose rows come in one order."""
        share = self.random.random()
        value = self.expression(self.random.choice("nnsstdmp"), 3)
        if share < 0.55:
            return f"SELECT v.id, {value} AS x FROM v ORDER BY v.id"
        if share < 0.7:
            return f"SELECT v.id FROM v WHERE {self.expression('p', 3)} ORDER BY v.id"
        if share < 0.8:
            aggregate = self.fill(self.random.choice(AGGREGATES), 2)
            group = self.random.choice(GROUPS)
            return f"SELECT MIN(v.id) AS k, {aggregate} AS x, COUNT(*) FROM v WHERE {self.expression('p', 1)} GROUP BY {group} ORDER BY k"
        if share < 0.9:
            join = self.random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN"])
            return f"SELECT v.id, w.id, {value} AS x FROM v {join} w ON {self.random.choice(MATCHES)} ORDER BY v.id, w.id"
        if share < 0.95:
            return f"SELECT {self.expression('n', 4)} AS x FROM v WHERE v.id = {self.random.randint(0, 23)}"
        return f"SELECT DISTINCT {value} AS x FROM v ORDER BY 1"
