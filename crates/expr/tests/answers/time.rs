//! Date and time functions, at 2024-02-29 12:34:56.789012 UTC.

use expr::{EvalCtx, Expr};
use types::{Chunk, Column, Datum, FieldType, Time, TimeKind, TimeZone};

use crate::script::{answer_in, check, context, warnings};

#[test]
fn the_clock_stands_still_within_a_statement() {
    check(
        "now() => 2024-02-29 12:34:56
        now(3) => 2024-02-29 12:34:56.789
        current_timestamp(6) => 2024-02-29 12:34:56.789012
        curdate() => 2024-02-29
        current_date() => 2024-02-29
        curtime() => 12:34:56
        curtime(2) => 12:34:56.78
        utc_date() => 2024-02-29
        utc_time() => 12:34:56
        utc_timestamp() => 2024-02-29 12:34:56
        unix_timestamp() => 1709210096
        now() + 0 => 20240229123456",
    );
    let eastern = EvalCtx { time_zone: TimeZone::parse("+08:00").expect("a zone"), ..context() };
    assert_eq!(answer_in(&eastern, "now()"), "2024-02-29 20:34:56");
    assert_eq!(answer_in(&eastern, "utc_timestamp()"), "2024-02-29 12:34:56");
    assert_eq!(answer_in(&eastern, "unix_timestamp('2024-02-29 20:34:56')"), "1709210096");
    assert_eq!(answer_in(&eastern, "from_unixtime(1709210096)"), "2024-02-29 20:34:56");
}

#[test]
fn adding_intervals() {
    check(
        "date_add('2018-05-01', interval 1 day) => 2018-05-02
        date_sub('2018-05-01', interval 1 year) => 2017-05-01
        date_add('2020-12-31 23:59:59', interval 1 second) => 2021-01-01 00:00:00
        date_add('2018-12-31 23:59:59', interval 1 day) => 2019-01-01 23:59:59
        date_add('2100-12-31 23:59:59', interval '1:1' minute_second) => 2101-01-01 00:01:00
        date_sub('2025-01-01 00:00:00', interval '1 1:1:1' day_second) => 2024-12-30 22:58:59
        date_add('1900-01-01 00:00:00', interval '-1 10' day_hour) => 1899-12-30 14:00:00
        date_sub('1998-01-02', interval 31 day) => 1997-12-02
        date_add('1992-12-31 23:59:59.000002', interval '1.999999' second_microsecond) => 1993-01-01 00:00:01.000001
        date_add('2024-03-30', interval 1 month) => 2024-04-30
        date_add('2024-01-31', interval 1 month) => 2024-02-29
        date_add('2023-01-31', interval 1 quarter) => 2023-04-30
        date_add(date '2024-01-31', interval 1 day) => 2024-02-01
        date_add(date '2024-01-31', interval 1 hour) => 2024-01-31 01:00:00
        date_add(timestamp '2024-01-31 10:00:00', interval 1 week) => 2024-02-07 10:00:00
        date_add(timestamp '2024-01-31 10:00:00', interval 1.5 second) => 2024-01-31 10:00:01.5
        date_add(timestamp '2024-01-31 10:00:00', interval 5 microsecond) => 2024-01-31 10:00:00.000005
        date_add(time '10:00:00', interval 90 minute) => 11:30:00
        date_add(time '10:00:00', interval 1 day) => 2024-03-01 10:00:00
        date_add('2024-01-01', interval 1 minute) => 2024-01-01 00:01:00
        date_add(20240101, interval 1 day) => 2024-01-02
        date_add('nonsense', interval 1 day) => NULL
        date_add('9999-12-31', interval 1 day) => NULL
        date_add('0001-01-01', interval -2 year) => NULL
        date_add(NULL, interval 1 day) => NULL
        date_add('2024-01-01', interval NULL day) => NULL
        date_add('2024-01-01', interval '1-2' year_month) => 2025-03-01
        adddate('2008-01-02', 31) => 2008-02-02
        subdate('2008-01-02 12:00:00', 31) => 2007-12-02 12:00:00
        adddate('2008-01-02', interval 31 day) => 2008-02-02
        timestampadd(minute, 1, '2003-01-02') => 2003-01-02 00:01:00
        timestampadd(week, 1, '2003-01-02') => 2003-01-09
        addtime('2007-12-31 23:59:59.999999', '1 1:1:1.000002') => 2008-01-02 01:01:01.000001
        addtime('01:59:59.999999', '01:00:00.999998') => 03:00:00.999997
        addtime(time '01:00:00', '00:30') => 01:30:00
        subtime('2007-12-31 23:59:59.999999', '1 1:1:1.000002') => 2007-12-30 22:58:58.999997
        subtime(timestamp '2024-01-01 10:00:00', '01:00:00') => 2024-01-01 09:00:00
        timestamp('2003-12-31') => 2003-12-31 00:00:00
        timestamp('2003-12-31 12:00:00', '12:00:00') => 2004-01-01 00:00:00",
    );
    assert_eq!(warnings("date_add('9999-12-31', interval 1 day)"), [1441]);
    assert_eq!(warnings("date_add('nonsense', interval 1 day)"), [1292]);
}

