import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.sql.Statement;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * MySQL Connector/J and MariaDB Connector/J against a Trine server: TRINE_PORT is the port of one with a fresh data directory, on 127.0.0.1, where
 * root has no password. A program of one file, run as it is by {@code java}.
 */
public class Drivers {
    /**
     * A column and three of its values, as the driver gives them back from {@code getObject} with the value's class. Connector/J reads negative times
     * of the binary protocol wrongly unless they are whole days.
     */
    record Column(String name, String type, Object... values) {}

    static final List<Column> COLUMNS = List.of(
        new Column("c_tiny", "TINYINT", -128, 0, 127),
        new Column("c_usmall", "SMALLINT UNSIGNED", 0, 1, 65535),
        new Column("c_medium", "MEDIUMINT", -8388608, 0, 8388607),
        new Column("c_int", "INT", Integer.MIN_VALUE, 0, Integer.MAX_VALUE),
        new Column("c_uint", "INT UNSIGNED", 0L, 1L, 4294967295L),
        new Column("c_big", "BIGINT", Long.MIN_VALUE, 0L, Long.MAX_VALUE),
        new Column("c_ubig", "BIGINT UNSIGNED", new BigDecimal(0), new BigDecimal(1), new BigDecimal("18446744073709551615")),
        new Column("c_float", "FLOAT", -1.5f, 0f, 3.25f),
        new Column("c_double", "DOUBLE", -1.7976931348623157e308, 0.0, 0.1),
        new Column("c_decimal", "DECIMAL(65,30)", new BigDecimal("-1.000000000000000000000000000001"),
            new BigDecimal("0.000000000000000000000000000000"), new BigDecimal("9".repeat(35) + "." + "9".repeat(30))),
        new Column("c_date", "DATE", LocalDate.of(1900, 1, 1), LocalDate.of(2024, 2, 29), LocalDate.of(9999, 12, 31)),
        new Column("c_datetime", "DATETIME(6)", LocalDateTime.of(1900, 1, 1, 0, 0), LocalDateTime.of(2024, 2, 29, 23, 59, 59, 999999000),
            LocalDateTime.of(9999, 12, 31, 23, 59, 59)),
        new Column("c_timestamp", "TIMESTAMP(3) NULL", LocalDateTime.of(1970, 1, 2, 0, 0), LocalDateTime.of(2024, 2, 29, 12, 0, 0, 123000000),
            LocalDateTime.of(2038, 1, 18, 3, 14, 7)),
        new Column("c_time", "TIME(6)", "-816:00:00.000000", "00:00:00.000000", "25:00:00.000001"),
        new Column("c_char", "CHAR(10)", "", "abc", "äöü漢😀"),
        new Column("c_varchar", "VARCHAR(200)", "", "it's \"quoted\" \\ and\nbroken\0", "漢字😀".repeat(20)),
        new Column("c_longtext", "LONGTEXT", "", "plain", "é".repeat(100000)),
        new Column("c_binary", "BINARY(4)", new byte[4], new byte[] {1, 2, -2, -1}, "abcd".getBytes()),
        new Column("c_blob", "BLOB", new byte[0], new byte[] {-1, -2}, new byte[60000]),
        new Column("c_bit", "BIT(1)", false, true, true),
        new Column("c_enum", "ENUM('a','b','ü')", "a", "b", "ü"),
        new Column("c_set", "SET('x','y','z')", "", "x", "x,z"),
        new Column("c_json", "JSON", "{\"a\": [1, 2.5, null, \"é\"]}", "[]", "\"text\""));

    static int checks = 0;

