//! Special registers: what a thread can ask about itself, its CTA, the grid and the clock.

use crate::{Since, Ty, since};
use hostwarp_ir::calls::SHARED_RESERVED;
use hostwarp_ir::{Axis, Builder, Elem, IntBin, Special, Type, Value};

/// A special register, or one component of one (`%tid.x`).
#[derive(Clone, Copy, Debug)]
pub struct SpecialRegister {
    /// Its name, with the percent sign and the component.
    pub name: &'static str,
    /// Its type.
    pub ty: Ty,
    /// Since when.
    pub since: Since,
    /// What it holds.
    source: Source,
}

/// Where the value of a special register comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The machine, as it is.
    Machine(Special),
    /// The low or high word of something wide.
    Low(Special),
    High(Special),
    /// A number.
    Constant(u64),
    /// So much more than what the machine says.
    Plus(Special, u64),
    /// The bits of the lanes that compare so with one's own: equal, below, above.
    Lanes {
        equal: bool,
        below: bool,
        above: bool,
    },
}

impl SpecialRegister {
    /// Whether `mov` reads the lower half of it too: the first PTX versions had 16-bit thread indices and a 32-bit grid number.
    pub fn has_halves(&self) -> bool {
        let stem = self.name.split('.').next();
        matches!(stem, Some("%tid" | "%ntid" | "%ctaid" | "%nctaid" | "%gridid"))
    }

    /// Reads it: bits in the width of its type.
    pub fn read(&self, b: &mut Builder) -> Value {
        match self.source {
            Source::Machine(s) => b.special(s),
            Source::Low(s) => {
                let wide = b.special(s);
                b.zext(wide, Elem::I32)
            }
            Source::High(s) => {
                let wide = b.special(s);
                let high = b.int_imm(IntBin::ShrU, wide, 32);
                b.zext(high, Elem::I32)
            }
            Source::Plus(s, more) => {
                let own = b.special(s);
                b.int_imm(IntBin::Add, own, more)
            }
            Source::Constant(bits) => b.iconst(self.ty.container(), bits),
            Source::Lanes { equal, below, above } => {
                let lane = b.special(Special::LaneId);
                let one = b.iconst(Type::I32, 1);
                let own = b.int(IntBin::Shl, one, lane);
                let mut mask = b.iconst(Type::I32, 0);
                let lower = b.int_imm(IntBin::Sub, own, 1);
                if equal {
                    mask = own;
                }
                if below {
                    mask = b.or(mask, lower);
                }
                if above {
                    let up_to_own = b.or(own, lower);
                    let higher = b.not(up_to_own);
                    mask = b.or(mask, higher);
                }
                mask
            }
        }
    }
}

/// The special register of this name (`%laneid`, `%tid.x`), if it is one Hostwarp has.
pub fn special(name: &str) -> Option<&'static SpecialRegister> {
    ALL.iter().find(|r| r.name == name)
}

/// Every special register there is.
pub fn specials() -> &'static [SpecialRegister] {
    ALL
}

const fn word(name: &'static str, since: Since, s: Special) -> SpecialRegister {
    SpecialRegister { name, ty: Ty::U32, since, source: Source::Machine(s) }
}

const fn wide(name: &'static str, since: Since, s: Special) -> SpecialRegister {
    SpecialRegister { name, ty: Ty::U64, since, source: Source::Machine(s) }
}

const fn half(name: &'static str, since: Since, source: Source) -> SpecialRegister {
    SpecialRegister { name, ty: Ty::U32, since, source }
}

const fn lanes(name: &'static str, equal: bool, below: bool, above: bool) -> SpecialRegister {
    SpecialRegister { name, ty: Ty::U32, since: since(20, 20), source: Source::Lanes { equal, below, above } }
}

/// A number that is the same wherever one asks.
const fn constant(name: &'static str, ty: Ty, since: Since, bits: u64) -> SpecialRegister {
    SpecialRegister { name, ty, since, source: Source::Constant(bits) }
}

/// A fourth component exists and is always 0.
const fn fourth(name: &'static str, bits: u64) -> SpecialRegister {
    constant(name, Ty::U32, since(10, 10), bits)
}

const FIRST: Since = since(10, 10);
/// Clusters came with these.
const CLUSTER: Since = since(78, 90);
/// What a device with nothing to be monitored counts.
const PM: u64 = 0;
const RESERVED: Since = since(76, 80);

