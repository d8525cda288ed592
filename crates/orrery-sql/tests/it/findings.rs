//! Texts that the fuzzer found, each wrong once.

use orrery_sql::parser::parse;
use orrery_sql::printer::Printer;

#[test]
fn what_is_printed_prints_the_same_again() {
    for text in [
        "SELECT -11111111E1111111",
        "SELECT - -1e999, +1e999, ~1e999",
    ] {
        let query = parse(text).expect(text);
        let printed = Printer::query_text(text, &query);
        let again = parse(&printed).expect(&printed);
        assert_eq!(Printer::query_text(&printed, &again), printed);
    }
}
