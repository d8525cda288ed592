//! The corpus of malformed requests: each gets its 4xx, nothing changes, the server lives.

use orrery_gateway::auth::EMULATOR_KEY;

use crate::account::{Account, NOW, READ_ONLY_KEY, WRONG_KEY, authorization, date, signed};
use crate::http::{Client, Response};

const CORPUS: &str = include_str!("../corpus/hostile.txt");

struct Case {
    title: String,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    directives: Vec<(String, String)>,
    body: Vec<u8>,
    status: u16,
    sub_status: Option<String>,
}

impl Case {
    fn directive(&self, name: &str) -> Option<&str> {
        let found = self.directives.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn send(&self, client: &mut Client<std::net::TcpStream>) -> Response {
        let when = self
            .directive("date")
            .map_or_else(|| date(NOW), str::to_owned);
        let auth = self.directive("auth").unwrap_or("primary");
        let key = match auth {
            "wrong" => WRONG_KEY,
            "readonly" => READ_ONLY_KEY,
            _ => EMULATOR_KEY,
        };
        let token = match (
            auth.strip_prefix("raw"),
            self.directive("type"),
            self.directive("link"),
        ) {
            (Some(raw), ..) => raw.trim_start().to_owned(),
            (None, None, None) => signed(key, &self.method, &self.target, &when),
            (None, kind, link) => authorization(
                key,
                &self.method,
                kind.unwrap_or("docs"),
                link.unwrap_or("dbs/db/colls/c"),
                &when,
            ),
        };
        let mut headers = Vec::new();
        if auth != "none" {
            headers.push(("authorization", token.as_str()));
        }
        if when != "none" {
            headers.push(("x-ms-date", when.as_str()));
        }
        headers.extend(
            self.headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        client.send(&self.method, &self.target, &headers, &self.body)
    }
}

fn corpus() -> Vec<Case> {
    let mut cases = Vec::new();
    for block in CORPUS.split("\n### ").skip(1) {
        let (title, rest) = block.split_once('\n').expect("a title");
        let at = rest
            .rfind("\n=> ")
            .unwrap_or_else(|| panic!("{title}: no answer"));
        let (request, answer) = (&rest[..at], &rest[at + 4..]);
        let answer = answer.lines().next().expect("an answer").trim();
        let (status, sub_status) = match answer.split_once('/') {
            Some((status, sub)) => (status, Some(sub.to_owned())),
            None => (answer, None),
        };
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        let mut lines = head.lines();
        let (method, target) = lines
            .next()
            .and_then(|line| line.split_once(' '))
            .expect("a request line");
        let mut case = Case {
            title: title.to_owned(),
            method: method.to_owned(),
            target: expand_text(target),
            headers: Vec::new(),
            directives: Vec::new(),
            body: expand(body),
            status: status
                .parse()
                .unwrap_or_else(|_| panic!("{title}: {answer}")),
            sub_status,
        };
        for line in lines {
            if let Some(directive) = line.strip_prefix('!') {
                let (name, value) = directive.split_once(' ').unwrap_or((directive, ""));
                case.directives.push((name.to_owned(), expand_text(value)));
            } else {
                let (name, value) = line
                    .split_once(": ")
                    .unwrap_or_else(|| panic!("{title}: {line}"));
                case.headers.push((name.to_owned(), expand_text(value)));
            }
        }
        cases.push(case);
    }
    cases
}

fn expand_text(text: &str) -> String {
    String::from_utf8(expand(text)).expect("text")
}

/// Replaces `@{n*text}` and `@{hex ..}`. A repeated text may hold balanced braces.
fn expand(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("@{") {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let inner_start = at + 2;
        let mut depth = 1;
        let mut end = inner_start;
        for (place, character) in rest[inner_start..].char_indices() {
            depth += match character {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            if depth == 0 {
                end = inner_start + place;
                break;
            }
        }
        let inner = &rest[inner_start..end];
        if let Some(hex) = inner.strip_prefix("hex ") {
            let digits: Vec<u8> = hex
                .chars()
                .map(|digit| digit.to_digit(16).expect("hex") as u8)
                .collect();
            out.extend(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
        } else {
            let (count, text) = inner.split_once('*').expect("a count");
            out.extend_from_slice(text.repeat(count.parse().expect("a count")).as_bytes());
        }
        rest = &rest[end + 1..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

/// All that a hostile request must not change.
fn state(account: &mut Account) -> Vec<String> {
    let paths = [
        "/dbs",
        "/dbs/db/colls",
        "/dbs/db/users",
        "/dbs/db/colls/c/docs",
        "/dbs/db/colls/h/docs",
        "/dbs/db/colls/c/sprocs",
        "/dbs/db/colls/c/triggers",
        "/dbs/db/colls/c/udfs",
        "/offers",
        "/dbs/db/clientencryptionkeys",
    ];
    paths
        .iter()
        .map(|path| {
            let read = account.send("GET", path, &[], b"");
            assert_eq!(read.status, 200, "{path}: {}", read.text());
            read.text()
        })
        .collect()
}

#[test]
fn every_malformed_request_gets_its_answer_and_changes_nothing() {
    let cases = corpus();
    assert!(cases.len() >= 150, "the corpus has {} cases", cases.len());
    let mut account = Account::with_containers();
    let before = state(&mut account);
    let mut wrong = Vec::new();
    for case in &cases {
        // A connection of its own: some answers end it.
        let mut client = Client::connect(account.server.address);
        let response = case.send(&mut client);
        let sub_status = response.header("x-ms-substatus").map(str::to_owned);
        let sub_status_fits = case.sub_status.is_none() || case.sub_status == sub_status;
        if response.status != case.status || !sub_status_fits {
            let text: String = response.text().chars().take(160).collect();
            wrong.push(format!(
                "{}: {} {:?} instead of {} {:?}: {text}",
                case.title, response.status, sub_status, case.status, case.sub_status
            ));
            continue;
        }
        if response.header("content-type") != Some("application/json") {
            wrong.push(format!("{}: the answer is not JSON", case.title));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    account.client = Client::connect(account.server.address);
    assert_eq!(state(&mut account), before);
}