static ALL: &[SpecialRegister] = &[
    word("%tid.x", FIRST, Special::Tid(Axis::X)),
    word("%tid.y", FIRST, Special::Tid(Axis::Y)),
    word("%tid.z", FIRST, Special::Tid(Axis::Z)),
    fourth("%tid.w", 0),
    word("%ntid.x", FIRST, Special::Ntid(Axis::X)),
    word("%ntid.y", FIRST, Special::Ntid(Axis::Y)),
    word("%ntid.z", FIRST, Special::Ntid(Axis::Z)),
    fourth("%ntid.w", 0),
    word("%ctaid.x", FIRST, Special::Ctaid(Axis::X)),
    word("%ctaid.y", FIRST, Special::Ctaid(Axis::Y)),
    word("%ctaid.z", FIRST, Special::Ctaid(Axis::Z)),
    fourth("%ctaid.w", 0),
    word("%nctaid.x", FIRST, Special::Nctaid(Axis::X)),
    word("%nctaid.y", FIRST, Special::Nctaid(Axis::Y)),
    word("%nctaid.z", FIRST, Special::Nctaid(Axis::Z)),
    fourth("%nctaid.w", 0),
    word("%laneid", since(13, 10), Special::LaneId),
    word("%warpid", since(13, 10), Special::WarpId),
    // As many warps as a multiprocessor can hold, not as the CTA has: 64 on an H200.
    half("%nwarpid", since(20, 20), Source::Constant(64)),
    lanes("%lanemask_eq", true, false, false),
    lanes("%lanemask_le", true, true, false),
    lanes("%lanemask_lt", false, true, false),
    lanes("%lanemask_ge", true, false, true),
    lanes("%lanemask_gt", false, false, true),
    word("%smid", since(13, 10), Special::SmId),
    word("%nsmid", since(20, 20), Special::NSmId),
    wide("%gridid", since(10, 10), Special::GridId),
    word("%clock", FIRST, Special::Clock),
    half("%clock_hi", since(50, 20), Source::High(Special::Clock64)),
    wide("%clock64", since(20, 20), Special::Clock64),
    wide("%globaltimer", since(31, 30), Special::GlobalTimer),
    half("%globaltimer_lo", since(31, 30), Source::Low(Special::GlobalTimer)),
    half("%globaltimer_hi", since(31, 30), Source::High(Special::GlobalTimer)),
    word("%dynamic_smem_size", since(41, 20), Special::DynamicSharedSize),
    word("%total_smem_size", since(41, 20), Special::TotalSharedSize),
    // Every CTA is a cluster of its own, and no kernel has asked for that.
    constant("%is_explicit_cluster", Ty::Pred, CLUSTER, 0),
    word("%clusterid.x", CLUSTER, Special::Ctaid(Axis::X)),
    word("%clusterid.y", CLUSTER, Special::Ctaid(Axis::Y)),
    word("%clusterid.z", CLUSTER, Special::Ctaid(Axis::Z)),
    constant("%clusterid.w", Ty::U32, CLUSTER, 0),
    word("%nclusterid.x", CLUSTER, Special::Nctaid(Axis::X)),
    word("%nclusterid.y", CLUSTER, Special::Nctaid(Axis::Y)),
    word("%nclusterid.z", CLUSTER, Special::Nctaid(Axis::Z)),
    constant("%nclusterid.w", Ty::U32, CLUSTER, 0),
    constant("%cluster_ctaid.x", Ty::U32, CLUSTER, 0),
    constant("%cluster_ctaid.y", Ty::U32, CLUSTER, 0),
    constant("%cluster_ctaid.z", Ty::U32, CLUSTER, 0),
    constant("%cluster_ctaid.w", Ty::U32, CLUSTER, 0),
    constant("%cluster_nctaid.x", Ty::U32, CLUSTER, 1),
    constant("%cluster_nctaid.y", Ty::U32, CLUSTER, 1),
    constant("%cluster_nctaid.z", Ty::U32, CLUSTER, 1),
    constant("%cluster_nctaid.w", Ty::U32, CLUSTER, 0),
    constant("%cluster_ctarank", Ty::U32, CLUSTER, 0),
    constant("%cluster_nctarank", Ty::U32, CLUSTER, 1),
    // What the runtime library of the device keeps for itself at the beginning of shared memory, as an H200 has it.
    constant("%reserved_smem_offset_begin", Ty::B32, RESERVED, 0),
    constant("%reserved_smem_offset_end", Ty::B32, RESERVED, 0x120),
    constant("%reserved_smem_offset_cap", Ty::B32, RESERVED, SHARED_RESERVED as u64),
    constant("%reserved_smem_offset_0", Ty::B32, RESERVED, 0),
    constant("%reserved_smem_offset_1", Ty::B32, RESERVED, 0),
    SpecialRegister {
        name: "%aggr_smem_size",
        ty: Ty::U32,
        since: since(81, 90),
        source: Source::Plus(Special::TotalSharedSize, SHARED_RESERVED as u64),
    },
    constant("%current_graph_exec", Ty::U64, since(80, 50), 0),
    // What a driver tells a kernel. CUDA's tells one that was launched cooperatively where its CTAs meet, the upper half first.
    constant("%envreg0", Ty::U32, FIRST, 0),
    half("%envreg1", FIRST, Source::High(Special::GridWorkspace)),
    half("%envreg2", FIRST, Source::Low(Special::GridWorkspace)),
    constant("%envreg3", Ty::U32, FIRST, 0),
    constant("%envreg4", Ty::U32, FIRST, 0),
    constant("%envreg5", Ty::U32, FIRST, 0),
    constant("%envreg6", Ty::U32, FIRST, 0),
    constant("%envreg7", Ty::U32, FIRST, 0),
    constant("%envreg8", Ty::U32, FIRST, 0),
    constant("%envreg9", Ty::U32, FIRST, 0),
    constant("%envreg10", Ty::U32, FIRST, 0),
    constant("%envreg11", Ty::U32, FIRST, 0),
    constant("%envreg12", Ty::U32, FIRST, 0),
    constant("%envreg13", Ty::U32, FIRST, 0),
    constant("%envreg14", Ty::U32, FIRST, 0),
    constant("%envreg15", Ty::U32, FIRST, 0),
    constant("%envreg16", Ty::U32, FIRST, 0),
    constant("%envreg17", Ty::U32, FIRST, 0),
    constant("%envreg18", Ty::U32, FIRST, 0),
    constant("%envreg19", Ty::U32, FIRST, 0),
    constant("%envreg20", Ty::U32, FIRST, 0),
    constant("%envreg21", Ty::U32, FIRST, 0),
    constant("%envreg22", Ty::U32, FIRST, 0),
    constant("%envreg23", Ty::U32, FIRST, 0),
    constant("%envreg24", Ty::U32, FIRST, 0),
    constant("%envreg25", Ty::U32, FIRST, 0),
    constant("%envreg26", Ty::U32, FIRST, 0),
    constant("%envreg27", Ty::U32, FIRST, 0),
    constant("%envreg28", Ty::U32, FIRST, 0),
    constant("%envreg29", Ty::U32, FIRST, 0),
    constant("%envreg30", Ty::U32, FIRST, 0),
    constant("%envreg31", Ty::U32, FIRST, 0),
    constant("%pm0", Ty::U32, since(13, 10), PM),
    constant("%pm1", Ty::U32, since(13, 10), PM),
    constant("%pm2", Ty::U32, since(13, 10), PM),
    constant("%pm3", Ty::U32, since(13, 10), PM),
    constant("%pm4", Ty::U32, since(30, 20), PM),
    constant("%pm5", Ty::U32, since(30, 20), PM),
    constant("%pm6", Ty::U32, since(30, 20), PM),
    constant("%pm7", Ty::U32, since(30, 20), PM),
    constant("%pm0_64", Ty::U64, since(40, 50), PM),
    constant("%pm1_64", Ty::U64, since(40, 50), PM),
    constant("%pm2_64", Ty::U64, since(40, 50), PM),
    constant("%pm3_64", Ty::U64, since(40, 50), PM),
    constant("%pm4_64", Ty::U64, since(40, 50), PM),
    constant("%pm5_64", Ty::U64, since(40, 50), PM),
    constant("%pm6_64", Ty::U64, since(40, 50), PM),
    constant("%pm7_64", Ty::U64, since(40, 50), PM),
];

