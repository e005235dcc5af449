//! `membar fence`
//!
//! `membar` since PTX 1.4; `fence` since PTX 6.0, sm_70.

use crate::data::scope;
use crate::matching::stand_first;
use crate::{Cx, Form, Outcome, Room, since};
use hostwarp_ir::Op;

const LEVELS: &[(&str, &str)] = &[(".level", ".cta .gl .sys"), (".proxykind", ".alias .async")];
const SETS: &[(&str, &str)] = &[
    (".sem", ".sc .acq_rel"),
    (".restrict", ".sync_restrict::shared::cta .sync_restrict::shared::cluster"),
    (".half", ".acquire .release"),
    (".scope", ".cta .cluster .gpu .sys"),
    (".proxykind", ".alias .async"),
    (".space", ".global .shared::cta .shared::cluster"),
    (".near", ".cta .cluster"),
    (".fabric", ".fabric::fabric .fabric::generic .generic::fabric"),
    (".order", ".acquire .release .acq_rel"),
];

/// `membar`
pub const MEMBAR: Room = Room {
    opcodes: &["membar"],
    title: "order memory accesses before and after, for the CTA, the GPU or all",
    doc: "`membar.level` is `fence.sc` of that scope (`.gl` is `.gpu`).",
    section: "9.7.13.4",
    forms: &[
        Form::new("membar.level", LEVELS, since(14, 10)).needs(&[(".sys", since(20, 20))]),
        Form::new("membar.proxy.proxykind", LEVELS, since(75, 70)).needs(&[(".async", since(80, 90))]),
    ],
    rule: Some(|_, instr| stand_first(instr, &[".proxy"])),
    meaning,
    notes: &[],
};

/// `fence`
pub const FENCE: Room = Room {
    opcodes: &["fence"],
    title: "order memory accesses before and after",
    doc: "Every fence orders everything here, so the forms that order less (`.acquire`, `.release`, restricted to one kind of access or between proxies) are \
          the same fence.",
    section: "9.7.13.4",
    forms: &[
        Form::new("fence{.sem}.scope", SETS, since(60, 70)).needs(&[(".cluster", since(78, 90))]),
        Form::new("fence.half.scope", SETS, since(86, 90)),
        Form::new("fence.acquire.sync_restrict::shared::cluster.cluster", SETS, since(86, 90)),
        Form::new("fence.release.sync_restrict::shared::cta.cluster", SETS, since(86, 90)),
        Form::new("fence.mbarrier_init.release.cluster", SETS, since(80, 90)),
        Form::new("fence.mbarrier_init.release.cluster.restrict", SETS, since(86, 90)).undocumented().later(),
        Form::new("fence.proxy.proxykind", SETS, since(75, 70)).needs(&[(".async", since(80, 90))]),
        Form::new("fence.proxy.async.space", SETS, since(80, 90)),
        Form::new("fence.proxy.proxykind.restrict", SETS, since(86, 90)).undocumented().later(),
        Form::new("fence.proxy.async.space.restrict", SETS, since(86, 90)).undocumented().later(),
        Form::new(
            "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
            SETS,
            since(86, 90),
        ),
        Form::new(
            "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
            SETS,
            since(86, 90),
        ),
        Form::new("fence.proxy.tensormap::generic.release.scope", SETS, since(83, 90)),
        Form::new(
            "fence.proxy.tensormap::generic.acquire.scope  [addr]:b64, size:u32#<128..128>",
            SETS,
            since(83, 90),
        ),
        Form::new(
            "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.near",
            SETS,
            since(94, 90),
        ),
        Form::new("fence.proxy.alias.half.sys", SETS, since(94, 90)),
        Form::new("fence.alias.sync_restrict::read.release.sys", SETS, since(95, 90)),
        Form::new("fence.proxy.fabric.alias.order.sys", SETS, since(93, 100)),
    ],
    rule: Some(|_, instr| stand_first(instr, &[".proxy"])),
    meaning,
    notes: &[],
};

/// A fence where the guard does not hold changes nothing, so it takes none.
fn meaning(cx: &mut Cx<'_>) -> Outcome {
    let scope = scope(cx.m);
    cx.b.effect(Op::Fence(scope), &[], None);
    Ok(())
}
