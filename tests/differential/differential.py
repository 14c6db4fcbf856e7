"""Asks Trine and MariaDB the same, and fails where they differ for no known reason.

Arguments: ports of Trine and MariaDB, first seed, number of seeds, statements of each.
"""

import collections
import decimal
import sys

import pymysql

from differences import reason
from statements import Statements

MODE = "STRICT_TRANS_TABLES,ONLY_FULL_GROUP_BY,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO"
# Without it MariaDB cuts fractions of seconds off where MySQL rounds.
MARIADB_MODE = MODE + ",TIME_ROUND_FRACTIONAL"
# More of one reason than this share of all statements would be a defect behind an excuse.
LARGEST_SHARE = 0.02


class Server:
    """A session with tables of its own."""

    def __init__(self, port, mode):
        self.connection = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, charset="utf8mb4")
        for statement in [f"SET SESSION sql_mode = '{mode}'", "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", "SET time_zone = '+00:00'"]:
            self.must(statement)

    def answer(self, statement):
        """Rows or the code of the error."""
        with self.connection.cursor() as cursor:
            try:
                cursor.execute(statement)
                return ("rows", [tuple(map(plain, row)) for row in cursor.fetchall()])
            except pymysql.err.MySQLError as error:
                return ("error", error.args[0])

    def must(self, statement):
        """Runs a statement that has to succeed."""
        answer = self.answer(statement)
        if answer[0] == "error":
            sys.exit(f"differential: {statement}: error {answer[1]}")


def plain(value):
    """A value in a form that is equal where the servers' texts mean the same."""
    if isinstance(value, float):
        return float(f"{value:.11g}")
    if isinstance(value, bytes):
        return value.decode("utf8", "surrogateescape")
    if isinstance(value, decimal.Decimal) and value.as_tuple().exponent == 0:
        return int(value)
    return value if value is None or isinstance(value, (int, str)) else str(value)


def main():
    trine_port, mariadb_port, first, seeds, count = map(int, sys.argv[1:])
    trine, mariadb = Server(trine_port, MODE), Server(mariadb_port, MARIADB_MODE)
    reasons, unknown, asked = collections.Counter(), [], 0
    for seed in range(first, first + seeds):
        statements = Statements(seed)
        tables = list(statements.set_up())
        for server in (trine, mariadb):
            server.must("DROP DATABASE IF EXISTS differential")
            server.must("CREATE DATABASE differential CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
            server.must("USE differential")
            for statement in tables:
                server.must(statement)
        for _ in range(count):
            statement = statements.statement()
            ours, theirs = trine.answer(statement), mariadb.answer(statement)
            asked += 1
            if ours == theirs:
                continue
            why = reason(statement, ours, theirs)
            if why:
                reasons[why] += 1
            else:
                unknown.append((seed, statement, ours, theirs))
    print(f"differential: {asked} statements, {sum(reasons.values())} answered otherwise for known reasons, {len(unknown)} for none")
    for why, times in reasons.most_common():
        print(f"  {times:4}  {why}")
        if times > LARGEST_SHARE * asked:
            sys.exit(f"differential: too often to be that reason alone: {why}")
    for seed, statement, ours, theirs in unknown[:20]:
        print(f"seed {seed}: {statement}")
        if ours[0] == theirs[0] == "rows":
            at = next((at for at, pair in enumerate(zip(ours[1], theirs[1])) if pair[0] != pair[1]), None)
            print("   numbers of rows", len(ours[1]), len(theirs[1])) if at is None else print("  ", ours[1][at], "MariaDB:", theirs[1][at])
        else:
            print("  ", ours[1] if ours[0] == "error" else "rows", "MariaDB:", theirs[1] if theirs[0] == "error" else "rows")
    sys.exit(1 if unknown else 0)


main()
