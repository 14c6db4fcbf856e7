//! String functions: the examples of the manual, and the corners people ask about.

use crate::script::{check, warnings};

#[test]
fn lengths_and_codes() {
    check(
        "length('text') => 4
        length('é') => 2
        char_length('é') => 1
        char_length(x'C3A9') => 2
        bit_length('text') => 32
        length(NULL) => NULL
        length(12.50) => 5
        ascii('2') => 50
        ascii(2) => 50
        ascii('') => 0
        ord('2') => 50
        ord('é') => 50089
        charset('a') => utf8mb4
        charset(x'41') => binary
        charset(1) => binary
        collation('a') => utf8mb4_0900_ai_ci
        collation('a' collate utf8mb4_bin) => utf8mb4_bin
        coercibility('a' collate utf8mb4_bin) => 0
        coercibility(user()) => 3
        coercibility('abc') => 4
        coercibility(1000) => 5
        coercibility(NULL) => 6",
    );
}

#[test]
fn parts_of_strings() {
    check(
        "substring('Quadratically', 5) => ratically
        substring('Quadratically', 5, 6) => ratica
        substring('Sakila', -3) => ila
        substring('Sakila', -5, 3) => aki
        substring('Sakila', 0) =>
        substring('Sakila', 2, 0) =>
        substring('Sakila', 7) =>
        substring('Sakila', -9) =>
        substr('日本語', 2, 1) => 本
        mid('Sakila', 2, 3) => aki
        left('foobarbar', 5) => fooba
        left('日本語', 2) => 日本
        left('a', -1) =>
        right('foobarbar', 4) => rbar
        right('日本語', 2) => 本語
        substring_index('www.mysql.com', '.', 2) => www.mysql
        substring_index('www.mysql.com', '.', -2) => mysql.com
        substring_index('www.mysql.com', '.', 10) => www.mysql.com
        substring_index('www.mysql.com', '', 1) =>
        concat('[', trim('  bar   '), ']') => [bar]
        trim(leading 'x' from 'xxxbarxxx') => barxxx
        trim(both 'x' from 'xxxbarxxx') => bar
        trim(trailing 'xyz' from 'barxxyz') => barx
        concat('[', ltrim('  bar '), ']') => [bar ]
        concat('[', rtrim(' bar  '), ']') => [ bar]
        upper('Hej') => HEJ
        upper('straße') => STRAßE
        upper('é') => É
        lower('QUADRATICALLY') => quadratically
        upper(x'6162') => ab",
    );
}

#[test]
fn putting_strings_together() {
    check(
        "concat('My', 'S', 'QL') => MySQL
        concat('My', NULL, 'QL') => NULL
        concat(14.3) => 14.3
        concat(1, 2) => 12
        concat_ws(',', 'First name', 'Second name', 'Last Name') => First name,Second name,Last Name
        concat_ws(',', 'First name', NULL, 'Last Name') => First name,Last Name
        concat_ws(NULL, 'a') => NULL
        concat_ws(',', '', 'a') => ,a
        repeat('MySQL', 3) => MySQLMySQLMySQL
        repeat('a', -1) =>
        repeat('a', 1000000000) => NULL
        concat('[', space(3), ']') => [   ]
        lpad('hi', 4, '??') => ??hi
        lpad('hi', 1, '??') => h
        lpad('hi', 7, 'ab') => ababahi
        lpad('hi', -1, 'a') => NULL
        rpad('hi', 5, '?') => hi???
        rpad('hi', 1, '?') => h
        rpad('日', 3, '本') => 日本本
        reverse('abc') => cba
        reverse('日本') => 本日
        replace('www.mysql.com', 'w', 'Ww') => WwWwWw.mysql.com
        replace('aaa', 'aa', 'b') => ba
        replace('abc', '', 'x') => abc
        insert('Quadratic', 3, 4, 'What') => QuWhattic
        insert('Quadratic', -1, 4, 'What') => Quadratic
        insert('Quadratic', 3, 100, 'What') => QuWhat
        quote('Don''t!') => 'Don\\'t!'
        quote(NULL) => NULL
        elt(1, 'Aa', 'Bb', 'Cc') => Aa
        elt(4, 'Aa', 'Bb', 'Cc') => NULL
        elt(0, 'Aa') => NULL
        make_set(1, 'a', 'b', 'c') => a
        make_set(1 | 4, 'hello', 'nice', 'world') => hello,world
        make_set(1 | 4, 'hello', 'nice', NULL, 'world') => hello
        make_set(0, 'a', 'b', 'c') =>
        export_set(5, 'Y', 'N', ',', 4) => Y,N,Y,N
        export_set(6, '1', '0', ',', 10) => 0,1,1,0,0,0,0,0,0,0
        soundex('Hello') => H400
        soundex('Quadratically') => Q36324
        soundex('bA b') => B000
        soundex('Tymczak') => T520",
    );
    assert_eq!(warnings("repeat('a', 1000000000)"), [1301]);
}

