//! Operators: arithmetic, comparison, logic, choices.

use expr::{EvalCtx, SqlMode};

use crate::script::{answer_in, check, context, parse, warnings};

#[test]
fn arithmetic_has_mysqls_domains_and_precision() {
    check(
        "1 + 1 => 2
        7 / 2 => 3.5000
        1 / 3 => 0.3333
        1 / 3 * 3 => 1.0000
        5.0 / 3 => 1.66667
        1.10 + 2.205 => 3.305
        1.5 * 1.5 => 2.25
        0.1 + 0.2 => 0.3
        0.1e0 + 0.2e0 => 0.30000000000000004
        '3' + 4 => 7
        '3.5abc' + 1 => 4.5
        7 div 2 => 3
        -7 div 2 => -3
        7.9 div 2 => 3
        7 % 3 => 1
        -7 % 3 => -1
        7 % -3 => 1
        7.5 % 2 => 1.5
        7 mod 0 => NULL
        1 / 0 => NULL
        1 div 0 => NULL
        -5 + 3 => -2
        - 5 => -5
        -(-9223372036854775808) => 9223372036854775808
        9223372036854775807 + 1 => error 1690
        -9223372036854775807 - 2 => error 1690
        9223372036854775807 * 2 => error 1690
        18446744073709551615 + 0 => 18446744073709551615
        18446744073709551615 + 1 => error 1690
        1 - 2 => -1
        cast(1 as unsigned) - 2 => error 1690
        cast(5 as unsigned) - 2 => 3
        NULL + 1 => NULL
        1e308 * 10 => error 1690
        date '2024-01-02' + 0 => 20240102
        timestamp '2024-01-02 03:04:05' + 1 => 20240102030406
        time '10:11:12' + 0 => 101112
        time '10:11:12.5' + 0 => 101112.5
        x'41' + 0 => 65
        x'41' = 65 => 1
        x'41' = 'A' => 1
        true + true => 2",
    );
}

#[test]
fn bit_operators_are_unsigned() {
    check(
        "5 & 3 => 1
        5 | 3 => 7
        5 ^ 3 => 6
        ~0 => 18446744073709551615
        ~5 & 15 => 10
        1 << 3 => 8
        1 << 64 => 0
        -1 >> 1 => 9223372036854775807
        1.5 | 0 => 2
        '3' & 1 => 1
        NULL | 1 => NULL
        hex(cast(x'F0F0' as binary) & cast(x'FF00' as binary)) => F000
        hex(~cast(x'F0' as binary)) => 0F
        hex(cast(x'0180' as binary) << 1) => 0300",
    );
}

#[test]
fn comparisons_meet_in_mysqls_domains() {
    check(
        "1 = 1.0 => 1
        '1' = 1 => 1
        '1abc' = 1 => 1
        'abc' = 0 => 1
        'a' = 'A' => 1
        'a' = 'A' collate utf8mb4_bin => 0
        'a' = 'a ' => 0
        'a' = 'a ' collate utf8mb4_general_ci => 1
        binary 'a' = 'A' => 0
        'é' = 'e' => 1
        'b' > 'A' => 1
        NULL = NULL => NULL
        NULL <=> NULL => 1
        NULL <=> 1 => 0
        1 <=> 1 => 1
        -1 < 18446744073709551615 => 1
        date '2024-01-02' = '2024-1-2' => 1
        date '2024-01-02' < timestamp '2024-01-02 00:00:01' => 1
        time '10:00:00' = '10:00' => 1
        date '2024-01-02' = 20240102 => 1
        date '2024-01-02' = 'abc' => error 1525
        (1, 2) = (1, 2) => 1
        (1, 2) < (1, 3) => 1
        (1, 2) < (0, 3) => 0
        (1, NULL) = (1, 2) => NULL
        (1, NULL) = (2, 2) => 0
        (1, 2) <> (1, 3) => 1
        (1, 2) in ((3, 4), (1, 2)) => 1
        (1, 2) = (1, 2, 3) => error 1241
        (1, 2) = 1 => error 1241
        1 in (1, 2, 3) => 1
        4 in (1, 2, NULL) => NULL
        4 not in (1, 2, 3) => 1
        NULL in (1, 2) => NULL
        'a' in ('B', 'A') => 1
        1 in ('1', 2.0) => 1
        5 in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10) => 1
        11 in (1, 2, 3, 4, 5, 6, 7, 8, 9, NULL) => NULL
        'X' in ('a','b','c','d','e','f','g','h','i','x') => 1
        2 between 1 and 3 => 1
        2 not between 1 and 3 => 0
        2 between 3 and 1 => 0
        NULL between 1 and 2 => NULL
        5 between 6 and NULL => 0
        'b' between 'a' and 'c' => 1",
    );
}

#[test]
fn logic_has_three_values() {
    check(
        "1 and 1 => 1
        0 and NULL => 0
        1 and NULL => NULL
        1 or NULL => 1
        0 or NULL => NULL
        1 xor 1 => 0
        1 xor NULL => NULL
        not 0 => 1
        not NULL => NULL
        not 'abc' => 1
        not '1' => 0
        0.5 and 1 => 1
        '0.5' and 1 => 1
        NULL is null => 1
        1 is not null => 1
        1 is true => 1
        NULL is true => 0
        NULL is not true => 1
        NULL is unknown => 1
        0 is false => 1
        NULL is false => 0",
    );
}

