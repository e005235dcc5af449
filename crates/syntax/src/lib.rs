//! PTX text to tree and back: lexer, total parser, printer.
