// mysql2 against a Trine server: TRINE_PORT is the port of one with a fresh data directory, on 127.0.0.1, where root has no password.
'use strict';

const assert = require('node:assert');
const { after, before, test } = require('node:test');
const { Readable } = require('node:stream');
const mysql = require('mysql2/promise');

const database = 'node_mysql2';
const open = [];

async function connect(options = {}) {
  const connection = await mysql.createConnection({
    host: '127.0.0.1', port: Number(process.env.TRINE_PORT), user: 'root', database, timezone: 'Z', dateStrings: true,
    supportBigNumbers: true, bigNumberStrings: true, ...options,
  });
  open.push(connection);
  return connection;
}

before(async () => {
  const connection = await connect({ database: undefined });
  await connection.query(`DROP DATABASE IF EXISTS ${database}`);
  await connection.query(`CREATE DATABASE ${database}`);
  await connection.query('SET GLOBAL local_infile = ON');
});

after(() => open.forEach((connection) => connection.destroy()));

const columns = [
  ['c_tiny', 'TINYINT', [-128, 0, 127]],
  ['c_utiny', 'TINYINT UNSIGNED', [0, 1, 255]],
  ['c_small', 'SMALLINT', [-32768, 0, 32767]],
  ['c_medium', 'MEDIUMINT', [-8388608, 0, 8388607]],
  ['c_umedium', 'MEDIUMINT UNSIGNED', [0, 1, 16777215]],
  ['c_int', 'INT', [-2147483648, 0, 2147483647]],
  ['c_uint', 'INT UNSIGNED', [0, 1, 4294967295]],
  ['c_big', 'BIGINT', ['-9223372036854775808', '0', '9223372036854775807']],
  ['c_ubig', 'BIGINT UNSIGNED', ['0', '1', '18446744073709551615']],
  ['c_float', 'FLOAT', [-1.5, 0, 3.25]],
  ['c_double', 'DOUBLE', [-1.7976931348623157e308, 0, 0.1]],
  ['c_decimal', 'DECIMAL(65,30)', ['-1.000000000000000000000000000001', '0.000000000000000000000000000000', `${'9'.repeat(35)}.${'9'.repeat(30)}`]],
  ['c_date', 'DATE', ['1000-01-01', '2024-02-29', '9999-12-31']],
  ['c_datetime', 'DATETIME(6)', ['1000-01-01 00:00:00.000000', '2024-02-29 23:59:59.999999', '9999-12-31 23:59:59.000000']],
  ['c_timestamp', 'TIMESTAMP NULL', ['1970-01-02 00:00:00', '2024-02-29 12:00:00', '2038-01-18 03:14:07']],
  ['c_time', 'TIME', ['-838:59:59', '00:00:00', '25:00:01']],
  ['c_year', 'YEAR', [1901, 2024, 2155]],
  ['c_char', 'CHAR(10)', ['', 'abc', 'äöü漢😀']],
  ['c_varchar', 'VARCHAR(200)', ['', 'it\'s "quoted" \\ and\nbroken\0', '漢字😀'.repeat(20)]],
  ['c_longtext', 'LONGTEXT', ['', 'plain', 'é'.repeat(100000)]],
  ['c_binary', 'BINARY(4)', [Buffer.from([0, 0, 0, 0]), Buffer.from([1, 2, 0xfe, 0xff]), Buffer.from('abcd')]],
  ['c_blob', 'BLOB', [Buffer.alloc(0), Buffer.from([0xff, 0xfe]), Buffer.alloc(60000, 0xab)]],
  ['c_enum', "ENUM('a','b','ü')", ['a', 'b', 'ü']],
  ['c_set', "SET('x','y','z')", ['', 'x', 'x,z']],
  ['c_json', 'JSON', [{ a: [1, 2.5, null, 'é'] }, [], 'text']],
  ['c_bit', 'BIT(40)', [Buffer.from([0, 0, 0, 0, 0]), Buffer.from([0, 0, 0, 0, 1]), Buffer.alloc(5, 0xff)]],
];

