"""What every driver is tried with. A test case per driver (test_drivers.py) says how that driver connects.

TRINE_PORT is the port of a server with a fresh data directory, on 127.0.0.1, where root has no password.
"""

import os
import tempfile
import threading

import values

PORT = int(os.environ["TRINE_PORT"])
BIG = 40 << 20


def address():
    return {"host": "127.0.0.1", "port": PORT, "user": "root"}


class Suite:
    """Mixed into a TestCase; the driver follows the Python database API (PEP 249)."""

    driver = None
    with_compression = True
    # The driver sends passwords of caching_sha2_password over TLS only.
    tls_for_passwords = False

    def open(self, **options):
        """A connection; every driver has its own words for the options."""
        raise NotImplementedError

    def streaming_cursor(self, connection):
        """A cursor that reads rows as they are asked for."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.database = f"py_{cls.driver.__name__.split('.')[-1].lower()}"
        one = cls()
        connection = one.open(database=None)
        cursor = connection.cursor()
        cursor.execute(f"DROP DATABASE IF EXISTS {cls.database}")
        cursor.execute(f"CREATE DATABASE {cls.database}")
        cursor.execute("SET GLOBAL local_infile = ON")
        connection.close()

    def connect(self, **options):
        options.setdefault("database", self.database)
        connection = self.open(**options)
        self.addCleanup(self.close_quietly, connection)
        return connection

    @staticmethod
    def close_quietly(connection):
        try:
            connection.close()
        except Exception:  # It was closed, or lost, by the test.
            pass

    def run_sql(self, connection, sql, arguments=None):
        cursor = connection.cursor()
        cursor.execute(sql, arguments) if arguments is not None else cursor.execute(sql)
        rows = cursor.fetchall() if cursor.description else None
        cursor.close()
        return rows

    def round_trip(self, connection, table, cursor_options=None, read_as=None):
        self.run_sql(connection, f"DROP TABLE IF EXISTS {table}")
        self.run_sql(connection, values.create(table))
        cursor = connection.cursor(**(cursor_options or {}))
        names = [name for name, _, _ in values.COLUMNS]
        marks = ", ".join(["%s"] * (len(names) + 2))
        for number, row, bit in values.rows():
            cursor.execute(f"INSERT INTO {table} (id, {', '.join(names)}, c_bit) VALUES ({marks})", [number, *row, bit])
        connection.commit()
        cursor.close()
        cursor = connection.cursor(**(cursor_options or {}))
        wanted = ", ".join((read_as or {}).get(name, name) for name in names)
        cursor.execute(f"SELECT {wanted}, c_bit FROM {table} WHERE id >= %s ORDER BY id", [1])
        read = cursor.fetchall()
        cursor.close()
        self.assertEqual(len(read), 4)
        for (number, row, bit), got in zip(values.rows(), read):
            for name, wrote, came in zip(names, row, got):
                self.assertTrue(values.same(name, wrote, came), f"{name} of row {number}: wrote {wrote!r:.200}, read {came!r:.200}")
            bits = got[-1] if not isinstance(got[-1], bytes) else int.from_bytes(got[-1], "big")
            self.assertEqual(bits, bit)

    def test_values_of_all_types_come_back(self):
        self.round_trip(self.connect(), "types_text")

    def test_transactions_are_undone_kept_and_seen(self):
        one, other = self.connect(), self.connect()
        self.run_sql(one, "CREATE TABLE accounts (id INT PRIMARY KEY, money INT)")
        self.run_sql(one, "INSERT INTO accounts VALUES (1, 100), (2, 0)")
        one.commit()
        self.run_sql(one, "UPDATE accounts SET money = money - 30 WHERE id = 1")
        self.assertEqual(self.run_sql(other, "SELECT money FROM accounts WHERE id = 1")[0][0], 100)
        one.rollback()
        self.assertEqual(self.run_sql(one, "SELECT money FROM accounts WHERE id = 1")[0][0], 100)
        self.run_sql(one, "UPDATE accounts SET money = money + 1 WHERE id = 2")
        one.commit()
        other.rollback()
        self.assertEqual(self.run_sql(other, "SELECT money FROM accounts WHERE id = 2")[0][0], 1)

    def test_errors_have_mysqls_numbers_and_classes(self):
        connection = self.connect()
        self.run_sql(connection, "CREATE TABLE unique_keys (id INT PRIMARY KEY)")
        self.run_sql(connection, "INSERT INTO unique_keys VALUES (1)")
        cases = [
            ("INSERT INTO unique_keys VALUES (1)", 1062, self.driver.IntegrityError),
            ("INSERT INTO unique_keys VALUES (NULL)", 1048, self.driver.IntegrityError),
            ("SELECT FROM", 1064, self.driver.ProgrammingError),
            ("SELECT * FROM nowhere", 1146, self.driver.ProgrammingError),
            ("SELECT no_column FROM unique_keys", 1054, (self.driver.OperationalError, self.driver.ProgrammingError)),
            ("INSERT INTO unique_keys VALUES (99999999999)", 1264, self.driver.DataError),
        ]
        for sql, code, kind in cases:
            with self.assertRaises(kind, msg=sql) as caught:
                self.run_sql(connection, sql)
            self.assertEqual(caught.exception.args[0], code, sql)
        self.assertEqual(self.run_sql(connection, "SELECT 1")[0][0], 1)

    def test_wrong_passwords_and_databases_are_refused(self):
        with self.assertRaises(self.driver.Error) as caught:
            self.connect(user="nobody", password="wrong")
        self.assertEqual(caught.exception.args[0], 1045)
        with self.assertRaises(self.driver.Error) as caught:
            self.connect(database="no_such_database")
        self.assertEqual(caught.exception.args[0], 1049)

    def test_both_kinds_of_passwords_work(self):
        root = self.connect()
        for plugin in ("mysql_native_password", "caching_sha2_password"):
            user = f"{self.database}_{plugin[:6]}"
            self.run_sql(root, f"DROP USER IF EXISTS {user}")
            self.run_sql(root, f"CREATE USER {user} IDENTIFIED WITH {plugin} BY 'pass word''s'")
            for _ in range(2):  # The second login of caching_sha2_password takes a shorter way.
                connection = self.connect(user=user, password="pass word's", database=None, tls=self.tls_for_passwords)
                self.assertEqual(self.run_sql(connection, "SELECT CURRENT_USER()")[0][0], f"{user}@%")

    def test_ids_row_counts_and_warnings_are_told(self):
        connection = self.connect()
        self.run_sql(connection, "CREATE TABLE ids (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")
        cursor = connection.cursor()
        cursor.execute("INSERT INTO ids (v) VALUES (1), (2), (3)")
        self.assertEqual((cursor.rowcount, cursor.lastrowid), (3, 1))
        cursor.execute("UPDATE ids SET v = 1")
        changed = cursor.rowcount
        self.assertIn(changed, (2, 3))  # Changed rows, or found ones for drivers that ask for those.
        cursor.executemany("INSERT INTO ids (v) VALUES (%s)", [(4,), (5,)])
        self.assertEqual(cursor.rowcount, 2)
        cursor.execute("SELECT id AS `number`, v FROM ids ORDER BY id LIMIT 1")
        self.assertEqual([column[0] for column in cursor.description], ["number", "v"])
        cursor.fetchall()
        self.run_sql(connection, "DROP TABLE IF EXISTS not_there")
        shown = self.run_sql(connection, "SHOW WARNINGS")
        self.assertEqual([row[1] for row in shown], [1051])

    def test_several_statements_give_several_results(self):
        cursor = self.connect(multi=True).cursor()
        cursor.execute("SELECT 1; SELECT 'two'; DO 0")
        self.assertEqual(list(cursor.fetchall()), [(1,)])
        self.assertTrue(cursor.nextset())
        self.assertEqual(list(cursor.fetchall()), [("two",)])
        self.assertTrue(cursor.nextset())

    def test_packets_of_many_megabytes_go_both_ways(self):
        connection = self.connect()
        packet = (16 << 20) - 1  # What a packet holds; longer ones go on in another.
        command = len("\x03SELECT LENGTH(''), REPEAT('x', )") + len(str(packet))
        for size in (packet - command, packet - 1, packet, packet + 1, 2 * packet, BIG):
            text = "0123456789abcdef" * (size >> 4) + "x" * (size & 15)
            rows = self.run_sql(connection, f"SELECT LENGTH('{text}'), REPEAT('x', {size})")
            self.assertEqual(rows[0][0], size)
            self.assertTrue(rows[0][1] == "x" * size, size)

    def test_rows_are_streamed(self):
        connection = self.connect()
        self.run_sql(connection, "CREATE TABLE many (id INT PRIMARY KEY, v VARCHAR(100))")
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO many VALUES (%s, %s)", [(at, "v" * 100) for at in range(5000)])
        connection.commit()
        cursor = self.streaming_cursor(connection)
        cursor.execute("SELECT id FROM many ORDER BY id")
        self.assertEqual(sum(number for (number,) in cursor), sum(range(5000)))
        cursor.close()

    def test_connections_are_encrypted(self):
        connection = self.connect(tls=True)
        shown = self.run_sql(connection, "SHOW STATUS LIKE 'Ssl_version'")
        self.assertTrue(shown[0][1].startswith("TLSv1."), shown)
        self.round_trip(connection, "types_tls")

    def test_connections_are_compressed(self):
        if not self.with_compression:
            self.skipTest("the driver has no compression")
        connection = self.connect(compress=True)
        self.assertEqual(self.run_sql(connection, "SHOW STATUS LIKE 'Compression'")[0][1], "ON")
        self.round_trip(connection, "types_compressed")
        text = "compress me " * 500_000
        self.assertEqual(self.run_sql(connection, "SELECT REPEAT('compress me ', 500000)")[0][0], text)
        self.assertEqual(self.run_sql(connection, "SELECT LENGTH(%s)", (text,))[0][0], len(text))

    def test_files_of_the_client_are_loaded(self):
        connection = self.connect(local_infile=True)
        self.run_sql(connection, "DROP TABLE IF EXISTS loaded")
        self.run_sql(connection, "CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(20), twice INT)")
        with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="") as file:
            file.write("id,name\r\n")
            file.writelines(f'{at},"name, {at}"\r\n' for at in range(1, 3001))
            file.write("7,duplicate\r\n")
            file.flush()
            cursor = connection.cursor()
            cursor.execute(
                f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE loaded FIELDS TERMINATED BY ',' ENCLOSED BY '\"' "
                "LINES TERMINATED BY '\\r\\n' IGNORE 1 LINES (@id, name) SET id = @id, twice = @id * 2"
            )
            self.assertEqual(cursor.rowcount, 3000)
        connection.commit()
        found = self.run_sql(connection, "SELECT COUNT(*), SUM(twice), MAX(name) FROM loaded WHERE id = 7 OR id > 2000")
        self.assertEqual([int(found[0][0]), int(found[0][1]), found[0][2]], [1001, 14 + 2 * sum(range(2001, 3001)), "name, 7"])

    def test_a_running_statement_is_killed(self):
        connection, other = self.connect(), self.connect()
        number = self.run_sql(connection, "SELECT CONNECTION_ID()")[0][0]
        started = threading.Event()
        result = []

        def sleep():
            started.set()
            try:
                result.append(self.run_sql(connection, "SELECT SLEEP(60)"))
            except self.driver.Error as error:
                result.append(error.args[0])

        thread = threading.Thread(target=sleep)
        thread.start()
        started.wait()
        while not any(str(row[7]).startswith("SELECT SLEEP") for row in self.run_sql(other, "SHOW FULL PROCESSLIST") if row[0] == number):
            pass
        self.run_sql(other, f"KILL QUERY {number}")
        thread.join(timeout=30)
        self.assertFalse(thread.is_alive())
        # SLEEP() that is interrupted alone in its statement returns 1, as the manual says; other statements fail with 1317.
        self.assertIn(result[0], (1317, ((1,),), [(1,)]))
