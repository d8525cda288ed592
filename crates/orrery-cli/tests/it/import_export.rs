//! Items in, items out, unchanged; through the folder and through a server.

use crate::harness::{Folder, Server, items, post, run, run_with_input, succeed};

const ITEMS: &str = r#"{"id":"a","pk":"x","n":1,"deep":{"list":[1,2.5,null,true],"text":"ünï \"q\" \\ \n"}}
{"id":"b","pk":"y","n":-0.125,"big":9007199254740991,"empty":{},"none":[]}

{"id":"c","pk":"x"}
"#;

#[test]
fn a_round_trip_through_a_folder_keeps_every_item() {
    let folder = Folder::new();
    let data = folder.at("data");
    let file = folder.write("items.ndjson", ITEMS);
    let import = [
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/pk",
        "--data",
        &data,
    ];
    let said = succeed(&import);
    assert!(
        said.out.starts_with("imported 3 items into db/c"),
        "{said:?}"
    );
    let out = folder.at("out.ndjson");
    succeed(&["export", "db/c", "--data", &data, "--output", &out]);
    let exported = std::fs::read_to_string(&out).unwrap();
    let wanted = ITEMS.replace("\n\n", "\n");
    assert_eq!(items(&exported), items(&wanted));
    // Again: everything is there already, and stays.
    let said = succeed(&import);
    assert!(
        said.out.contains("imported 0 items") && said.out.contains("3 already there"),
        "{said:?}"
    );
    // With the system properties on demand.
    let said = succeed(&["export", "db/c", "--data", &data, "--system"]);
    assert!(
        items(&said.out)
            .iter()
            .all(|item| item["_etag"].is_string() && item["_ts"].is_i64()),
        "{said:?}"
    );
}

#[test]
fn a_served_folder_is_reached_through_its_server() {
    let folder = Folder::new();
    let data = folder.at("data");
    let key = "bXkgb3duIGtleSBteSBvd24ga2V5IG15IG93biBrZXk=";
    let server = Server::start(&["--data", &data, "--key", key]);
    let file = folder.write("items.ndjson", ITEMS);
    let said = succeed(&[
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/pk",
        "--data",
        &data,
    ]);
    assert!(said.out.starts_with("imported 3 items"), "{said:?}");
    let by_folder = succeed(&["export", "db/c", "--data", &data]);
    let by_endpoint = succeed(&["export", "db/c", "--endpoint", &server.url, "--key", key]);
    assert_eq!(items(&by_folder.out), items(&by_endpoint.out));
    assert_eq!(items(&by_folder.out).len(), 3);
    server.stop();
    assert_eq!(
        items(&succeed(&["export", "db/c", "--data", &data]).out).len(),
        3
    );
}

#[test]
fn many_items_over_many_ranges_arrive_once_each() {
    let folder = Folder::new();
    let data = folder.at("data");
    let lines: Vec<String> = (0..3_000)
        .map(|n| format!("{{\"id\":\"{n}\",\"pk\":\"{}\",\"n\":{n}}}", n % 101))
        .collect();
    let file = folder.write("items.json", &format!("[{}]", lines.join(",\n")));
    let container = [
        "--into",
        "db/c",
        "--partition-key",
        "/pk",
        "--throughput",
        "40000",
    ];
    let said = succeed(&[&["import", &file, "--data", &data], &container[..]].concat());
    assert!(said.out.starts_with("imported 3,000 items"), "{said:?}");
    let said = succeed(&["export", "db/c", "--data", &data]);
    let exported = items(&said.out);
    assert_eq!(exported.len(), 3_000);
    let sum: i64 = exported
        .iter()
        .map(|item| item["n"].as_i64().unwrap())
        .sum();
    assert_eq!(sum, 2_999 * 3_000 / 2);
    let server = Server::start(&["--in-memory"]);
    succeed(
        &[
            &["import", &file, "--endpoint", &server.url],
            &container[..],
        ]
        .concat(),
    );
    let over_http = succeed(&["export", "db/c", "--endpoint", &server.url]);
    assert_eq!(items(&over_http.out), exported);
}

#[test]
fn broken_lines_are_told_by_number_and_the_rest_goes_in() {
    let folder = Folder::new();
    let data = folder.at("data");
    let text = "{\"id\":\"a\",\"pk\":1}\n{\"id\":\n[1]\n{\"id\":\"b/c\",\"pk\":1}\n{\"id\":\"d\",\"pk\":1}\n";
    let arguments = [
        "import",
        "-",
        "--format",
        "ndjson",
        "--into",
        "db/c",
        "--partition-key",
        "/pk",
        "--data",
        &data,
    ];
    let said = run_with_input(&arguments, text);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(
        said.out.contains("imported 2 items") && said.out.contains("3 lines broken"),
        "{said:?}"
    );
    for line in [
        "standard input:2: ",
        "standard input:3: ",
        "standard input:4: ",
    ] {
        assert!(said.err.contains(line), "{line} {said:?}");
    }
    let said = run_with_input(&[&arguments[..], &["--max-errors", "1"]].concat(), text);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("--max-errors"), "{said:?}");
}

