//! `mapa getctarank clusterlaunchcontrol setmaxnreg`

use super::room;
use crate::matching::stand_first;
use crate::{Form, Room, since};

const SETS: &[(&str, &str)] = &[
    (".space", ".shared::cluster"),
    (".type", ".u32 .u64"),
    (".ss", ".shared::cta"),
    (".first", ".get_first_ctaid::x .get_first_ctaid::y .get_first_ctaid::z"),
    (".action", ".inc .dec"),
];

/// `mapa`
pub const MAPA: Room = room(
    &["mapa"],
    "the address of a shared variable in another CTA of the cluster",
    "9.7.9.24",
    &[
        Form::new("mapa{.space}.type  d:.type, a:.type, b:u32", SETS, since(78, 90)).later(),
        Form::new("mapa{.space}.type  d:.type, a:name, b:u32", SETS, since(78, 90)).later(),
    ],
    Some(|m, instr| {
        let name = instr.operands.get(1).is_some_and(|o| o.kind == crate::OperandKind::Name);
        match m.get(".space") {
            None if name => Err("the name of a variable needs `.shared::cluster`".into()),
            _ => Ok(()),
        }
    }),
);

/// `getctarank`
pub const GETCTARANK: Room = room(
    &["getctarank"],
    "which CTA of the cluster an address is in",
    "9.7.9.25",
    &[
        Form::new("getctarank{.space}.type  d:u32, a:.type", SETS, since(78, 90)).later(),
        Form::new("getctarank.space.type  d:u32, a:name", SETS, since(78, 90)).later(),
    ],
    None,
);

/// `clusterlaunchcontrol`
pub const CLUSTERLAUNCHCONTROL: Room = room(
    &["clusterlaunchcontrol"],
    "take over a cluster that has not been launched yet",
    "9.7.14.18",
    &[
        Form::new(
            "clusterlaunchcontrol.try_cancel.async{.ss}.mbarrier::complete_tx::bytes.b128  [a]:b64, [mbar]:b64",
            SETS,
            since(86, 100),
        )
        .later(),
        Form::new(
            "clusterlaunchcontrol.try_cancel.async{.ss}.mbarrier::complete_tx::bytes.multicast::cluster::all.b128  [a]:b64, [mbar]:b64",
            SETS,
            since(86, 100),
        )
        .only(super::BLACKWELL)
        .later(),
        Form::new("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128  p:pred, a:b128!", SETS, since(86, 100)).later(),
        Form::new("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128  d:4*b32, a:b128!", SETS, since(86, 100))
            .later(),
        Form::new("clusterlaunchcontrol.query_cancel.first.b32.b128  d:b32, a:b128!", SETS, since(86, 100)).later(),
    ],
    Some(|_, instr| stand_first(instr, &[".try_cancel", ".query_cancel"])),
);

/// `setmaxnreg`
pub const SETMAXNREG: Room = room(
    &["setmaxnreg"],
    "take or give back registers",
    "9.7.19.5",
    &[
        Form::new("setmaxnreg.action.sync.aligned.u32  a:u32#<24..256/8>", SETS, since(80, 90))
            .only("90a")
            .later(),
        Form::new("setmaxnreg.action.sync.aligned.u32  a:u32#<24..256/8>", SETS, since(86, 100))
            .only(super::BLACKWELL)
            .later(),
    ],
    None,
);
