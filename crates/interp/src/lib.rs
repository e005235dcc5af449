//! The reference engine: columns of lanes in portable Rust.