#[test]
fn ids_are_made_from_members_or_anew_and_upsert_replaces() {
    let folder = Folder::new();
    let data = folder.at("data");
    let file = folder.write(
        "a.ndjson",
        "{\"y\":2013,\"f\":\"UA1\",\"v\":1}\n{\"y\":2014,\"f\":\"UA1\",\"v\":1}\n",
    );
    let import = [
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/f",
        "--id",
        "y,f",
        "--data",
        &data,
    ];
    succeed(&import);
    let newer = folder.write("b.ndjson", "{\"y\":2013,\"f\":\"UA1\",\"v\":2}\n");
    let mut upsert = import.to_vec();
    upsert[1] = &newer;
    upsert.push("--upsert");
    succeed(&upsert);
    let exported = items(&succeed(&["export", "db/c", "--data", &data]).out);
    let found: Vec<_> = exported
        .iter()
        .map(|item| (item["id"].as_str().unwrap(), item["v"].as_i64().unwrap()))
        .collect();
    assert_eq!(found, [("2013-UA1", 2), ("2014-UA1", 1)]);
    let anew = folder.write("c.ndjson", "{\"f\":\"z\"}\n{\"f\":\"z\"}\n");
    succeed(&["import", &anew, "--into", "db/c", "--data", &data]);
    assert_eq!(
        items(&succeed(&["export", "db/c", "--data", &data]).out).len(),
        4
    );
}

#[test]
fn an_existing_container_keeps_its_key() {
    let folder = Folder::new();
    let data = folder.at("data");
    let file = folder.write("items.ndjson", ITEMS);
    succeed(&[
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/pk",
        "--data",
        &data,
    ]);
    let said = run(&[
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/other",
        "--data",
        &data,
    ]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("/pk") && said.err.contains("/other"),
        "{said:?}"
    );
}

#[test]
fn a_server_is_reached_over_https() {
    let folder = Folder::new();
    let file = folder.write("items.ndjson", ITEMS);
    let server = Server::start(&["--in-memory"]);
    let endpoint = format!("https://{}", server.authority());
    let import = ["import", &file, "--into", "db/c", "--partition-key", "/pk"];
    succeed(&[&import[..], &["--endpoint", &endpoint]].concat());
    let said = succeed(&["export", "db/c", "--endpoint", &endpoint]);
    assert_eq!(items(&said.out).len(), 3);
    // A told authority is checked.
    let other = folder.write("other.pem", "no certificate");
    let checked = [
        "export",
        "db/c",
        "--endpoint",
        &endpoint,
        "--certificate",
        &other,
    ];
    let said = run(&checked);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("--certificate"), "{said:?}");
}

#[test]
fn a_conflict_is_told_by_what_it_is_about() {
    let folder = Folder::new();
    let server = Server::start(&["--in-memory", "--no-auth"]);
    let authority = server.authority();
    post(authority, "/dbs", r#"{"id":"db"}"#);
    let container = r#"{"id":"c","partitionKey":{"paths":["/pk"],"version":2},
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/mail"]}]}}"#;
    post(authority, "/dbs/db/colls", container);
    let file = folder.write(
        "mails.ndjson",
        "{\"id\":\"1\",\"pk\":\"x\",\"mail\":\"m\"}\n\
         {\"id\":\"2\",\"pk\":\"x\",\"mail\":\"m\"}\n\
         {\"id\":\"1\",\"pk\":\"x\",\"mail\":\"n\"}\n",
    );
    let said = run(&["import", &file, "--into", "db/c", "--endpoint", &server.url]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.out.contains("imported 1 item"), "{said:?}");
    assert!(said.out.contains("1 already there"), "{said:?}");
    assert!(said.err.contains(":2: another item has"), "{said:?}");
}

#[test]
fn commands_that_only_read_do_not_offer_to_create() {
    let server = Server::start(&["--in-memory"]);
    for command in [
        &["export", "no/such", "--endpoint", &server.url][..],
        &[
            "query",
            "SELECT 1",
            "--in",
            "no/such",
            "--endpoint",
            &server.url,
        ],
    ] {
        let said = run(command);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.contains("does not exist"), "{said:?}");
        assert!(!said.err.contains("--partition-key"), "{said:?}");
    }
}

#[test]
fn too_many_errors_end_an_import_early() {
    let folder = Folder::new();
    let data = folder.at("data");
    let lines: Vec<String> = (0..20_000)
        .map(|number| format!("{{\"id\":\"{number}\",\"pk\":\"x\"\n"))
        .collect();
    let lines = lines.concat();
    let file = folder.write("broken.ndjson", &lines);
    let import = [
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/pk",
        "--data",
        &data,
    ];
    let said = run(&[&import[..], &["--max-errors", "5"]].concat());
    assert_eq!(said.code, 1, "{said:?}");
    let broken = said
        .err
        .split("stopped at ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .and_then(|count| count.parse::<u64>().ok());
    assert!(broken.is_some_and(|broken| broken < 50), "{said:?}");
}