#[test]
fn differences() {
    check(
        "datediff('2007-12-31 23:59:59', '2007-12-30') => 1
        datediff('2010-11-30 23:59:59', '2010-12-31') => -31
        datediff('nonsense', '2010-12-31') => NULL
        timediff('2000-01-01 00:00:00', '2000-01-01 00:00:00.000001') => -00:00:00.000001
        timediff('2008-12-31 23:59:59.000001', '2008-12-30 01:01:01.000002') => 46:58:57.999999
        timediff('10:00:00', '08:30:00') => 01:30:00
        timediff('10:00:00', '2024-01-01 00:00:00') => NULL
        timestampdiff(month, '2003-02-01', '2003-05-01') => 3
        timestampdiff(year, '2002-05-01', '2001-01-01') => -1
        timestampdiff(minute, '2003-02-01', '2003-05-01 12:05:55') => 128885
        timestampdiff(month, '2024-01-31', '2024-02-29') => 0
        timestampdiff(day, '2024-02-28', '2024-03-01') => 2
        timestampdiff(microsecond, '2024-01-01', '2024-01-01 00:00:01') => 1000000
        period_add(200801, 2) => 200803
        period_diff(200802, 200703) => 11
        period_add(0, 1) => error 1210
        to_days(950501) => 728779
        to_days('2007-10-07') => 733321
        to_days('0000-00-00') => NULL
        from_days(730669) => 2000-07-03
        from_days(1) => 0000-00-00
        to_seconds(950501) => 62966505600
        to_seconds('2009-11-29 13:43:32') => 63426721412",
    );
}

#[test]
fn parts_of_dates_and_times() {
    check(
        "year('1987-01-01') => 1987
        month('2008-02-03') => 2
        month('2008-00-00') => 0
        dayofmonth('2007-02-03') => 3
        day('2007-02-03') => 3
        hour('10:05:03') => 10
        hour('272:59:59') => 272
        minute('2008-02-03 10:05:03') => 5
        second('10:05:03') => 3
        microsecond('12:00:00.123456') => 123456
        microsecond('2019-12-31 23:59:59.000010') => 10
        quarter('2008-04-01') => 2
        dayofweek('2007-02-03') => 7
        weekday('2008-02-03 22:23:00') => 6
        weekday('2007-11-06') => 1
        dayofyear('2007-02-03') => 34
        dayname('2007-02-03') => Saturday
        monthname('2008-02-03') => February
        week('2008-02-20') => 7
        week('2008-02-20', 0) => 7
        week('2008-02-20', 1) => 8
        week('2008-12-31', 1) => 53
        week('2000-01-01', 0) => 0
        week('2000-01-01', 2) => 52
        weekofyear('2008-02-20') => 8
        yearweek('1987-01-01') => 198652
        yearweek('2000-01-01') => 199952
        last_day('2003-02-05') => 2003-02-28
        last_day('2004-02-05') => 2004-02-29
        last_day('2004-01-01 01:01:01') => 2004-01-31
        last_day('2003-03-32') => NULL
        date('2003-12-31 01:02:03') => 2003-12-31
        time('2003-12-31 01:02:03') => 01:02:03
        time('2003-12-31 01:02:03.000123') => 01:02:03.000123
        extract(year from '2019-07-02') => 2019
        extract(year_month from '2019-07-02 01:02:03') => 201907
        extract(day_minute from '2019-07-02 01:02:03') => 20102
        extract(microsecond from '2003-01-02 10:30:00.000123') => 123
        extract(hour from time '-10:00:00') => -10
        extract(second from timestamp '2024-01-01 10:11:12') => 12
        year('nonsense') => NULL
        year(NULL) => NULL",
    );
}

