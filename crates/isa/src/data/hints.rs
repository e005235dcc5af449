//! `prefetch prefetchu discard applypriority`: what caches are told. No value depends on it, and no address is checked.

use crate::{Form, Room, since};

const SETS: &[(&str, &str)] = &[
    (".space", ".global .local"),
    (".level", ".L1 .L2"),
    (".level::eviction_priority", ".L2::evict_last .L2::evict_normal"),
];

/// `prefetch`
pub const PREFETCH: Room = Room {
    opcodes: &["prefetch"],
    title: "bring a line into a cache",
    doc: "There is no cache to be seen, so nothing happens; a bad address is no error.",
    section: "9.7.9.15",
    forms: &[
        Form::new("prefetch{.space}.level  [a]:b64", SETS, since(20, 20)),
        Form::new("prefetch{.global}.level::eviction_priority  [a]:b64", SETS, since(74, 80)),
    ],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};

/// `prefetchu`
pub const PREFETCHU: Room = Room {
    opcodes: &["prefetchu"],
    title: "bring a line into the uniform cache",
    doc: "As `prefetch`.",
    section: "9.7.9.15",
    forms: &[Form::new("prefetchu.L1  [a]:b64", SETS, since(20, 20))],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};

/// `discard`
pub const DISCARD: Room = Room {
    opcodes: &["discard"],
    title: "let a line go without writing it back",
    doc: "What the line holds afterwards is undefined; here it keeps its values.",
    section: "9.7.9.17",
    forms: &[Form::new("discard{.global}.L2  [a]:b64, size:b32#", SETS, since(74, 80))],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};

/// `applypriority`
pub const APPLYPRIORITY: Room = Room {
    opcodes: &["applypriority"],
    title: "change how long a line should stay in a cache",
    doc: "There is no cache to be seen, so nothing happens.",
    section: "9.7.9.16",
    forms: &[Form::new("applypriority{.global}.L2::evict_normal  [a]:b64, size:b32#", SETS, since(74, 80))],
    rule: None,
    meaning: |_| Ok(()),
    notes: &[],
};