#[test]
fn finding_and_comparing() {
    check(
        "instr('foobarbar', 'bar') => 4
        instr('xbar', 'foobar') => 0
        instr('FOOBAR', 'bar') => 4
        instr(binary 'FOOBAR', 'bar') => 0
        locate('bar', 'foobarbar') => 4
        locate('bar', 'foobarbar', 5) => 7
        locate('', 'foo') => 1
        locate('', 'foo', 4) => 4
        locate('', 'foo', 5) => 0
        locate('本', '日本語') => 2
        locate(NULL, 'a') => NULL
        field('Bb', 'Aa', 'Bb', 'Cc') => 2
        field('Gg', 'Aa', 'Bb') => 0
        field(2, 1, 2) => 2
        field(2, 1, '2') => 2
        field(NULL, NULL) => 0
        find_in_set('b', 'a,b,c,d') => 2
        find_in_set('e', 'a,b') => 0
        find_in_set('', '') => 0
        find_in_set('', 'a,,b') => 2
        find_in_set('a,b', 'a,b') => 0
        strcmp('text', 'text2') => -1
        strcmp('text2', 'text') => 1
        strcmp('text', 'TEXT') => 0
        'a' collate utf8mb4_bin = 'a' collate utf8mb4_general_ci => error 1267
        'a' collate utf8mb4_nonsense => error 1273
        x'41' collate utf8mb4_bin => error 1253",
    );
}

#[test]
fn encodings_and_digests() {
    check(
        "hex('abc') => 616263
        hex(255) => FF
        hex(-1) => FFFFFFFFFFFFFFFF
        hex(2.5) => 3
        unhex('4D7953514C') => MySQL
        unhex('4') => \x04
        unhex('GG') => NULL
        bin(12) => 1100
        oct(12) => 14
        bin(NULL) => NULL
        conv('a', 16, 2) => 1010
        conv('6E', 18, 8) => 172
        conv(-17, 10, -18) => -H
        conv('10' + '10', 10, 10) => 20
        conv('zz', 37, 10) => NULL
        conv(-1, 10, 16) => FFFFFFFFFFFFFFFF
        char(77, 121, 83, 81, '76') => MySQL
        char(77, 77.3, '77.3') => MMM
        char(77, NULL, 81) => MQ
        hex(char(256)) => 0100
        to_base64('abc') => YWJj
        to_base64('ab') => YWI=
        from_base64('YWJj') => abc
        from_base64('YW Jj') => abc
        from_base64('YWJ') => NULL
        md5('testing') => ae2b1fca515949e5d54fb22b8ed95575
        sha1('abc') => a9993e364706816aba3e25717850c26c9cd0d89d
        sha2('abc', 224) => 23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7
        sha2('abc', 0) => ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad
        sha2('abc', 1) => NULL
        crc32('MySQL') => 3259397556
        crc32('mysql') => 2501908538
        uncompress(compress('any string')) => any string
        uncompressed_length(compress(repeat('a', 30))) => 30
        length(compress('')) => 0
        uncompress('nonsense') => NULL
        format(12332.123456, 4) => 12,332.1235
        format(12332.1, 4) => 12,332.1000
        format(12332.2, 0) => 12,332
        format(12332.2, 2, 'de_DE') => 12.332,20
        format(-1234567, 0) => -1,234,567
        format(999.995e0, 1) => 1,000.0
        format(NULL, 1) => NULL"
            .replace("\\x04", "\x04")
            .as_str(),
    );
    assert_eq!(warnings("unhex('GG')"), [1411]);
}

#[test]
fn regular_expressions() {
    check(
        r"'Michael!' regexp '.*' => 1
        'new*\n*line' regexp 'new\\*.\\*line' => 0
        'a' regexp '^[a-d]' => 1
        'a' regexp 'A' => 1
        'a' regexp binary 'A' => 0
        'abc' not regexp 'd' => 1
        NULL regexp 'a' => NULL
        regexp_like('CamelCase', 'CAMELCASE') => 1
        regexp_like('CamelCase', 'CAMELCASE', 'c') => 0
        regexp_like('a\nb', '^b', 'm') => 1
        regexp_instr('dog cat dog', 'dog') => 1
        regexp_instr('dog cat dog', 'dog', 2) => 9
        regexp_instr('aa aaa aaaa', 'a{4}') => 8
        regexp_instr('abcabc', 'b', 1, 2, 1) => 6
        regexp_substr('abc def ghi', '[a-z]+') => abc
        regexp_substr('abc def ghi', '[a-z]+', 1, 3) => ghi
        regexp_substr('abc', 'x') => NULL
        regexp_replace('a b c', 'b', 'X') => a X c
        regexp_replace('abc def ghi', '[a-z]+', 'X', 1, 3) => abc def X
        regexp_replace('ab12', '([a-z]+)([0-9]+)', '$2$1') => 12ab
        'a' regexp '(' => error 3691
        'a' regexp '[' => error 3696
        regexp_like('a', '') => error 3685
        regexp_like('a', 'a', 'z') => error 1210
        regexp_instr('abc', 'b', 10) => error 3686",
    );
}
