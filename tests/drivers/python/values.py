"""A table with a column of every type, and rows that go through drivers and come back."""

import datetime
import decimal

D = decimal.Decimal

# name, type, values; None is tried for every column.
COLUMNS = [
    ("c_tiny", "TINYINT", [-128, 0, 127]),
    ("c_utiny", "TINYINT UNSIGNED", [0, 1, 255]),
    ("c_small", "SMALLINT", [-32768, 0, 32767]),
    ("c_usmall", "SMALLINT UNSIGNED", [0, 1, 65535]),
    ("c_medium", "MEDIUMINT", [-8388608, 0, 8388607]),
    ("c_umedium", "MEDIUMINT UNSIGNED", [0, 1, 16777215]),
    ("c_int", "INT", [-2147483648, 0, 2147483647]),
    ("c_uint", "INT UNSIGNED", [0, 1, 4294967295]),
    ("c_big", "BIGINT", [-9223372036854775808, 0, 9223372036854775807]),
    ("c_ubig", "BIGINT UNSIGNED", [0, 1, 18446744073709551615]),
    ("c_float", "FLOAT", [-1.5, 0.0, 3.25]),
    ("c_double", "DOUBLE", [-1.7976931348623157e308, 0.0, 0.1]),
    ("c_decimal", "DECIMAL(65,30)", [D("-1.000000000000000000000000000001"), D("0"), D("9" * 35 + "." + "9" * 30)]),
    ("c_date", "DATE", [datetime.date(1000, 1, 1), datetime.date(2024, 2, 29), datetime.date(9999, 12, 31)]),
    (
        "c_datetime",
        "DATETIME(6)",
        [
            datetime.datetime(1000, 1, 1),
            datetime.datetime(2024, 2, 29, 23, 59, 59, 999999),
            datetime.datetime(9999, 12, 31, 23, 59, 59),
        ],
    ),
    (
        "c_timestamp",
        "TIMESTAMP(3) NULL",
        [
            datetime.datetime(1970, 1, 2),
            datetime.datetime(2024, 2, 29, 12, 0, 0, 123000),
            datetime.datetime(2038, 1, 18, 3, 14, 7),
        ],
    ),
    (
        "c_time",
        "TIME(6)",
        [
            # mysql-connector-python prepares other negative times wrongly.
            datetime.timedelta(hours=-816),
            datetime.timedelta(0),
            datetime.timedelta(hours=25, microseconds=1),
        ],
    ),
    ("c_year", "YEAR", [1901, 2024, 2155]),
    ("c_char", "CHAR(10)", ["", "abc", "äöü漢😀"]),
    ("c_varchar", "VARCHAR(200)", ["", "it's \"quoted\" \\ and\nbroken\0", "漢字😀" * 20]),
    ("c_text", "TEXT", ["", "plain", "x" * 60000]),
    ("c_longtext", "LONGTEXT", ["", "plain", "é" * 100000]),
    ("c_binary", "BINARY(4)", [b"\0\0\0\0", b"\x01\x02\xfe\xff", b"abcd"]),
    ("c_varbinary", "VARBINARY(300)", [b"", b"\0'\"\\\n", bytes(range(256))]),
    ("c_blob", "BLOB", [b"", b"\xff\xfe", bytes(range(256)) * 200]),
    ("c_enum", "ENUM('a','b','ü')", ["a", "b", "ü"]),
    ("c_set", "SET('x','y','z')", ["", "x", "x,z"]),
    ("c_json", "JSON", ['{"a": [1, 2.5, null, "é"]}', "[]", '"text"']),
]
BITS = [0, 1, (1 << 40) - 1]


def create(table):
    columns = ", ".join(f"{name} {kind}" for name, kind, _ in COLUMNS)
    return f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns}, c_bit BIT(40))"


def rows():
    """(id, values of COLUMNS, bit): three full rows, and one of NULLs."""
    for at in range(3):
        yield at + 1, [values[at] for _, _, values in COLUMNS], BITS[at]
    yield 4, [None] * len(COLUMNS), None


def same(name, wrote, read):
    """Whether a value came back, in any of the Python types that drivers use for it."""
    if wrote is None or read is None:
        return wrote is read
    if name == "c_json":
        import json

        return json.loads(wrote) == (json.loads(read) if isinstance(read, (str, bytes)) else read)
    if name == "c_set":
        members = set(wrote.split(",")) if wrote else set()
        if isinstance(read, (set, frozenset)):
            return set(read) == members
        return (set(read.split(",")) if read else set()) == members
    if isinstance(wrote, bytes):
        return bytes(read) == wrote
    return type(wrote) is type(read) and read == wrote