#[cfg(test)]
mod tests {
    use super::*;
    use hostwarp_ir::{Op, eval};

    #[test]
    fn lane_masks_are_about_the_lanes_around() {
        let mask = |name: &str, lane: u64| {
            let mut b = Builder::new("mask");
            let v = special(name).expect("exists").read(&mut b);
            let func = b.finish();
            let own =
                func.blocks.iter().flat_map(|b| &b.insts).find(|i| i.op == Op::Special(Special::LaneId));
            let own = own.and_then(|i| i.result).expect("asks for its lane");
            eval::run_straight_line(&func, &[(own, &[lane])], &[v], 1).expect("is pure")[0][0]
        };
        for (lane, eq, le, lt, ge, gt) in [
            (0, 1, 1, 0, 0xffff_ffff, 0xffff_fffe),
            (5, 0x20, 0x3f, 0x1f, 0xffff_ffe0, 0xffff_ffc0),
            (31, 0x8000_0000, 0xffff_ffff, 0x7fff_ffff, 0x8000_0000, 0),
        ] {
            let got = ["eq", "le", "lt", "ge", "gt"].map(|n| mask(&format!("%lanemask_{n}"), lane));
            assert_eq!(got, [eq, le, lt, ge, gt], "lane {lane}");
        }
    }

    #[test]
    fn every_register_gives_its_type() {
        for register in specials() {
            let mut b = Builder::new("read");
            let v = register.read(&mut b);
            assert_eq!(b.ty(v), register.ty.container(), "{}", register.name);
        }
    }
}
