//! Moving data: `mov ld ldu st cvta isspacep`, hints to caches, and what all memory instructions share.

pub mod cvta;
pub mod hints;
pub mod isspacep;
pub mod ld;
pub mod mov;
pub mod prmt;
pub mod st;

use crate::{Cx, Match, Room};
use hostwarp_ir::{Mem, Order, Scope, Space};

/// The rooms of this family.
pub static ROOMS: &[Room] = &[
    mov::ROOM,
    prmt::ROOM,
    ld::ROOM,
    ld::LDU,
    st::ROOM,
    hints::PREFETCH,
    hints::PREFETCHU,
    hints::DISCARD,
    hints::APPLYPRIORITY,
    hints::CREATEPOLICY,
    isspacep::ROOM,
    cvta::ROOM,
];

/// How many elements a vector may have; eight only where 256 bits are accessed at once.
const VEC: &str = ".v2 .v4";
const WIDE_VEC: &str = ".v4 .v8";
/// The types memory can hold.
const TYPES: &str = ".b8 .b16 .b32 .b64 .b128 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64";
const SCOPES: &str = ".cta .cluster .gpu .sys";
/// Hints that cannot change a value: how long a line should stay in a cache.
const L1_EVICTION: &str =
    ".L1::evict_normal .L1::evict_unchanged .L1::evict_first .L1::evict_last .L1::no_allocate";
const L2_EVICTION: &str = ".L2::evict_normal .L2::evict_first .L2::evict_last";
const PREFETCH: &str = ".L2::64B .L2::128B .L2::256B";

/// The state space a modifier names. A cluster is one CTA here, so its shared memory is the CTA's own.
pub fn space_named(modifier: &str) -> Option<Space> {
    Some(match modifier {
        ".global" => Space::Global,
        ".shared" | ".shared::cta" | ".shared::cluster" => Space::Shared,
        ".local" => Space::Local,
        ".const" => Space::Const,
        ".param" | ".param::entry" | ".param::func" => Space::Param,
        _ => return None,
    })
}

impl Match {
    /// The state space the instruction names; generic if it names none.
    pub fn space(&self) -> Space {
        self.mods.iter().flatten().find_map(|m| space_named(m)).unwrap_or(Space::Generic)
    }
}

/// How the instruction accesses memory. Cache operators and eviction hints do not matter: there is no cache to be seen.
pub(crate) fn access(cx: &Cx<'_>, default: Order) -> Mem {
    let mut mem = Mem { space: cx.m.space(), order: default, scope: Scope::Gpu };
    for m in cx.m.mods.iter().flatten() {
        match *m {
            ".weak" => mem.order = Order::Weak,
            ".volatile" => mem.order = Order::Volatile,
            ".relaxed" => mem.order = Order::Relaxed,
            ".acquire" => mem.order = Order::Acquire,
            ".release" => mem.order = Order::Release,
            ".acq_rel" => mem.order = Order::AcqRel,
            _ => {}
        }
    }
    mem.scope = match mem.order {
        Order::Weak => Scope::Cta,
        Order::Volatile => Scope::Sys,
        _ => scope(cx.m),
    };
    mem
}

/// The scope the instruction names; `.gpu` if it names none.
pub(crate) fn scope(m: &Match) -> Scope {
    let named = m.mods.iter().flatten().find_map(|m| match *m {
        ".cta" => Some(Scope::Cta),
        ".cluster" => Some(Scope::Cluster),
        ".gpu" | ".gl" => Some(Scope::Gpu),
        ".sys" => Some(Scope::Sys),
        _ => None,
    });
    named.unwrap_or(Scope::Gpu)
}

/// What the notation cannot say about cache hints and the width of an access.
fn access_rule(m: &Match) -> Result<(), String> {
    let any = |prefix: &str| m.mods.iter().flatten().any(|x| x.starts_with(prefix));
    let wide = m.parsed.form.since.sm >= 100;
    let vec = m.get(".vec").and_then(|v| v[2..].parse::<u32>().ok()).unwrap_or(1);
    let element = m.ty(".type").map_or(0, |t| t.bits());
    let bits = vec * element;
    if wide && (bits != 256 || element > 64) {
        return Err("only 256 bits at once (`.v8` of 32 bits, `.v4` of 64 bits) have these modifiers".into());
    }
    if !wide && bits > 128 {
        return Err("at most 128 bits can be accessed at once before sm_100".into());
    }
    if m.opcode != "ldu" && m.get(".cop").is_some() && any(".L1::") {
        return Err("a cache operator and an eviction priority cannot stand together".into());
    }
    Ok(())
}
