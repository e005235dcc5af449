//! `clusterlaunchcontrol`

use super::room;
use crate::matching::stand_first;
use crate::{Form, Room, since};

const SETS: &[(&str, &str)] =
    &[(".ss", ".shared::cta"), (".first", ".get_first_ctaid::x .get_first_ctaid::y .get_first_ctaid::z")];

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
        Form::new("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128  p:pred, a:b128", SETS, since(86, 100)).later(),
        Form::new("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128  d:4*b32, a:b128", SETS, since(86, 100))
            .later(),
        Form::new("clusterlaunchcontrol.query_cancel.first.b32.b128  d:b32, a:b128", SETS, since(86, 100)).later(),
    ],
    Some(|_, instr| stand_first(instr, &[".try_cancel", ".async", ".query_cancel"])),
);
