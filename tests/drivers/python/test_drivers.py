"""PyMySQL, mysql-connector-python and mysqlclient against a Trine server."""

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

    def streaming_cursor(self, connection):
        return connection.cursor(pymysql.cursors.SSCursor)


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

    def streaming_cursor(self, connection):
        return connection.cursor(buffered=False)

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

    def streaming_cursor(self, connection):
        return connection.cursor(MySQLdb.cursors.SSCursor)


if __name__ == "__main__":
    unittest.main()
