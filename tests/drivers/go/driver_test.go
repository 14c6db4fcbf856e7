// Package drivers tries go-sql-driver/mysql on a Trine server: TRINE_PORT is the port of one with a fresh data directory, on 127.0.0.1, where
// root has no password.
package drivers

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

const database = "go_driver"

// open connects with further parameters of the data source name.
func open(t *testing.T, parameters string) *sql.DB {
	t.Helper()
	dsn := fmt.Sprintf("root@tcp(127.0.0.1:%s)/%s?parseTime=true&loc=UTC&%s", os.Getenv("TRINE_PORT"), database, parameters)
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestMain(m *testing.M) {
	db, err := sql.Open("mysql", fmt.Sprintf("root@tcp(127.0.0.1:%s)/", os.Getenv("TRINE_PORT")))
	if err == nil {
		_, err = db.Exec("DROP DATABASE IF EXISTS " + database)
	}
	if err == nil {
		_, err = db.Exec("CREATE DATABASE " + database)
	}
	if err == nil {
		_, err = db.Exec("SET GLOBAL local_infile = ON")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func run(t *testing.T, db *sql.DB, query string, arguments ...any) sql.Result {
	t.Helper()
	result, err := db.Exec(query, arguments...)
	if err != nil {
		t.Fatalf("%.200s: %v", query, err)
	}
	return result
}

type column struct {
	name, kind string
	values     [3]any
}

func day(year int, month time.Month, day, hour, minute, second, nanos int) time.Time {
	return time.Date(year, month, day, hour, minute, second, nanos, time.UTC)
}

var columns = []column{
	{"c_tiny", "TINYINT", [3]any{int64(-128), int64(0), int64(127)}},
	{"c_utiny", "TINYINT UNSIGNED", [3]any{int64(0), int64(1), int64(255)}},
	{"c_small", "SMALLINT", [3]any{int64(-32768), int64(0), int64(32767)}},
	{"c_medium", "MEDIUMINT", [3]any{int64(-8388608), int64(0), int64(8388607)}},
	{"c_umedium", "MEDIUMINT UNSIGNED", [3]any{int64(0), int64(1), int64(16777215)}},
	{"c_int", "INT", [3]any{int64(-2147483648), int64(0), int64(2147483647)}},
	{"c_uint", "INT UNSIGNED", [3]any{int64(0), int64(1), int64(4294967295)}},
	{"c_big", "BIGINT", [3]any{int64(-9223372036854775808), int64(0), int64(9223372036854775807)}},
	{"c_ubig", "BIGINT UNSIGNED", [3]any{uint64(0), uint64(1), uint64(18446744073709551615)}},
	{"c_float", "FLOAT", [3]any{float32(-1.5), float32(0), float32(3.25)}},
	{"c_double", "DOUBLE", [3]any{-1.7976931348623157e308, 0.0, 0.1}},
	{"c_decimal", "DECIMAL(65,30)", [3]any{"-1.000000000000000000000000000001", "0.000000000000000000000000000000", strings.Repeat("9", 35) + "." + strings.Repeat("9", 30)}},
	{"c_date", "DATE", [3]any{day(1000, 1, 1, 0, 0, 0, 0), day(2024, 2, 29, 0, 0, 0, 0), day(9999, 12, 31, 0, 0, 0, 0)}},
	{"c_datetime", "DATETIME(6)", [3]any{day(1000, 1, 1, 0, 0, 0, 0), day(2024, 2, 29, 23, 59, 59, 999999000), day(9999, 12, 31, 23, 59, 59, 0)}},
	{"c_timestamp", "TIMESTAMP(3) NULL", [3]any{day(1970, 1, 2, 0, 0, 0, 0), day(2024, 2, 29, 12, 0, 0, 123000000), day(2038, 1, 18, 3, 14, 7, 0)}},
	{"c_time", "TIME(6)", [3]any{"-838:59:59.000000", "00:00:00.000000", "25:00:00.000001"}},
	{"c_year", "YEAR", [3]any{int64(1901), int64(2024), int64(2155)}},
	{"c_char", "CHAR(10)", [3]any{"", "abc", "äöü漢😀"}},
	{"c_varchar", "VARCHAR(200)", [3]any{"", "it's \"quoted\" \\ and\nbroken\x00", strings.Repeat("漢字😀", 20)}},
	{"c_longtext", "LONGTEXT", [3]any{"", "plain", strings.Repeat("é", 100000)}},
	{"c_binary", "BINARY(4)", [3]any{[]byte{0, 0, 0, 0}, []byte{1, 2, 0xfe, 0xff}, []byte("abcd")}},
	{"c_blob", "BLOB", [3]any{[]byte{}, []byte{0xff, 0xfe}, bytes.Repeat([]byte{0, 1, 0xff}, 20000)}},
	{"c_enum", "ENUM('a','b','ü')", [3]any{"a", "b", "ü"}},
	{"c_set", "SET('x','y','z')", [3]any{"", "x", "x,z"}},
	{"c_json", "JSON", [3]any{`{"a": [1, 2.5, null, "é"]}`, `[]`, `"text"`}},
	{"c_bit", "BIT(40)", [3]any{[]byte{0, 0, 0, 0, 0}, []byte{0, 0, 0, 0, 1}, []byte{0xff, 0xff, 0xff, 0xff, 0xff}}},
}

// same says whether a value came back, in the type the driver reads it in.
func same(wrote, read any) bool {
	switch wrote := wrote.(type) {
	case time.Time:
		got, ok := read.(time.Time)
		return ok && got.Equal(wrote)
	case []byte:
		got, ok := read.([]byte)
		return ok && bytes.Equal(got, wrote)
	case string:
		got, ok := read.([]byte)
		return ok && string(got) == wrote
	case uint64:
		// Numbers that int64 does not hold are read as text.
		if text, ok := read.([]byte); ok {
			read = string(text)
		}
		return fmt.Sprint(wrote) == fmt.Sprint(read)
	default:
		return fmt.Sprint(wrote) == fmt.Sprint(read)
	}
}

func roundTrip(t *testing.T, db *sql.DB, table string) {
	t.Helper()
	var definitions, names []string
	for _, column := range columns {
		definitions = append(definitions, column.name+" "+column.kind)
		names = append(names, column.name)
	}
	run(t, db, "CREATE TABLE "+table+" (id INT PRIMARY KEY, "+strings.Join(definitions, ", ")+")")
	marks := strings.Repeat(", ?", len(columns))
	for row := 0; row < 4; row++ {
		arguments := []any{row}
		for _, column := range columns {
			if row == 3 {
				arguments = append(arguments, nil)
			} else {
				arguments = append(arguments, column.values[row])
			}
		}
		run(t, db, "INSERT INTO "+table+" VALUES (?"+marks+")", arguments...)
	}
	rows, err := db.Query("SELECT "+strings.Join(names, ", ")+" FROM "+table+" WHERE id >= ? ORDER BY id", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	count := 0
	for ; rows.Next(); count++ {
		read := make([]any, len(columns))
		into := make([]any, len(columns))
		for at := range read {
			into[at] = &read[at]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for at, column := range columns {
			if count == 3 {
				if read[at] != nil {
					t.Errorf("%s: wrote NULL, read %v", column.name, read[at])
				}
				continue
			}
			if wrote := column.values[count]; !same(wrote, read[at]) {
				t.Errorf("%s of row %d: wrote %T %.100v, read %T %.100v", column.name, count, wrote, wrote, read[at], read[at])
			}
		}
	}
	if err := rows.Err(); err != nil || count != 4 {
		t.Fatalf("%d rows, %v", count, err)
	}
}

func TestValuesOfAllTypesComeBack(t *testing.T) {
	roundTrip(t, open(t, ""), "types_prepared")
	roundTrip(t, open(t, "interpolateParams=true"), "types_text")
}

func TestConnectionsAreCompressedAndEncrypted(t *testing.T) {
	for at, parameters := range []string{"compress=true", "tls=skip-verify", "compress=true&tls=skip-verify"} {
		db := open(t, parameters)
		var name, compressed, version string
		if err := db.QueryRow("SHOW STATUS LIKE 'Compression'").Scan(&name, &compressed); err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRow("SHOW STATUS LIKE 'Ssl_version'").Scan(&name, &version); err != nil {
			t.Fatal(err)
		}
		if (compressed == "ON") != strings.Contains(parameters, "compress") || (version != "") != strings.Contains(parameters, "tls") {
			t.Fatalf("%s: compression %q, TLS %q", parameters, compressed, version)
		}
		roundTrip(t, db, fmt.Sprintf("types_transport_%d", at))
		big(t, db)
	}
}

// big sends and reads texts around the length of a packet.
func big(t *testing.T, db *sql.DB) {
	t.Helper()
	const packet = 1<<24 - 1
	for _, size := range []int{packet - 10, packet, packet + 1, 2*packet + 100} {
		text := strings.Repeat("0123456789abcdef", size>>4) + strings.Repeat("x", size&15)
		var length int
		var read string
		if err := db.QueryRow("SELECT LENGTH(?), ?", text, text).Scan(&length, &read); err != nil {
			t.Fatal(err)
		}
		if length != size || read != text {
			t.Fatalf("sent %d bytes, the server saw %d, and sent back %d", size, length, len(read))
		}
	}
}

func TestPacketsOfManyMegabytesGoBothWays(t *testing.T) {
	big(t, open(t, "maxAllowedPacket=0"))
}

func TestTransactionsAreUndoneKeptAndSeen(t *testing.T) {
	db := open(t, "")
	run(t, db, "CREATE TABLE accounts (id INT PRIMARY KEY, money INT)")
	run(t, db, "INSERT INTO accounts VALUES (1, 100)")
	money := func() (money int) {
		if err := db.QueryRow("SELECT money FROM accounts WHERE id = 1").Scan(&money); err != nil {
			t.Fatal(err)
		}
		return money
	}
	for _, commit := range []bool{false, true} {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec("UPDATE accounts SET money = money - ? WHERE id = 1", 30); err != nil {
			t.Fatal(err)
		}
		if got := money(); got != 100 {
			t.Fatalf("what is not committed was seen: %d", got)
		}
		end, expected := tx.Rollback, 100
		if commit {
			end, expected = tx.Commit, 70
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if got := money(); got != expected {
			t.Fatalf("commit %v: %d", commit, got)
		}
	}
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var refused *mysql.MySQLError
	if _, err := tx.Exec("UPDATE accounts SET money = 0"); !errors.As(err, &refused) || refused.Number != 1792 {
		t.Fatalf("a read-only transaction wrote: %v", err)
	}
}

func TestErrorsHaveMysqlsNumbers(t *testing.T) {
	db := open(t, "")
	run(t, db, "CREATE TABLE unique_keys (id INT PRIMARY KEY)")
	run(t, db, "INSERT INTO unique_keys VALUES (1)")
	for query, number := range map[string]uint16{
		"INSERT INTO unique_keys VALUES (1)": 1062, "SELECT FROM": 1064, "SELECT * FROM nowhere": 1146, "SELECT nothing FROM unique_keys": 1054,
	} {
		for _, arguments := range [][]any{nil, {1}} {
			if arguments != nil {
				query = strings.Replace(query, "1)", "?)", 1)
				if !strings.Contains(query, "?") {
					continue
				}
			}
			var failed *mysql.MySQLError
			if _, err := db.Exec(query, arguments...); !errors.As(err, &failed) || failed.Number != number {
				t.Errorf("%s: %v", query, err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := db.QueryContext(ctx, "SELECT SLEEP(60)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("SLEEP ended with %v", err)
	}
}

func TestIdsAndRowCountsAreTold(t *testing.T) {
	db := open(t, "")
	run(t, db, "CREATE TABLE ids (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")
	result := run(t, db, "INSERT INTO ids (v) VALUES (?), (?)", 1, 2)
	id, _ := result.LastInsertId()
	count, _ := result.RowsAffected()
	if id != 1 || count != 2 {
		t.Fatalf("id %d, %d rows", id, count)
	}
	for parameters, expected := range map[string]int64{"": 1, "clientFoundRows=true": 2} {
		run(t, db, "UPDATE ids SET v = id")
		run(t, db, "UPDATE ids SET v = 9 WHERE id = 1")
		count, _ := run(t, open(t, parameters), "UPDATE ids SET v = ?", 9).RowsAffected()
		if count != expected {
			t.Errorf("%q: %d rows", parameters, count)
		}
	}
}

func TestSeveralStatementsGiveSeveralResults(t *testing.T) {
	rows, err := open(t, "multiStatements=true").Query("SELECT 1; SELECT 2")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for expected := 1; expected <= 2; expected++ {
		var got int
		if !rows.Next() || rows.Scan(&got) != nil || got != expected || rows.Next() {
			t.Fatalf("result %d: %d", expected, got)
		}
		if rows.NextResultSet() != (expected == 1) {
			t.Fatal("another number of results")
		}
	}
}

func TestFilesAndReadersAreLoaded(t *testing.T) {
	for at, parameters := range []string{"", "compress=true"} {
		db := open(t, "allowAllFiles=true&"+parameters)
		table := fmt.Sprintf("loaded_%d", at)
		run(t, db, "CREATE TABLE "+table+" (id INT PRIMARY KEY, name VARCHAR(20))")
		file := filepath.Join(t.TempDir(), "rows.tsv")
		if err := os.WriteFile(file, []byte("1\ta\\tb\n2\t\\N\n2\tduplicate\nx\tno number\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		count, _ := run(t, db, "LOAD DATA LOCAL INFILE '"+file+"' INTO TABLE "+table).RowsAffected()
		if count != 3 {
			t.Errorf("%d rows of a file", count)
		}
		mysql.RegisterReaderHandler("rows", func() io.Reader {
			var text strings.Builder
			for id := 10; id < 20000; id++ {
				fmt.Fprintf(&text, "%d\tname %d\n", id, id)
			}
			return strings.NewReader(text.String())
		})
		count, _ = run(t, db, "LOAD DATA LOCAL INFILE 'Reader::rows' INTO TABLE "+table).RowsAffected()
		if count != 19990 {
			t.Errorf("%d rows of a reader", count)
		}
		var first, last string
		query := "SELECT (SELECT name FROM " + table + " WHERE id = 1), (SELECT name FROM " + table + " WHERE id = 19999)"
		if err := db.QueryRow(query).Scan(&first, &last); err != nil || first != "a\tb" || last != "name 19999" {
			t.Errorf("%q, %q, %v", first, last, err)
		}
	}
}
