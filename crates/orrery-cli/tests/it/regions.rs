//! `orrery serve --regions` and `orrery regions`.

use crate::harness::{Folder, Server, run, succeed};

fn regions(endpoint: &str) -> Vec<(String, bool, u64, bool, String)> {
    let listed = succeed(&["regions", "list", "--json", "--endpoint", endpoint]);
    let shown: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    let one = |one: &serde_json::Value| {
        (
            one["name"].as_str().unwrap().to_owned(),
            one["writes"].as_bool().unwrap(),
            one["lagMillis"].as_u64().unwrap(),
            one["paused"].as_bool().unwrap(),
            one["endpoint"].as_str().unwrap().to_owned(),
        )
    };
    shown["regions"]
        .as_array()
        .unwrap()
        .iter()
        .map(one)
        .collect()
}

fn count(endpoint: &str) -> String {
    let asked = [
        "query",
        "SELECT VALUE COUNT(1) FROM c",
        "--in",
        "shop/orders",
        "--format",
        "ndjson",
        "--endpoint",
        endpoint,
    ];
    succeed(&asked).out.trim().to_owned()
}

#[test]
fn regions_are_served_changed_and_kept() {
    let folder = Folder::new();
    let data = folder.at("data");
    let options = ["--data", &data, "--regions", "East US,West US"];
    let lag = ["--replication-lag", "0s"];
    let server = Server::start(&[&options[..], &lag[..]].concat());
    assert!(
        server.greeting.contains("West US (reads)"),
        "{}",
        server.greeting
    );
    let shown = regions(&server.url);
    let names: Vec<&str> = shown.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(names, ["East US", "West US"]);
    assert_eq!((shown[0].1, shown[1].1), (true, false));
    let west = shown[1].4.clone();
    let file = folder.write("one.ndjson", "{\"id\":\"1\",\"customer\":\"c\"}\n");
    let import = |endpoint: &str| {
        let into = [
            "import",
            &file,
            "--into",
            "shop/orders",
            "--endpoint",
            endpoint,
        ];
        run(&[&into[..], &["--partition-key", "/customer"]].concat())
    };
    let refused = import(&west);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("403"), "{refused:?}");
    let here = ["--endpoint", server.url.as_str()];
    succeed(&[&["regions", "pause", "West US"], &here[..]].concat());
    assert_eq!(import(&server.url).code, 0);
    assert_eq!((count(&server.url), count(&west)), ("1".into(), "0".into()));
    // Each tells its own use: here what was served, there what replication took.
    for (endpoint, name) in [(&server.url, "East US"), (&west, "West US")] {
        let top = succeed(&["top", "--once", "--endpoint", endpoint]);
        assert!(
            top.out.contains(&format!("OrreryDB  {name}  1 containers")),
            "{top:?}"
        );
    }
    succeed(&[&["regions", "lag", "west us", "10ms"], &here[..]].concat());
    let paused = run(&[&["regions", "failover", "West US"], &here[..]].concat());
    assert_eq!(paused.code, 1);
    assert!(paused.err.contains("resume it"), "{paused:?}");
    succeed(&[&["regions", "resume", "West US"], &here[..]].concat());
    let said = succeed(&[&["regions", "failover", "West US"], &here[..]].concat());
    assert!(
        said.out.contains("West US                   writes"),
        "{said:?}"
    );
    assert_eq!(count(&west), "1");
    let unknown = run(&[&["regions", "pause", "Mars"], &here[..]].concat());
    assert_eq!(unknown.code, 1);
    server.stop();
    let server = Server::start(&options);
    let writers: Vec<bool> = regions(&server.url).iter().map(|one| one.1).collect();
    assert_eq!(writers, [false, true]);
}

#[test]
fn wrong_names_are_told() {
    for names in ["East US,EASTUS", "East US,,West US"] {
        let said = run(&["serve", "--in-memory", "--port", "0", "--regions", names]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.err.contains("--regions"), "{said:?}");
    }
    let server = Server::start(&["--in-memory"]);
    let said = succeed(&["regions", "list", "--endpoint", &server.url]);
    assert!(said.out.contains("one region"), "{said:?}");
}
