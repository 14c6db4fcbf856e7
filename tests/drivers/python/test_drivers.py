"""PyMySQL, mysql-connector-python (pure Python and C extension) and mysqlclient against a Trine server."""

import decimal
import ssl
import unittest

import MySQLdb
import MySQLdb.cursors
import mysql.connector
import pymysql
import pymysql.constants.CLIENT
import pymysql.cursors

from suite import Suite, address


class PyMySQL(Suite, unittest.TestCase):
    driver = pymysql
    with_compression = False

    def open(self, database, user=None, password="", tls=False, multi=False, local_infile=False):
        options = address() | {"database": database, "password": password, "local_infile": local_infile}
        if user:
            options["user"] = user
        if tls:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            options["ssl"] = context
        if multi:
            options["client_flag"] = pymysql.constants.CLIENT.MULTI_STATEMENTS
        return pymysql.connect(**options)

    def stream(self, connection, sql):
        cursor = connection.cursor(pymysql.cursors.SSCursor)
        cursor.execute(sql)
        yield from cursor
        cursor.close()

    def check_several(self, connection):
        cursor = connection.cursor()
        cursor.execute("SELECT 1; SELECT 'two'; DO 0")
        self.assertEqual(cursor.fetchall(), ((1,),))
        self.assertTrue(cursor.nextset())
        self.assertEqual(cursor.fetchall(), (("two",),))
        self.assertTrue(cursor.nextset())
        self.assertFalse(cursor.nextset())


class Connector(Suite, unittest.TestCase):
    driver = mysql.connector
    pure = True
    tls_for_passwords = True

    def open(self, database, user=None, password="", tls=False, multi=False, local_infile=False, compress=False):
        options = address() | {"password": password, "use_pure": self.pure, "compress": compress, "ssl_disabled": not tls}
        if database:
            options["database"] = database
        if user:
            options["user"] = user
        if local_infile:
            options["allow_local_infile"] = True
        return mysql.connector.connect(**options)

    def stream(self, connection, sql):
        cursor = connection.cursor(buffered=False)
        cursor.execute(sql)
        yield from cursor
        cursor.close()

    def check_several(self, connection):
        cursor = connection.cursor()
        cursor.execute("SELECT 1; SELECT 'two'; DO 0")
        self.assertEqual(cursor.fetchall(), [(1,)])
        self.assertTrue(cursor.nextset())
        self.assertEqual(cursor.fetchall(), [("two",)])

    def test_values_come_back_from_prepared_statements(self):
        # The driver takes a YEAR of the binary protocol for a string.
        self.round_trip(self.connect(), "types_prepared", {"prepared": True}, {"c_year": "c_year + 0"})

    def test_prepared_statements_are_used_again_with_other_values(self):
        connection = self.connect()
        cursor = connection.cursor(prepared=True)
        for value in (1, "text", None, decimal.Decimal("1.50"), b"bytes"):
            cursor.execute("SELECT %s", (value,))
            read = cursor.fetchall()[0][0]
            self.assertIn(read, (value, str(value) if value is not None else None, b"bytes".decode() if value == b"bytes" else value))
        cursor.close()

    def test_sessions_are_reset_and_users_changed(self):
        connection = self.connect()
        self.run_sql(connection, "SET @v = 1")
        connection.cmd_reset_connection()
        self.assertEqual(self.run_sql(connection, "SELECT @v")[0][0], None)
        connection.cmd_change_user(username="root", password="", database="mysql")
        self.assertEqual(self.run_sql(connection, "SELECT DATABASE()")[0][0], "mysql")


class ConnectorC(Connector):
    """The same driver over MySQL's own C library."""

    pure = False

    @classmethod
    def setUpClass(cls):
        if not mysql.connector.HAVE_CEXT:
            raise unittest.SkipTest("mysql-connector-python has no C extension here")
        super().setUpClass()
        cls.database = "py_connector_c"
        connection = cls().open(database=None)
        cursor = connection.cursor()
        cursor.execute("DROP DATABASE IF EXISTS py_connector_c")
        cursor.execute("CREATE DATABASE py_connector_c")
        connection.close()


class MySQLClient(Suite, unittest.TestCase):
    driver = MySQLdb

    def open(self, database, user=None, password="", tls=False, multi=True, local_infile=False, compress=False):
        options = address() | {"password": password, "charset": "utf8mb4", "compress": compress, "local_infile": int(local_infile)}
        if database:
            options["database"] = database
        if user:
            options["user"] = user
        if tls:
            options["ssl"] = {"cipher": ""}
        return MySQLdb.connect(**options)

    def stream(self, connection, sql):
        cursor = connection.cursor(MySQLdb.cursors.SSCursor)
        cursor.execute(sql)
        yield from cursor
        cursor.close()

    def check_several(self, connection):
        cursor = connection.cursor()
        cursor.execute("SELECT 1; SELECT 'two'; DO 0")
        self.assertEqual(cursor.fetchall(), ((1,),))
        self.assertTrue(cursor.nextset())
        self.assertEqual(cursor.fetchall(), (("two",),))
        self.assertTrue(cursor.nextset())


if __name__ == "__main__":
    unittest.main()
