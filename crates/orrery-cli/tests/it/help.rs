//! Every command explains itself.

use crate::harness::{run, succeed};

#[test]
fn help_of_every_command_has_examples_and_exit_codes() {
    for command in ["serve", "import", "export", "query", "load"] {
        let said = succeed(&[command, "--help"]);
        assert!(said.out.contains("Examples:"), "{command}");
        assert!(said.out.contains(&format!("orrery {command}")), "{command}");
        assert!(said.out.contains("Exit code:"), "{command}");
    }
}

#[test]
fn the_first_help_leads_to_the_first_steps() {
    let said = succeed(&["--help"]);
    for word in ["serve", "import", "export", "query", "load", "Start here"] {
        assert!(said.out.contains(word), "{word}");
    }
    assert!(
        !said.out.contains("bench-floor"),
        "internal commands stay hidden"
    );
    assert!(succeed(&["--version"]).out.starts_with("orrery "));
}

#[test]
fn wrong_usage_is_told_with_code_2() {
    for arguments in [
        &["fly"][..],
        &["serve", "--port", "many"],
        &["serve", "--scale", "2/1"],
        &["import", "x.json"],
        &["import", "x.json", "--into", "nodatabase"],
        &["load", "--mix", "fly=1"],
        &["query", "SELECT 1"],
    ] {
        let said = run(arguments);
        assert_eq!(said.code, 2, "{arguments:?}: {said:?}");
        assert!(said.err.contains("error:"), "{arguments:?}: {said:?}");
    }
}
