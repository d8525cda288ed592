//! What goes wrong outside the program: a clear message with what to do, exit code 1, no damage.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::harness::{Folder, Server, get, items, run, succeed};

fn one_item(folder: &Folder, data: &str) {
    let file = folder.write("one.ndjson", "{\"id\":\"a\",\"pk\":\"x\"}\n");
    succeed(&[
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/pk",
        "--data",
        data,
    ]);
}

fn exported(data: &str) -> usize {
    items(&succeed(&["export", "db/c", "--data", data]).out).len()
}

#[test]
fn a_port_in_use_is_named_and_alternatives_are_given() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = run(&["serve", "--in-memory", "--port", &port]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err.contains(&port) && said.err.contains("--port"),
        "{said:?}"
    );
    let said = run(&[
        "serve",
        "--in-memory",
        "--port",
        "0",
        "--health-port",
        &port,
    ]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("--health-port"), "{said:?}");
}

#[test]
fn a_second_server_on_a_folder_is_refused_and_the_first_goes_on() {
    let folder = Folder::new();
    let data = folder.at("data");
    one_item(&folder, &data);
    let first = Server::start(&["--data", &data]);
    let said = run(&["serve", "--port", "0", "--data", &data]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("in use by another process"), "{said:?}");
    assert!(
        said.err.contains(&first.url),
        "the message says where the other is: {said:?}"
    );
    assert!(get(first.authority(), "/dbs").starts_with("HTTP/1.1 401 "));
    first.stop();
    assert_eq!(exported(&data), 1);
}

#[test]
fn a_folder_of_another_version_is_left_alone() {
    let folder = Folder::new();
    let data = folder.at("data");
    one_item(&folder, &data);
    let format = Path::new(&data).join("FORMAT");
    let ours = fs::read(&format).unwrap();
    fs::write(&format, "orrery data format 999\n").unwrap();
    let said = run(&["serve", "--port", "0", "--data", &data]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.err.contains("format 999") && said.err.contains("version"),
        "{said:?}"
    );
    fs::write(&format, ours).unwrap();
    assert_eq!(exported(&data), 1);
}

#[test]
fn a_file_in_place_of_the_folder_is_told() {
    let folder = Folder::new();
    let file = folder.write("data", "not a folder");
    let said = run(&["serve", "--port", "0", "--data", &file]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains(&file), "{said:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a folder");
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let folder = Folder::new();
    let data = folder.at("data");
    one_item(&folder, &data);
    // Permissions do not bind the superuser; the immutable flag does, where it exists.
    let changed = |flag: &str| {
        Command::new("chattr")
            .args(["-R", flag, &data])
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !changed("+i") {
        eprintln!("skipped: this file system knows no immutable files");
        return;
    }
    let said = run(&["serve", "--port", "0", "--data", &data]);
    assert!(changed("-i"));
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("not writable"), "{said:?}");
    assert_eq!(exported(&data), 1);
}

#[test]
fn a_full_disk_ends_an_import_and_what_was_counted_is_there() {
    let folder = Folder::new();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = |options: &str| {
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&disk);
        mount.output().is_ok_and(|output| output.status.success())
    };
    if !mounted("size=48m") {
        eprintln!("skipped: this user may not mount a small disk");
        return;
    }
    let data = disk.join("data").display().to_string();
    let filling = "x".repeat(4000);
    let lines: Vec<String> = (0..20_000)
        .map(|n| {
            format!(
                "{{\"id\":\"{n}\",\"pk\":\"{}\",\"filling\":\"{n}{filling}\"}}",
                n % 7
            )
        })
        .collect();
    let file = folder.write("many.ndjson", &lines.join("\n"));
    let said = run(&[
        "import",
        &file,
        "--into",
        "db/c",
        "--partition-key",
        "/pk",
        "--data",
        &data,
    ]);
    let grown = mounted("remount,size=1g");
    let counted: usize = said
        .out
        .split("importing ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .map_or(0, |count| count.replace(',', "").parse().unwrap());
    let there = if grown && said.code == 1 {
        exported(&data)
    } else {
        0
    };
    let _ = Command::new("umount").arg(&disk).status();
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.err.contains("full"), "{said:?}");
    assert!(
        grown && there >= counted,
        "{there} items are there, {counted} were counted: {said:?}"
    );
}

#[test]
fn missing_things_are_named() {
    let folder = Folder::new();
    let nowhere = folder.at("nowhere");
    let said = run(&["export", "db/c", "--data", &nowhere]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("no data folder") && said.err.contains("--endpoint"),
        "{said:?}"
    );
    assert!(!Path::new(&nowhere).exists(), "reading creates nothing");

    let said = run(&[
        "import",
        &nowhere,
        "--into",
        "db/c",
        "--data",
        &folder.at("data"),
    ]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains(&nowhere), "{said:?}");

    let file = folder.write("a.ndjson", "{}\n");
    let said = run(&[
        "import",
        &file,
        "--into",
        "db/c",
        "--data",
        &folder.at("data"),
    ]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("--partition-key"), "{said:?}");

    let said = run(&[
        "query",
        "SELECT 1",
        "--in",
        "db/c",
        "--endpoint",
        "http://127.0.0.1:1",
    ]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("orrery serve"), "{said:?}");
}

#[test]
fn a_wrong_key_is_told_by_both_sides() {
    let said = run(&["serve", "--in-memory", "--port", "0", "--key", "short"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("key"), "{said:?}");
    let server = Server::start(&["--in-memory"]);
    let key = "d3JvbmcgYnV0IGxvbmcgZW5vdWdoIHRvIGJlIGEga2V5";
    let said = run(&[
        "query",
        "SELECT 1",
        "--in",
        "a/b",
        "--endpoint",
        &server.url,
        "--key",
        key,
    ]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("401") && said.err.contains("--key"),
        "{said:?}"
    );
}