async function roundTrip(connection, table, call) {
  const names = columns.map(([name]) => name).join(', ');
  await connection.query(`DROP TABLE IF EXISTS ${table}`);
  await connection.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, ${columns.map(([name, kind]) => `${name} ${kind}`).join(', ')})`);
  const marks = columns.map(() => '?').join(', ');
  for (let row = 0; row < 4; row++) {
    const values = columns.map(([name, , values]) => {
      if (row === 3) return null;
      return name === 'c_json' ? JSON.stringify(values[row]) : values[row];
    });
    await connection[call](`INSERT INTO ${table} (id, ${names}) VALUES (?, ${marks})`, [row, ...values]);
  }
  const [rows] = await connection[call](`SELECT ${names} FROM ${table} WHERE id >= ? ORDER BY id`, [0]);
  assert.strictEqual(rows.length, 4);
  rows.forEach((read, row) => {
    for (const [name, , values] of columns) {
      // Fractions of seconds that are zero do not travel in the binary protocol.
      const whole = name === 'c_datetime' && call === 'execute' && row !== 3 && values[row].endsWith('.000000');
      const got = whole ? `${read[name]}.000000` : read[name];
      assert.deepStrictEqual(got, row === 3 ? null : values[row], `${name} of row ${row}, ${call}`);
    }
  });
}

test('values of all types come back', async () => {
  const connection = await connect();
  await roundTrip(connection, 'types_text', 'query');
  await roundTrip(connection, 'types_prepared', 'execute');
});

test('connections are encrypted', async () => {
  const connection = await connect({ ssl: { rejectUnauthorized: false } });
  const [[status]] = await connection.query("SHOW STATUS LIKE 'Ssl_version'");
  assert.match(status.Value, /^TLSv1\./);
  await roundTrip(connection, 'types_tls', 'execute');
});

test('connections are compressed', async () => {
  const connection = await connect({ compress: true });
  const [[status]] = await connection.query("SHOW STATUS LIKE 'Compression_algorithm'");
  assert.strictEqual(status.Value, 'zlib');
  await roundTrip(connection, 'types_compressed', 'query');
  await roundTrip(connection, 'types_compressed_prepared', 'execute');
  const text = 'compress me '.repeat(100000);
  const [[row]] = await connection.query("SELECT LENGTH(?) AS length, REPEAT('compress me ', 100000) AS text", [text]);
  assert.deepStrictEqual([Number(row.length), row.text === text], [text.length, true]);
});

test('packets of many megabytes go both ways', async () => {
  const connection = await connect();
  const packet = 2 ** 24 - 1;
  for (const size of [packet - 1, packet, packet + 1, 2 * packet + 100]) {
    const text = 'x'.repeat(size);
    const [[row]] = await connection.query(`SELECT LENGTH(?) AS length, REPEAT('x', ${size}) AS text`, [text]);
    assert.deepStrictEqual([Number(row.length), row.text === text], [size, true]);
  }
});

test('transactions are undone, kept and seen', async () => {
  const [one, other] = [await connect(), await connect()];
  await one.query('CREATE TABLE accounts (id INT PRIMARY KEY, money INT)');
  await one.query('INSERT INTO accounts VALUES (1, 100)');
  const money = async () => (await other.query('SELECT money FROM accounts'))[0][0].money;
  for (const [end, expected] of [['rollback', 100], ['commit', 70]]) {
    await one.beginTransaction();
    await one.execute('UPDATE accounts SET money = money - ? WHERE id = 1', [30]);
    assert.strictEqual(await money(), 100);
    await one[end]();
    assert.strictEqual(await money(), expected);
  }
});

test('errors have the numbers and names of MySQL', async () => {
  const connection = await connect();
  await connection.query('CREATE TABLE unique_keys (id INT PRIMARY KEY)');
  await connection.query('INSERT INTO unique_keys VALUES (1)');
  for (const [sql, code] of [
    ['INSERT INTO unique_keys VALUES (1)', 'ER_DUP_ENTRY'], ['SELECT FROM', 'ER_PARSE_ERROR'], ['SELECT * FROM nowhere', 'ER_NO_SUCH_TABLE'],
  ]) {
    await assert.rejects(connection.query(sql), { code });
    await assert.rejects(connection.execute(sql), { code });
  }
  await assert.rejects(connect({ user: 'nobody', password: 'x' }), { code: 'ER_ACCESS_DENIED_ERROR' });
});

test('ids, row counts and info are told', async () => {
  const connection = await connect();
  await connection.query('CREATE TABLE ids (id INT PRIMARY KEY AUTO_INCREMENT, v INT)');
  const [inserted] = await connection.query('INSERT INTO ids (v) VALUES (1), (2)');
  assert.deepStrictEqual([inserted.insertId, inserted.affectedRows], [1, 2]);
  assert.match(inserted.info, /^Records: 2 {2}Duplicates: 0 {2}Warnings: 0$/);
  const [updated] = await connection.execute('UPDATE ids SET v = 1');
  assert.deepStrictEqual([updated.affectedRows, updated.changedRows], [2, 1]);
});

test('several statements give several results', async () => {
  const [results] = await (await connect({ multipleStatements: true, bigNumberStrings: false })).query('SELECT 1 AS a; SELECT 2 AS b');
  assert.deepStrictEqual(results, [[{ a: 1 }], [{ b: 2 }]]);
});

test('rows are streamed', async () => {
  const connection = await connect();
  await connection.query('CREATE TABLE many (id INT PRIMARY KEY)');
  await connection.query('INSERT INTO many VALUES ?', [Array.from({ length: 5000 }, (_, id) => [id])]);
  let sum = 0;
  for await (const row of connection.connection.query('SELECT id FROM many').stream()) sum += row.id;
  assert.strictEqual(sum, (4999 * 5000) / 2);
});

test('sessions are told of their changes', async () => {
  const connection = await connect();
  const [used] = await connection.query('USE mysql');
  assert.deepStrictEqual(used.stateChanges.schema, 'mysql');
  const [set] = await connection.query('SET autocommit = 0');
  assert.deepStrictEqual(set.stateChanges.systemVariables, { autocommit: 'OFF' });
});

test('users are changed', async () => {
  const connection = await connect({ compress: true });
  await connection.changeUser({ user: 'root', database: 'mysql' });
  assert.strictEqual((await connection.query('SELECT DATABASE() AS d'))[0][0].d, 'mysql');
});

test('streams are loaded', async () => {
  for (const [table, compress] of [['loaded', false], ['loaded_compressed', true]]) {
    const connection = await connect({ compress });
    await connection.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, name VARCHAR(20))`);
    const lines = Array.from({ length: 10000 }, (_, id) => Buffer.from(`${id},"name ${id}"\n`));
    const [loaded] = await connection.query({
      sql: `LOAD DATA LOCAL INFILE 'rows' INTO TABLE ${table} FIELDS TERMINATED BY ',' ENCLOSED BY '"'`,
      infileStreamFactory: () => Readable.from(lines),
    });
    assert.deepStrictEqual([loaded.affectedRows, loaded.info], [10000, 'Records: 10000  Deleted: 0  Skipped: 0  Warnings: 0']);
  }
});