#[test]
fn like_follows_the_collation() {
    check(
        r"'David!' like 'David_' => 1
        'David!' like '%D%v%' => 1
        'David_' like 'David|_' escape '|' => 1
        'Davids' like 'David|_' escape '|' => 0
        'abc' like 'ABC' => 1
        'abc' like 'ABC' collate utf8mb4_bin => 0
        'a' like 'a ' => 0
        10 like '1%' => 1
        NULL like 'a' => NULL
        'a' like NULL => NULL
        '' like '' => 1
        '' like '%' => 1
        'ab' like '%%b' => 1
        'aXbXc' like 'a%X_' => 1
        'müller' like 'm_ller' => 1
        'müller' like 'MULLER' => 1
        'a%b' like 'a\\%b' => 1
        'axb' like 'a\\%b' => 0
        'abc' not like 'b%' => 1
        'mississippi' like '%iss%ip%' => 1
        'mississippi' like '%iss%iss%iss%' => 0",
    );
}

#[test]
fn choices_merge_types() {
    check(
        "if(1 < 2, 'yes', 'no') => yes
        if(NULL, 1, 2) => 2
        if(1, 1, 2.5) => 1.0
        if(1, 1, 'a') => 1
        if(0, 1, 2e0) => 2
        ifnull(NULL, 10) => 10
        ifnull(1, 0) => 1
        ifnull(1 / 0, 'yes') => yes
        nullif(1, 1) => NULL
        nullif(1, 2) => 1
        nullif('a', 'A') => NULL
        coalesce(NULL, NULL, 3, 4) => 3
        coalesce(NULL, NULL) => NULL
        coalesce(1, 2.50) => 1.00
        case when 1 > 0 then 'true' else 'false' end => true
        case 2 when 1 then 'one' when 2 then 'two' else 'more' end => two
        case 5 when 1 then 'one' end => NULL
        case when NULL then 1 else 2 end => 2
        greatest(2, 0) => 2
        greatest(34.0, 3.0, 5.0, 767.0) => 767.0
        greatest('B', 'A', 'C') => C
        greatest(1, NULL) => NULL
        least(2, '10') => 2
        least('a', 'B') => a
        greatest(date '2024-01-01', '2024-06-01') => 2024-06-01
        least(date '2024-01-01', '2024-06-01 10:00:00') => 2024-01-01 00:00:00
        interval(23, 1, 15, 17, 30, 44, 200) => 3
        interval(10, 1, 10, 100, 1000) => 2
        interval(22, 23, 30, 44, 200) => 0
        interval(NULL, 1) => -1
        isnull(1 / 0) => 1
        isnull(1) => 0",
    );
}

#[test]
fn division_by_zero_warns_or_fails_as_the_mode_says() {
    assert_eq!(warnings("1 / 0"), [1365]);
    assert_eq!(warnings("1 div 0"), [1365]);
    assert_eq!(warnings("1e0 % 0"), [1365]);
    let writing = EvalCtx { changes_data: true, ..context() };
    assert_eq!(answer_in(&writing, "1 / 0"), "error 1365");
    let lax = EvalCtx { sql_mode: SqlMode::EMPTY, ..context() };
    assert_eq!(answer_in(&lax, "1 / 0"), "NULL");
    assert_eq!(lax.warnings.count(), 0);
}

#[test]
fn operands_that_are_not_reached_stay_silent() {
    assert!(warnings("0 and 1 / 0").is_empty());
    assert!(warnings("1 or 1 / 0").is_empty());
    assert!(warnings("if(1, 2, 1 / 0)").is_empty());
    assert!(warnings("case when 1 then 2 else 1 / 0 end").is_empty());
    assert_eq!(warnings("1 and 1 / 0"), [1365]);
}

#[test]
fn unsigned_subtraction_follows_the_mode() {
    let mode = SqlMode::default().union(SqlMode::NO_UNSIGNED_SUBTRACTION);
    let ctx = EvalCtx { sql_mode: mode, ..context() };
    assert_eq!(answer_in(&ctx, "cast(1 as unsigned) - 2"), "-1");
}

#[test]
fn strings_in_numeric_places_warn_and_fail_when_data_changes() {
    assert_eq!(warnings("'abc' + 1"), [1292]);
    assert_eq!(warnings("'1' + 1"), [] as [u16; 0]);
    let writing = EvalCtx { changes_data: true, ..context() };
    assert_eq!(answer_in(&writing, "'abc' + 1"), "error 1292");
}

#[test]
fn expressions_print_as_infix() {
    let ctx = context();
    let printed = |text: &str| {
        let (e, _) = crate::script::parse_over_columns(text, &ctx, 1).expect("builds");
        e.to_string()
    };
    assert_eq!(printed("1 + 2 > 3 and 'a' like 'b%'"), "(((col#0 + col#1) > col#2) and (col#3 like col#4))");
    assert_eq!(printed("1 is not null"), "(col#0 is not null)");
    assert_eq!(printed("1 in (2, 3)"), "(col#0 in (col#1, col#2))");
    assert_eq!(printed("not (1 > 2)"), "(col#0 <= col#1)");
    assert_eq!(parse("concat('a', 'b''c')", &ctx).expect("builds").to_string(), r"concat('a', 'b\'c')");
}

#[test]
fn equality_of_expressions_ignores_names() {
    let ty = types::FieldType::bigint();
    assert_eq!(expr::Expr::named_column(1, ty.clone(), "a"), expr::Expr::column(1, ty));
}
