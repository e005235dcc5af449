//! The `hostwarp` command.
fn main() {}
