//! The parser: any text gives statements or an error; what is printed parses again and prints the same.

#![no_main]

use chalet_syntax::parse_statements;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(statements) = parse_statements(text) else { return };
    for statement in statements {
        let printed = statement.to_string();
        // What was printed is one level deeper at most, so only the limits of depth and size may refuse it.
        let again = match parse_statements(&printed) {
            Ok(again) => again,
            Err(error) if ["TOO_DEEP_AST", "TOO_BIG_AST", "TOO_DEEP_RECURSION"].contains(&error.code().name) => return,
            Err(error) => panic!("{printed:?} does not parse: {error}"),
        };
        let reprinted: Vec<String> = again.iter().map(ToString::to_string).collect();
        assert_eq!(reprinted, [printed]);
    }
});
