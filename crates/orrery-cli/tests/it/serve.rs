//! What a server prints, listens to and leaves behind.

use crate::harness::{Folder, Server, command, get};

#[test]
fn the_greeting_tells_all_that_a_client_needs() {
    let folder = Folder::new();
    let data = folder.at("data");
    let server = Server::start(&["--data", &data]);
    for line in [
        "Endpoint ",
        "Key ",
        "Connection string ",
        "Ready in ",
        "Started\n",
    ] {
        assert!(
            server.greeting.contains(line),
            "{line}: {}",
            server.greeting
        );
    }
    assert!(server.greeting.contains(&data));
    assert!(
        server
            .greeting
            .contains("C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM")
    );
    let connection = format!("AccountEndpoint={};AccountKey=", server.url);
    assert!(server.greeting.contains(&connection), "{}", server.greeting);
    // Without a signature nothing opens.
    assert!(get(server.authority(), "/dbs").starts_with("HTTP/1.1 401 "));
    assert!(folder.path().join("data/server.json").is_file());
    server.stop();
    assert!(
        !folder.path().join("data/server.json").exists(),
        "the note goes with the server"
    );
}

#[test]
fn both_signals_end_it_in_order() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::start(&["--in-memory"]);
        server.signal(signal);
        assert_eq!(server.wait().0, 0, "{signal}");
    }
}

#[test]
fn without_authentication_anybody_may() {
    let server = Server::start(&["--in-memory", "--no-auth"]);
    assert!(get(server.authority(), "/dbs").starts_with("HTTP/1.1 200 "));
}

#[test]
fn the_environment_configures_what_flags_do_not() {
    let folder = Folder::new();
    let key = folder.write(
        "key",
        "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\n",
    );
    let server = Server::spawn(
        command(&["serve", "--health-port", "0"])
            .env("PORT", "0")
            .env("KEY_FILE", key)
            .env("PROTOCOL", "https")
            .env("AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE", "false"),
    );
    assert!(server.url.starts_with("https://"));
    assert!(server.greeting.contains("c2VjcmV0"));
    assert!(server.greeting.contains("in memory"));
}

#[test]
fn the_health_port_answers_when_asked_for() {
    // A port that was free a moment ago; nothing else on this machine picks it on purpose.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let port = free.port().to_string();
    let server = Server::spawn(&mut command(&[
        "serve",
        "--in-memory",
        "--port",
        "0",
        "--health-port",
        &port,
    ]));
    let health = format!("127.0.0.1:{port}");
    for path in ["/alive", "/ready", "/status"] {
        assert!(get(&health, path).starts_with("HTTP/1.1 200 "), "{path}");
    }
    server.stop();
}
