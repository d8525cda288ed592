//! Rules on the repository itself.

use super::{succeeds, xtask};

#[test]
fn the_text_is_tidy() {
    succeeds(&["check", "tidy"]);
}

#[test]
fn dependencies_point_downward() {
    succeeds(&["check", "dependencies"]);
}

#[test]
fn unknown_commands_and_options_are_refused() {
    for arguments in [
        &["nonsense"][..],
        &["crash", "--rounds", "many"],
        &["cases", "--what"],
    ] {
        assert!(!xtask(arguments).status.success(), "{arguments:?}");
    }
}
