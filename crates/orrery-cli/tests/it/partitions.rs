//! Splitting and merging from the command line, of a server and of a folder that nobody serves.

use crate::harness::{Folder, Server, items, run, succeed};

fn ids(arguments: &[&str]) -> Vec<String> {
    let listed = succeed(&[&["partitions", "list", "shop/orders", "--json"], arguments].concat());
    let shown: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let partitions = shown["partitions"].as_array().unwrap();
    let id = |one: &serde_json::Value| one["id"].as_str().unwrap().to_owned();
    partitions.iter().map(id).collect()
}

fn filled(folder: &Folder) -> String {
    let line = |n| format!("{{\"id\":\"{n}\",\"customer\":\"c{}\"}}\n", n % 40);
    let lines = (0..300).map(line).collect::<Vec<_>>().concat();
    let file = folder.write("orders.ndjson", &lines);
    let data = folder.at("data");
    succeed(&[
        "import",
        &file,
        "--into",
        "shop/orders",
        "--partition-key",
        "/customer",
        "--data",
        &data,
    ]);
    data
}

#[test]
fn a_folder_of_nobody_is_split_and_merged() {
    let folder = Folder::new();
    let data = filled(&folder);
    let here = ["--data", data.as_str()];
    assert_eq!(ids(&here), ["0"]);
    let said = succeed(
        &[
            &["partitions", "split", "shop/orders", "0", "--into", "3"],
            &here[..],
        ]
        .concat(),
    );
    assert!(said.err.contains("the new ranges are 1, 2, 3"), "{said:?}");
    assert_eq!(ids(&here), ["1", "2", "3"]);
    succeed(&[&["partitions", "merge", "shop/orders", "2", "1"], &here[..]].concat());
    assert_eq!(ids(&here), ["4", "3"]);
    let exported = succeed(&[&["export", "shop/orders"], &here[..]].concat());
    assert_eq!(items(&exported.out).len(), 300);
    let table = succeed(&[&["partitions", "list", "shop/orders"], &here[..]].concat());
    assert!(table.out.contains("parents"), "{}", table.out);
}

#[test]
fn a_server_is_asked_and_waited_for() {
    let folder = Folder::new();
    let data = filled(&folder);
    let server = Server::start(&["--data", &data, "--split-delay", "50ms"]);
    let here = ["--endpoint", server.url.as_str()];
    succeed(
        &[
            &["partitions", "split", "shop/orders", "0", "--by", "size"],
            &here[..],
        ]
        .concat(),
    );
    assert_eq!(ids(&here), ["1", "2"]);
    let gone = run(&[&["partitions", "split", "shop/orders", "0"], &here[..]].concat());
    assert_eq!(gone.code, 1);
    assert!(gone.err.contains("doesn't exist"), "{gone:?}");
    let wrong = run(&[&["partitions", "merge", "shop/orders", "1"], &here[..]].concat());
    assert_eq!(wrong.code, 2, "a merge takes two");
    server.stop();
    assert_eq!(ids(&["--data", data.as_str()]), ["1", "2"]);
}
