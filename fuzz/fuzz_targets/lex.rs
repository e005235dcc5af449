//! Tokens cover the text without gaps other than white space, and end.
#![no_main]

use hostwarp_syntax::Lexer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut end = 0;
    for token in Lexer::new(text) {
        let range = token.span.range();
        assert!(end <= range.start && range.start < range.end, "{range:?} after {end}");
        let gap = text[end..range.start].trim_start_matches('\u{feff}');
        assert!(gap.bytes().all(|b| b.is_ascii_whitespace() || b == 0x0B), "lost {gap:?}");
        end = range.end;
    }
    assert!(text[end..].trim_start_matches('\u{feff}').bytes().all(|b| b.is_ascii_whitespace() || b == 0x0B));
});
