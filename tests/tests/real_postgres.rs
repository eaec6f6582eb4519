//! The controller's store on PostgreSQL.

use tests::real::{Part, Postgres, missing};

#[test]
fn needs_postgres_every_test_gets_a_database_of_its_own() {
    if missing(&[Part::Postgres]) {
        return;
    }
    let server = Postgres::start();
    let (one, other) = (server.new_database(), server.new_database());
    assert_ne!(one, other);
    assert!(one.starts_with(&server.url()), "{one}");
    let name = one.rsplit('/').next().unwrap();
    server.sql(name, "CREATE TABLE t (n int); INSERT INTO t VALUES (7)");
    assert_eq!(server.sql(name, "SELECT n FROM t").trim(), "7");
    assert_eq!(server.sql(other.rsplit('/').next().unwrap(), "SELECT to_regclass('t')").trim(), "");
}