    static void check(boolean holds, Object what) {
        checks++;
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    /** A driver: the scheme of its addresses, and its words for what is tried. */
    record Driver(String scheme, String tls, String prepared, String text, String cursors, String compressed, String files) {
        Connection connect(String... options) throws SQLException {
            String database = options.length > 0 && options[0].equals("/") ? "" : "java_" + scheme;
            List<String> all = new ArrayList<>(List.of("user=root"));
            Arrays.stream(options).filter(option -> !option.equals("/") && !option.isEmpty()).forEach(all::add);
            if (!all.contains(tls)) {
                all.add(scheme.equals("mysql") ? "sslMode=DISABLED" : "sslMode=disable");
            }
            String address = "jdbc:" + scheme + "://127.0.0.1:" + System.getenv("TRINE_PORT") + "/" + database;
            return DriverManager.getConnection(address + "?" + String.join("&", all));
        }
    }

    static final List<Driver> DRIVERS = List.of(
        new Driver("mysql", "sslMode=REQUIRED", "useServerPrepStmts=true", "useServerPrepStmts=false", "useCursorFetch=true", "useCompression=true",
            "allowLoadLocalInfile=true"),
        new Driver("mariadb", "sslMode=trust", "useServerPrepStmts=true", "useServerPrepStmts=false", "useServerPrepStmts=true",
            "useCompression=true", "allowLocalInfile=true"));

    public static void main(String[] arguments) throws Exception {
        for (Driver driver : DRIVERS) {
            try (Connection root = driver.connect("/"); Statement statement = root.createStatement()) {
                statement.execute("DROP DATABASE IF EXISTS java_" + driver.scheme());
                statement.execute("CREATE DATABASE java_" + driver.scheme());
                statement.execute("SET GLOBAL local_infile = ON");
            }
            roundTrip(driver, "types_text", driver.text());
            roundTrip(driver, "types_prepared", driver.prepared());
            roundTrip(driver, "types_tls", driver.tls());
            roundTrip(driver, "types_compressed", driver.compressed(), driver.prepared());
            status(driver);
            transactions(driver);
            errors(driver);
            keysAndBatches(driver);
            cursors(driver);
            big(driver);
            files(driver);
            metadata(driver);
        }
        System.out.println(checks + " passed, 0 failed");
    }

    static void roundTrip(Driver driver, String table, String... options) throws SQLException {
        try (Connection connection = driver.connect(options); Statement statement = connection.createStatement()) {
            StringBuilder definition = new StringBuilder("CREATE TABLE " + table + " (id INT PRIMARY KEY");
            COLUMNS.forEach(column -> definition.append(", ").append(column.name()).append(' ').append(column.type()));
            statement.execute(definition + ")");
            String insert = "INSERT INTO " + table + " VALUES (?" + ", ?".repeat(COLUMNS.size()) + ")";
            try (PreparedStatement prepared = connection.prepareStatement(insert)) {
                for (int row = 0; row < 4; row++) {
                    prepared.setInt(1, row);
                    for (int at = 0; at < COLUMNS.size(); at++) {
                        prepared.setObject(at + 2, row == 3 ? null : COLUMNS.get(at).values()[row]);
                    }
                    prepared.executeUpdate();
                }
            }
            try (PreparedStatement prepared = connection.prepareStatement("SELECT * FROM " + table + " WHERE id >= ? ORDER BY id")) {
                prepared.setInt(1, 0);
                ResultSet rows = prepared.executeQuery();
                for (int row = 0; row < 4; row++) {
                    check(rows.next(), "row " + row);
                    for (int at = 0; at < COLUMNS.size(); at++) {
                        Column column = COLUMNS.get(at);
                        if (row == 3) {
                            check(rows.getObject(at + 2) == null, column);
                            continue;
                        }
                        Object wrote = column.values()[row];
                        Object read = wrote instanceof byte[] ? rows.getBytes(at + 2) : wrote instanceof String ? rows.getString(at + 2)
                            : rows.getObject(at + 2, wrote.getClass());
                        boolean same = wrote instanceof byte[] bytes ? Arrays.equals(bytes, (byte[]) read)
                            : column.name().equals("c_time") ? sameTime((String) wrote, (String) read) : wrote.equals(read);
                        check(same, driver.scheme() + " " + Arrays.toString(options) + ": " + column.name() + " of row " + row + ", wrote " + wrote
                            + ", read " + read);
                    }
                }
                check(!rows.next(), "a row more");
            }
        }
    }

    /** Drivers leave out fractions that are zero. */
    static boolean sameTime(String wrote, String read) {
        return wrote.equals(read) || wrote.replaceAll("\\.000000$", "").equals(read.replaceAll("\\.0+$", ""));
    }

    static String one(Connection connection, String sql, int column) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            check(rows.next(), sql);
            return rows.getString(column);
        }
    }

    static void status(Driver driver) throws SQLException {
        try (Connection connection = driver.connect(driver.compressed(), driver.tls())) {
            check(one(connection, "SHOW STATUS LIKE 'Compression'", 2).equals("ON"), "compressed");
            check(one(connection, "SHOW STATUS LIKE 'Ssl_version'", 2).startsWith("TLSv1."), "encrypted");
            check(connection.isValid(5), "alive");
        }
    }

    static void transactions(Driver driver) throws SQLException {
        try (Connection one = driver.connect(); Connection other = driver.connect(); Statement statement = one.createStatement()) {
            statement.execute("CREATE TABLE accounts (id INT PRIMARY KEY, money INT)");
            statement.execute("INSERT INTO accounts VALUES (1, 100)");
            one.setAutoCommit(false);
            one.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            statement.execute("UPDATE accounts SET money = 70");
            check(one(other, "SELECT money FROM accounts", 1).equals("100"), "not seen before the commit");
            one.rollback();
            check(one(one, "SELECT money FROM accounts", 1).equals("100"), "undone");
            java.sql.Savepoint savepoint = one.setSavepoint("here");
            statement.execute("UPDATE accounts SET money = 60");
            one.rollback(savepoint);
            statement.execute("UPDATE accounts SET money = money - 1");
            one.commit();
            check(one(other, "SELECT money FROM accounts", 1).equals("99"), "kept");
            statement.execute("SET SESSION TRANSACTION READ ONLY");
            try {
                statement.execute("UPDATE accounts SET money = 0");
                check(false, "a read-only transaction wrote");
            } catch (SQLException refused) {
                check(refused.getErrorCode() == 1792 || refused.getMessage().contains("read-only"), refused);
            }
        }
    }

    static void errors(Driver driver) throws SQLException {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE unique_keys (id INT PRIMARY KEY)");
            statement.execute("INSERT INTO unique_keys VALUES (1)");
            Object[][] cases = {{"INSERT INTO unique_keys VALUES (1)", 1062, "23000"}, {"SELECT FROM", 1064, "42000"},
                {"SELECT * FROM nowhere", 1146, "42S02"}, {"INSERT INTO unique_keys VALUES (NULL)", 1048, "23000"}};
            for (Object[] one : cases) {
                try {
                    statement.execute((String) one[0]);
                    check(false, one[0]);
                } catch (SQLException error) {
                    check(error.getErrorCode() == (int) one[1] && error.getSQLState().equals(one[2]), error);
                    check(!one[2].equals("23000") || error instanceof SQLIntegrityConstraintViolationException, error.getClass());
                }
            }
            statement.setQueryTimeout(1);
            try {
                statement.executeQuery("SELECT SLEEP(60)").next();
            } catch (SQLException interrupted) {
                check(interrupted instanceof java.sql.SQLTimeoutException || interrupted.getErrorCode() == 1317, interrupted);
            }
            statement.setQueryTimeout(0);
            check(one(connection, "SELECT 1", 1).equals("1"), "the connection goes on");
        }
    }

    static void keysAndBatches(Driver driver) throws SQLException {
        for (String options : List.of("", "rewriteBatchedStatements=true", driver.prepared())) {
            try (Connection connection = driver.connect(options); Statement statement = connection.createStatement()) {
                statement.execute("DROP TABLE IF EXISTS ids");
                statement.execute("CREATE TABLE ids (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20))");
                String insert = "INSERT INTO ids (v) VALUES (?)";
                try (PreparedStatement prepared = connection.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
                    for (int at = 0; at < 500; at++) {
                        prepared.setString(1, "value " + at);
                        prepared.addBatch();
                    }
                    check(prepared.executeBatch().length == 500, "counts");
                    ResultSet keys = prepared.getGeneratedKeys();
                    check(keys.next() && keys.getInt(1) == 1, "the first key");
                }
                check(one(connection, "SELECT COUNT(*) FROM ids WHERE v = CONCAT('value ', id - 1)", 1).equals("500"), "all rows");
                check(statement.executeUpdate("UPDATE ids SET v = 'same' WHERE id <= 2") == 2, "rows changed");
            }
        }
    }

    static void cursors(Driver driver) throws SQLException {
        try (Connection connection = driver.connect(driver.cursors()); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE many (id INT PRIMARY KEY, v VARCHAR(100))");
            statement.execute("INSERT INTO many SELECT a.id * 20 + b.id, REPEAT('v', 100) FROM ids a JOIN ids b ON b.id <= 20 WHERE a.id <= 200");
            try (PreparedStatement prepared = connection.prepareStatement("SELECT id, v FROM many WHERE id > ? ORDER BY id")) {
                prepared.setFetchSize(100);
                prepared.setInt(1, 0);
                ResultSet rows = prepared.executeQuery();
                long count = 0;
                long last = 0;
                while (rows.next()) {
                    check(rows.getLong(1) > last, "in order");
                    last = rows.getLong(1);
                    count++;
                }
                check(count == 4000, "fetched " + count);
            }
        }
    }

    static void big(Driver driver) throws SQLException {
        String packet = "maxAllowedPacket=" + (64 << 20);
        for (String options : List.of(driver.text(), driver.prepared(), driver.compressed())) {
            try (Connection connection = driver.connect(options, packet);
                PreparedStatement prepared = connection.prepareStatement("SELECT LENGTH(?), ?")) {
                for (int size : new int[] {(1 << 24) - 40, (1 << 24) - 1, 1 << 24, 40 << 20}) {
                    String text = "x".repeat(size);
                    prepared.setString(1, text);
                    prepared.setString(2, size < (20 << 20) ? text : "short");
                    ResultSet rows = prepared.executeQuery();
                    check(rows.next() && rows.getInt(1) == size && rows.getString(2).length() == (size < (20 << 20) ? size : 5), size);
                }
            }
        }
    }

    static void files(Driver driver) throws Exception {
        Path file = Files.createTempFile("trine", ".csv");
        try (Connection connection = driver.connect(driver.files()); Statement statement = connection.createStatement()) {
            Files.writeString(file, "1,\"one, and more\"\n2,\\N\n");
            statement.execute("CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(20))");
            int count = statement.executeUpdate("LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE loaded FIELDS TERMINATED BY ',' ENCLOSED BY '\"'");
            check(count == 2, count);
            check(one(connection, "SELECT name FROM loaded WHERE id = 1", 1).equals("one, and more"), "the field");
        } finally {
            Files.delete(file);
        }
    }

    static void metadata(Driver driver) throws SQLException {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE described (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30) NOT NULL DEFAULT 'x', UNIQUE KEY by_name (name))");
            DatabaseMetaData data = connection.getMetaData();
            check(data.getDatabaseProductName().equals("MySQL") && data.getDatabaseMajorVersion() == 8, data.getDatabaseProductVersion());
            ResultSet columns = data.getColumns("java_" + driver.scheme(), null, "described", null);
            check(columns.next() && columns.getString("COLUMN_NAME").equals("id") && columns.getString("IS_AUTOINCREMENT").equals("YES"), "id");
            check(columns.next() && columns.getInt("COLUMN_SIZE") == 30 && columns.getString("COLUMN_DEF").contains("x"), "name");
            ResultSet keys = data.getPrimaryKeys("java_" + driver.scheme(), null, "described");
            check(keys.next() && keys.getString("COLUMN_NAME").equals("id"), "the primary key");
            ResultSet indexes = data.getIndexInfo("java_" + driver.scheme(), null, "described", true, false);
            List<String> names = new ArrayList<>();
            while (indexes.next()) {
                names.add(indexes.getString("INDEX_NAME"));
            }
            check(names.containsAll(List.of("PRIMARY", "by_name")), names);
            ResultSet tables = data.getTables("java_" + driver.scheme(), null, "descr%", new String[] {"TABLE"});
            check(tables.next() && tables.getString("TABLE_NAME").equals("described"), "the table");
        }
    }
}
