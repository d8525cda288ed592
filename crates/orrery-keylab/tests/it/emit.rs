//! Templates read back, and code that runs where its toolchain is present.

use std::path::{Path, PathBuf};
use std::process::Command;

use orrery_keylab::emit::{self, LANGUAGES, Label, Language, MadeKey, Part, Plan, Target};
use orrery_keylab::iac::containers;

fn plan(paths: &[&str], kind: &'static str) -> Plan {
    Plan {
        title: paths.join(","),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        kind,
        throughput: 12_000,
        autoscale: true,
        ttl: Some(3_600),
        unique: vec![vec!["/email".to_owned()]],
        made: None,
    }
}

#[test]
fn what_is_emitted_is_read_back() {
    for plan in [
        plan(&["/customerId"], "Hash"),
        plan(&["/tenantId", "/id"], "MultiHash"),
    ] {
        let mut commands = emit::render(&plan, Target::Cli);
        if plan.paths.len() > 1 {
            let (_, template) = commands.split_once("<<'JSON'\n").unwrap();
            commands = template.split_once("\nJSON\n").unwrap().0.to_owned();
            assert_eq!(
                containers("t.json", &commands).unwrap()[0].paths,
                plan.paths
            );
        } else {
            assert!(
                commands.contains("--partition-key-path '/customerId' --partition-key-version 2")
            );
            assert!(
                commands.contains("--max-throughput 12000 --ttl 3600"),
                "{commands}"
            );
        }
        for (target, name) in [
            (Target::Bicep, "t.bicep"),
            (Target::Arm, "t.json"),
            (Target::Terraform, "t.tf"),
        ] {
            let text = emit::render(&plan, target);
            let found =
                containers(name, &text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(
                (&found[0].paths, found[0].kind.as_str()),
                (&plan.paths, plan.kind),
                "{text}"
            );
            assert_eq!(found[0].version, Some(2));
            assert!(found[0].objections().is_empty());
            assert!(
                text.contains("12000") && text.contains("3600") && text.contains("/email"),
                "{text}"
            );
            assert!(text.contains("PartitionKeyRUConsumption"), "{text}");
        }
    }
}

#[test]
fn arm_is_json_with_the_resource_where_it_belongs() {
    let text = emit::render(&plan(&["/k"], "Hash"), Target::Arm);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let resource = &value["resources"][0]["properties"]["resource"];
    assert_eq!(resource["partitionKey"]["paths"][0], "/k");
    assert_eq!(resource["defaultTtl"], 3600);
    assert_eq!(
        value["resources"][0]["properties"]["options"]["autoscaleSettings"]["maxThroughput"],
        12000
    );
}

fn made() -> MadeKey {
    MadeKey {
        parts: vec![
            Part {
                path: "tenant/id".to_owned(),
                cut: None,
            },
            Part {
                path: "placedAt".to_owned(),
                cut: Some(7),
            },
        ],
        separator: "_".to_owned(),
        label: Some(Label {
            by: Some("id".to_owned()),
            buckets: 37,
            start: 1,
        }),
    }
}

const VALUES: [&str; 3] = ["Ünal & \"Söhne\"", "2026-10-22T13:00:00Z", "order-4711"];

/// A folder of this test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("orrery-keylab-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn said(folder: &Path, program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Runs the code of a language; `None` where its toolchain is not present.
fn run(language: Language, made: &MadeKey) -> Option<String> {
    let code = emit::key_code(made, language);
    let folder = Folder::new(language.name().trim_end_matches('#'));
    let arguments = VALUES.map(quoted).join(", ");
    let write = |name: &str, text: String| std::fs::write(folder.0.join(name), text).unwrap();
    match language {
        Language::Python => {
            write(
                "key.py",
                format!(
                    "{code}\nimport sys\nsys.stdout.reconfigure(encoding=\"utf-8\")\nprint(partition_key_of({arguments}))\n"
                ),
            );
            said(&folder.0, "python3", &["key.py"])
        }
        Language::JavaScript => {
            write(
                "key.mjs",
                format!("{code}\nconsole.log(partitionKeyOf({arguments}));\n"),
            );
            said(&folder.0, "node", &["key.mjs"])
        }
        Language::Java => {
            write(
                "Main.java",
                format!(
                    "public class Main {{ public static void main(String[] a) throws Exception {{ new java.io.PrintStream(System.out, true, \"UTF-8\").println(PartitionKeys.partitionKeyOf({arguments})); }} }}\n{code}"
                ),
            );
            said(&folder.0, "java", &["-Dfile.encoding=UTF-8", "Main.java"])
        }
        Language::Rust => {
            write(
                "main.rs",
                format!(
                    "{code}\nfn main() {{ println!(\"{{}}\", partition_key_of({arguments})); }}\n"
                ),
            );
            said(&folder.0, "rustc", &["--edition", "2021", "main.rs"])?;
            said(&folder.0, folder.0.join("main").to_str().unwrap(), &[])
        }
        Language::Go => {
            write(
                "go.mod",
                "module example.invalid/keys\n\ngo 1.22\n".to_owned(),
            );
            std::fs::create_dir_all(folder.0.join("keys")).unwrap();
            write("keys/key.go", code);
            write(
                "main.go",
                format!(
                    "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.invalid/keys/keys\"\n)\n\nfunc main() {{ fmt.Println(keys.PartitionKeyOf({arguments})) }}\n"
                ),
            );
            said(&folder.0, "go", &["run", "."])
        }
        Language::CSharp => {
            // `dotnet` needs a project and a restore; the code is compiled where an SDK has `run` for files.
            None
        }
    }
}

#[test]
fn every_language_computes_the_same_key() {
    let made = made();
    let expected = made.key(&VALUES).unwrap();
    assert!(
        expected.starts_with("Ünal & \"Söhne\"_2026-10_"),
        "{expected}"
    );
    let mut ran = 0;
    for language in LANGUAGES {
        if let Some(key) = run(language, &made) {
            assert_eq!(key, expected, "{}", language.name());
            ran += 1;
        }
    }
    // Rust is there, or this test would not run.
    assert!(ran >= 1);
}

#[test]
fn random_labels_stay_in_their_range() {
    let made = MadeKey {
        parts: vec![Part {
            path: "date".to_owned(),
            cut: None,
        }],
        separator: ".".to_owned(),
        label: Some(Label {
            by: None,
            buckets: 5,
            start: 3,
        }),
    };
    assert_eq!(made.key(&["2026-01-01"]), None);
    let code = emit::key_code(&made, Language::Rust);
    let folder = Folder::new("random");
    let program = format!(
        "{code}\nfn main() {{ for _ in 0..200 {{ println!(\"{{}}\", partition_key_of(\"d\")); }} }}\n"
    );
    std::fs::write(folder.0.join("main.rs"), program).unwrap();
    if said(&folder.0, "rustc", &["--edition", "2021", "main.rs"]).is_none() {
        return;
    }
    let keys = said(&folder.0, folder.0.join("main").to_str().unwrap(), &[]).unwrap();
    let seen: std::collections::BTreeSet<&str> = keys.lines().collect();
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        ["d.3", "d.4", "d.5", "d.6", "d.7"]
    );
}

#[test]
fn names_are_words_of_no_language() {
    let made = MadeKey {
        parts: vec![
            Part {
                path: "type".to_owned(),
                cut: None,
            },
            Part {
                path: "class".to_owned(),
                cut: None,
            },
        ],
        separator: "|".to_owned(),
        label: None,
    };
    for language in LANGUAGES {
        let code = emit::key_code(&made, language);
        assert!(
            code.contains("typeValue") || code.contains("type_value"),
            "{code}"
        );
    }
}
