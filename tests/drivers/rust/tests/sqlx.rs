//! sqlx against a Trine server: TRINE_PORT is the port of one with a fresh data directory, on 127.0.0.1, where root has no password.

use sqlx::{
    MySqlPool, Row as _,
    mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlSslMode},
    types::{
        Decimal, Json,
        chrono::{DateTime, NaiveDate, NaiveDateTime, Utc},
    },
};

const DATABASE: &str = "rust_sqlx";

async fn pool(mode: MySqlSslMode) -> MySqlPool {
    let port = std::env::var("TRINE_PORT").expect("TRINE_PORT").parse().expect("a port");
    let options = MySqlConnectOptions::new().host("127.0.0.1").port(port).username("root").ssl_mode(mode);
    let root = MySqlPoolOptions::new().max_connections(1).connect_with(options.clone()).await.expect("connects");
    sqlx::query(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}")).execute(&root).await.expect("created");
    MySqlPoolOptions::new().max_connections(4).connect_with(options.database(DATABASE)).await.expect("connects")
}

async fn run(pool: &MySqlPool, sql: &str) {
    sqlx::query(sql).execute(pool).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

#[tokio::test]
async fn values_come_back() {
    for (mode, table) in [(MySqlSslMode::Disabled, "types"), (MySqlSslMode::Required, "types_tls")] {
        let pool = pool(mode).await;
        run(&pool, &format!("DROP TABLE IF EXISTS {table}")).await;
        run(
            &pool,
            &format!(
                "CREATE TABLE {table} (tiny TINYINT, flag BOOLEAN, ubig BIGINT UNSIGNED, single FLOAT, dbl DOUBLE, number DECIMAL(20,5), day DATE, \
                 at DATETIME(6), stamp TIMESTAMP(3) NULL, name VARCHAR(50), bytes BLOB, json JSON, nothing INT)"
            ),
        )
        .await;
        let day = NaiveDate::from_ymd_opt(2024, 2, 29).expect("a day");
        let at: NaiveDateTime = day.and_hms_micro_opt(23, 59, 59, 999_999).expect("a time");
        let stamp: DateTime<Utc> = day.and_hms_milli_opt(12, 0, 0, 123).expect("a time").and_utc();
        let number: Decimal = "-123456789012345.00001".parse().expect("a number");
        let json = serde();
        sqlx::query(&format!("INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"))
            .bind(-128i8)
            .bind(true)
            .bind(u64::MAX)
            .bind(3.25f32)
            .bind(0.1f64)
            .bind(number)
            .bind(day)
            .bind(at)
            .bind(stamp)
            .bind("漢字😀")
            .bind(&[0u8, 255, 39][..])
            .bind(Json(json.clone()))
            .bind(None::<i32>)
            .execute(&pool)
            .await
            .expect("inserted");
        let row = sqlx::query(&format!("SELECT * FROM {table}")).fetch_one(&pool).await.expect("a row");
        assert_eq!((row.get::<i8, _>(0), row.get::<bool, _>(1), row.get::<u64, _>(2)), (-128, true, u64::MAX));
        assert_eq!((row.get::<f32, _>(3), row.get::<f64, _>(4), row.get::<Decimal, _>(5)), (3.25, 0.1, number));
        assert_eq!((row.get::<NaiveDate, _>(6), row.get::<NaiveDateTime, _>(7), row.get::<DateTime<Utc>, _>(8)), (day, at, stamp));
        assert_eq!((row.get::<String, _>(9), row.get::<Vec<u8>, _>(10)), ("漢字😀".to_owned(), vec![0, 255, 39]));
        assert_eq!(row.get::<Json<Vec<Option<i32>>>, _>(11).0, json);
        assert_eq!(row.get::<Option<i32>, _>(12), None);
    }
}

fn serde() -> Vec<Option<i32>> {
    vec![Some(1), None, Some(3)]
}

#[tokio::test]
async fn transactions_and_errors_are_mysqls() {
    let pool = pool(MySqlSslMode::Preferred).await;
    run(&pool, "DROP TABLE IF EXISTS accounts").await;
    run(&pool, "CREATE TABLE accounts (id INT PRIMARY KEY AUTO_INCREMENT, money INT NOT NULL)").await;
    let done = sqlx::query("INSERT INTO accounts (money) VALUES (?), (?)").bind(100).bind(200).execute(&pool).await.expect("inserted");
    assert_eq!((done.last_insert_id(), done.rows_affected()), (1, 2));
    let mut transaction = pool.begin().await.expect("begins");
    sqlx::query("UPDATE accounts SET money = 0").execute(&mut *transaction).await.expect("updated");
    transaction.rollback().await.expect("undone");
    let sum: Decimal = sqlx::query_scalar("SELECT SUM(money) FROM accounts").fetch_one(&pool).await.expect("a sum");
    assert_eq!(sum, Decimal::from(300));
    let error = sqlx::query("INSERT INTO accounts VALUES (1, 1)").execute(&pool).await.expect_err("a duplicate");
    assert!(error.as_database_error().expect("of the server").is_unique_violation());
}