#[test]
fn formats() {
    check(
        "date_format('2009-10-04 22:23:00', '%W %M %Y') => Sunday October 2009
        date_format('2007-10-04 22:23:00', '%H:%i:%s') => 22:23:00
        date_format('1900-10-04 22:23:00', '%D %y %a %d %m %b %j') => 4th 00 Thu 04 10 Oct 277
        date_format('1997-10-04 22:23:00', '%H %k %I %r %T %S %w') => 22 22 10 10:23:00 PM 22:23:00 00 6
        date_format('1999-01-01', '%X %V') => 1998 52
        date_format('2006-06-00', '%d') => 00
        date_format('2024-01-11', '%e%% %q') => 11% q
        date_format('2024-01-01', NULL) => NULL
        time_format('100:00:00', '%H %k %h %I %l') => 100 100 04 04 4
        time_format('01:02:03', '%r') => 01:02:03 AM
        get_format(DATE, 'EUR') => %d.%m.%Y
        date_format('2003-10-03', get_format(DATE, 'EUR')) => 03.10.2003
        str_to_date('01,5,2013', '%d,%m,%Y') => 2013-05-01
        str_to_date('May 1, 2013', '%M %d,%Y') => 2013-05-01
        str_to_date('a09:30:17', 'a%h:%i:%s') => 09:30:17
        str_to_date('a09:30:17', '%h:%i:%s') => NULL
        str_to_date('09:30:17a', '%h:%i:%s') => 09:30:17
        str_to_date('abc', 'abc') => NULL
        str_to_date('9', '%m') => NULL
        str_to_date('2024-02-29 10:11:12.5', '%Y-%m-%d %H:%i:%s.%f') => 2024-02-29 10:11:12.500000
        str_to_date('04/31/2004', '%m/%d/%Y') => NULL
        str_to_date('200442 Monday', '%X%V %W') => 2004-10-18
        str_to_date('10:11 PM', '%h:%i %p') => 22:11:00",
    );
    assert_eq!(warnings("str_to_date('x', '%Y')"), [1411]);
}

#[test]
fn making_times_and_epochs() {
    check(
        "makedate(2011, 31) => 2011-01-31
        makedate(2011, 32) => 2011-02-01
        makedate(2011, 0) => NULL
        makedate(11, 1) => 2011-01-01
        maketime(12, 15, 30) => 12:15:30
        maketime(12, 60, 30) => NULL
        maketime(12, 15, 30.5) => 12:15:30.5
        maketime(-1, 15, 30) => -01:15:30
        maketime(900, 0, 0) => 838:59:59
        sec_to_time(2378) => 00:39:38
        sec_to_time(2378) + 0 => 3938
        sec_to_time(-1.5) => -00:00:01.5
        time_to_sec('22:23:00') => 80580
        time_to_sec('00:39:38') => 2378
        unix_timestamp('2015-11-13 10:20:19') => 1447410019
        unix_timestamp('2015-11-13 10:20:19.012') => 1447410019.012
        unix_timestamp('1960-01-01') => 0
        unix_timestamp(timestamp '2015-11-13 10:20:19') => 1447410019
        from_unixtime(1447430881) => 2015-11-13 16:08:01
        from_unixtime(1447430881) + 0 => 20151113160801
        from_unixtime(1447430881.5) => 2015-11-13 16:08:01.5
        from_unixtime(-1) => NULL
        from_unixtime(1447430881, '%Y %D %M %h:%i:%s') => 2015 13th November 04:08:01
        convert_tz('2004-01-01 12:00:00', '+00:00', '+10:00') => 2004-01-01 22:00:00
        convert_tz(timestamp '2004-06-01 12:00:00', 'UTC', 'Europe/Paris') => 2004-06-01 14:00:00
        convert_tz('2004-01-01 12:00:00', 'nowhere', 'UTC') => NULL",
    );
}

#[test]
fn timestamps_are_local_time_to_functions_and_utc_to_comparisons() {
    let ctx = EvalCtx { time_zone: TimeZone::parse("+02:00").expect("a zone"), ..context() };
    let utc = Time::parse(b"2024-01-01 22:30:00", TimeKind::DateTime, 0, &Default::default()).expect("a time").time;
    let column = Column::repeat(&FieldType::timestamp(0), Datum::Time(utc.with_kind(TimeKind::Timestamp, 0)).as_ref(), 2);
    let chunk = Chunk::from_columns(vec![column]);
    let ts = || Expr::column(0, FieldType::timestamp(0));
    let text = |s: &str| Expr::constant(Datum::from(s), FieldType::varchar(30));
    let build = expr::BuildCtx::new(&ctx);
    let value = |e: &Expr| e.eval_chunk(&ctx, &chunk).expect("evaluates").datum(1);

    let hour = expr::build_call("hour", vec![ts()], &build).expect("builds");
    assert_eq!(value(&hour), Datum::Int(0));
    let day = expr::build_call("dayofmonth", vec![ts()], &build).expect("builds");
    assert_eq!(value(&day), Datum::Int(2));
    let equal = expr::build_op(expr::Op::Eq, vec![ts(), text("2024-01-02 00:30:00")], &build).expect("builds");
    assert_eq!(value(&equal), Datum::Int(1));
    assert!(equal.as_op().expect("an operator").1[1].as_constant().is_some(), "the constant is converted once");
    let beyond = expr::build_op(expr::Op::Lt, vec![ts(), text("2300-01-01")], &build).expect("builds");
    assert_eq!(value(&beyond), Datum::Int(1));
    let unix = expr::build_call("unix_timestamp", vec![ts()], &build).expect("builds");
    assert_eq!(value(&unix), Datum::Int(1_704_148_200));
    let printed = expr::build_call("concat", vec![ts()], &build).expect("builds");
    assert_eq!(value(&printed), Datum::from("2024-01-02 00:30:00"));
}
