//! How a database is opened: in memory, after migrations, and not at all.

use controller::store::Store;

use crate::support::{TestSite, host};

/// A database in memory is its connection's own: all work has to happen on that one, and nothing may close it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_in_memory_is_the_same_for_everybody() {
    let site = TestSite::start("sqlite::memory:").await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let store = site.store.clone();
        tasks.spawn(async move {
            let mut tx = store.write().await.unwrap();
            let mut life = tx.life(&host(1)).await.unwrap();
            *life.counters.entry("steps".into()).or_insert(0) += 1;
            tx.store_stay(&host(1), &life).await.unwrap();
            tx.commit().await.unwrap();
            store.read().await.unwrap().hosts().await.unwrap().len()
        });
    }
    assert_eq!(tasks.join_all().await, [2; 20]);
    assert_eq!(site.store.read().await.unwrap().life(&host(1)).await.unwrap().counters["steps"], 20);
}

/// A number that is there twice, or a file that is passed over, would show only on somebody's database.
#[test]
fn migrations_have_one_number_each_and_no_file_is_passed_over() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut numbers = Vec::new();
    for file in std::fs::read_dir(dir).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let number = name.strip_suffix(".sql").and_then(|name| name.split_once('_')).map(|(number, _)| number);
        let number = number.filter(|number| number.len() == 4 && number.bytes().all(|digit| digit.is_ascii_digit()));
        numbers.push(number.unwrap_or_else(|| panic!("{name} is no NNNN_NAME.sql")).to_owned());
    }
    numbers.sort();
    let expected: Vec<String> = (1..=numbers.len()).map(|number| format!("{number:04}")).collect();
    assert_eq!(numbers, expected);
}

#[tokio::test]
async fn a_database_that_cannot_be_opened_says_which_and_why() {
    for (url, text) in [
        ("mysql://x", "cannot open database `mysql://x`: expected"),
        ("sqlite:/nonexistent/dir/site.db", "unable to open database file"),
    ] {
        let error = Store::open(url).await.unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("site.db");
    std::fs::write(&path, "this is no database, just some text that is long enough to look like one").unwrap();
    let error = Store::open(&format!("sqlite:{}", path.display())).await.unwrap_err().to_string();
    assert!(error.contains("file is not a database"), "{error}");
}
