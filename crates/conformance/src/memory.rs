//! Cases that use memory, or wait for other threads.
//!
//! Every thread has a slot of 16 bytes in every state space. Before the instruction it holds what `fixed` says, or the operands `m0`,
//! `m1`, … over that; behind it, what it holds is the result. Constant memory and parameters hold the fixed values from the beginning, and so does a part of global memory
//! that is never written, for loads that want that.

use crate::cases::{Case, Register, Setting, is_one_in, is_vector, registers, zeroed};
use crate::vectors::{ALL, operands};
use hostwarp_isa::{Instance, InstanceKind, InstanceOperand, Ty};
use std::fmt::Write;

/// Bytes of a slot.
const SLOT: usize = 16;
/// Threads per CTA of cases that wait for other warps.
const WARPS: usize = 96;

/// What slots hold, two words for each thread.
fn fixed() -> Vec<u64> {
    let columns = operands(&[Ty::U64, Ty::B64]);
    (0..ALL).flat_map(|i| [columns[0][i], columns[1][i]]).collect()
}

/// The third parameter of kernels: a slot for each lane of a warp.
pub const PARAMETER: &str = ", .param .align 16 .b8 slots_param[512]";

/// What the third parameter holds.
pub fn parameter() -> Vec<u8> {
    fixed()[..64].iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Variables of modules that use memory.
pub fn variables() -> String {
    let words: Vec<String> = fixed().iter().map(|w| format!("{w:#x}")).collect();
    let words = words.join(", ");
    let n = words.split(", ").count();
    format!(
        ".global .align 16 .b8 slots_global[{}];\n.global .align 128 .b8 lines[{}];\n.shared .align 16 .b8 slots_shared[{}];\n\
         .global .align 16 .b64 fixed[{n}] = {{{words}}};\n.const .align 16 .b64 slots_const[{n}] = {{{words}}};\n",
        ALL * SLOT,
        ALL * 128,
        WARPS * SLOT,
    )
}

/// What kernels do first: `%fixed` is the address of the thread's fixed values, `%lane` its lane.
pub fn prologue() -> String {
    "    .local .align 16 .b8 slots_local[16];\n    .reg .b64 %fixed, %at, %a, %x, %y, %cache_policy, %p64;\n    .reg .b32 %lane, %n;\n    .reg .pred %first;\n    \
     mov.u64 %fixed, fixed;\n    mad.wide.u32 %fixed, %t3, 16, %fixed;\n    mov.u32 %lane, %laneid;\n    setp.eq.u32 %first, %lane, 0;\n    \
     mov.b64 %cache_policy, 0x12f0000000000000;\n"
        .into()
}

/// Where an address leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Global,
    Shared,
    Local,
    Const,
    Param,
    /// Global memory that is never written.
    Fixed,
}

impl Place {
    const ALL: [Place; 5] = [Place::Global, Place::Shared, Place::Local, Place::Const, Place::Param];

    fn named(modifier: &str) -> Option<Place> {
        Some(match modifier {
            ".global" => Place::Global,
            ".shared" | ".shared::cta" | ".shared::cluster" => Place::Shared,
            ".local" => Place::Local,
            ".const" => Place::Const,
            ".param" | ".param::entry" => Place::Param,
            _ => return None,
        })
    }

    fn is_writable(self) -> bool {
        matches!(self, Place::Global | Place::Shared | Place::Local)
    }

    /// Its state space.
    fn space(self) -> &'static str {
        match self {
            Place::Global | Place::Fixed => "global",
            Place::Shared => "shared",
            Place::Local => "local",
            Place::Const => "const",
            Place::Param => "param",
        }
    }

    /// PTX that sets `%at` to the address of the thread's slot in its state space; with `first`, of the slot of the warp's first lane.
    fn slot(self, first: bool) -> String {
        let (variable, index) = match self {
            Place::Global => ("slots_global", "%t3"),
            Place::Fixed => ("fixed", "%t3"),
            Place::Const => ("slots_const", "%t3"),
            Place::Shared => ("slots_shared", "%t2"),
            Place::Param => ("slots_param", "%lane"),
            Place::Local => return "    mov.u64 %at, slots_local;\n".into(),
        };
        let mask = if first { "0xffffffe0" } else { "0xffffffff" };
        format!(
            "    mov.u64 %at, {variable};\n    and.b32 %n, {index}, {mask};\n    mad.wide.u32 %at, %n, {SLOT}, %at;\n"
        )
    }

    /// PTX that makes `%a` of `%at`.
    fn address(self, generic: bool) -> String {
        match generic {
            true => format!("    cvta.{}.u64 %a, %at;\n", self.space()),
            false => "    mov.b64 %a, %at;\n".into(),
        }
    }

    /// PTX that fills the slot at `%at` with the fixed values, and the registers over them.
    fn fill(self, over: &[Register], guard: &str) -> String {
        let space = self.space();
        let mut s = String::new();
        if self.is_writable() {
            s += "    ld.global.v2.b64 {%x, %y}, [%fixed];\n";
            let _ = writeln!(s, "    {guard}st.{space}.v2.b64 [%at], {{%x, %y}};");
        }
        for (i, r) in over.iter().enumerate() {
            let bits = r.ty.bits();
            let _ = writeln!(s, "    {guard}st.{space}.b{bits} [%at+{}], %{};", i as u32 * bits / 8, r.name);
        }
        s
    }

    /// PTX that reads the slot back.
    fn read(self) -> String {
        format!("    ld.{}.v2.b64 {{%w0, %w1}}, [%at];\n", self.space())
    }
}

/// What a slot holds behind the instruction.
fn slot_registers() -> [Register; 2] {
    [Register::dest("w0", Ty::B64), Register::dest("w1", Ty::B64)]
}

/// The cases of an instruction that uses memory, makes addresses, or waits.
pub fn cases(instance: Instance) -> Vec<Case> {
    let given = instance.mods.iter().find_map(|m| Place::named(m));
    match instance.opcode {
        "cvta" => converted(instance, given).into_iter().collect(),
        "isspacep" if instance.operands.iter().all(|o| o.ty.bits() != 32) => asked(&instance),
        "isspacep" => vec![],
        "bar" | "barrier" if instance.mods.contains(&".red") || instance.mods.contains(&".cluster") => vec![],
        "bar" | "barrier" => vec![waiting(instance)],
        "trap" | "brkpt" | "bra" | "ret" | "exit" => vec![],
        _ if !instance.operands.iter().any(|o| o.kind == InstanceKind::Address) => {
            vec![without_effect(instance)]
        }
        "fence" => vec![],
        // Not done yet.
        "atom" if instance.mods.contains(&".b128") => vec![],
        // Parameters of functions are for `call`.
        "ld" | "st" if instance.mods.contains(&".param::func") => vec![],
        "st" if given == Some(Place::Param) => vec![],
        _ => in_memory(&instance, given),
    }
}

fn setting() -> Setting {
    Setting { block: Some(32), memory: true, ..Setting::default() }
}

/// Sources and destinations that come from and go to memory; those that bodies set are left out.
fn outer(instance: &Instance) -> Vec<Register> {
    let set_here = |name: &str| matches!(name, "a" | "cache_policy");
    registers(instance).into_iter().filter(|r| !set_here(&r.name)).collect()
}

fn in_memory(instance: &Instance, given: Option<Place>) -> Vec<Case> {
    let opcode = instance.opcode;
    let constant = opcode == "ldu" || instance.mods.contains(&".nc");
    let atomic = matches!(opcode, "atom" | "red");
    let places: Vec<Place> = match given {
        _ if constant => vec![Place::Fixed],
        Some(place) => vec![place],
        None => Place::ALL
            .into_iter()
            .filter(|p| match opcode {
                "ld" => true,
                "st" => p.is_writable(),
                // Vectors are for global memory; on a generic address of shared memory nothing happens.
                "atom" | "red" if instance.operands.iter().any(is_vector) => *p == Place::Global,
                "atom" | "red" => matches!(p, Place::Global | Place::Shared),
                _ => *p == Place::Global,
            })
            .collect(),
    };
    let mut out = vec![];
    for place in places {
        let generic = given.is_none() && !(place == Place::Fixed && instance.mods.contains(&".global"));
        let mut at = if given.is_none() { format!(" // in {}", place.space()) } else { String::new() };
        if is_wide(instance) {
            at += " // a register of 64 bits";
        }
        out.push(on_own_slot(instance, place, generic, false, &at));
        if is_one_in(&format!("{}{at}", instance.text()), 16) {
            out.push(on_own_slot(instance, place, generic, true, &at));
        }
        let ops = [".add", ".and", ".or", ".xor", ".min", ".max"];
        let integer = instance.operands.iter().all(|o| !o.ty.is_float());
        let plain =
            [".relaxed", ".acquire", ".release", ".acq_rel"].iter().all(|s| !instance.mods.contains(s));
        if atomic && integer && plain && ops.iter().any(|o| instance.mods.contains(o)) {
            out.push(on_one_slot(instance, place, generic));
        }
    }
    out
}

/// Whether a register is wider than what is loaded or stored.
fn is_wide(instance: &Instance) -> bool {
    let wider = |o: &InstanceOperand| o.kind == InstanceKind::Register && o.ty == Ty::B64;
    let narrow = instance.mods.iter().filter_map(|m| Ty::parse(m)).any(|t| t.bits() < 64);
    matches!(instance.opcode, "ld" | "ldu" | "st") && narrow && instance.operands.iter().any(wider)
}

fn on_own_slot(instance: &Instance, place: Place, generic: bool, guarded: bool, at: &str) -> Case {
    let mut registers = outer(instance);
    let guard = if guarded { "@%guard " } else { "" };
    let text = format!("{guard}{}{at}", instance.text());
    let mut body = if guarded { zeroed(&registers) } else { String::new() };
    body += &place.slot(instance.opcode == "ldu");
    let atomic = matches!(instance.opcode, "atom" | "red");
    let contents = if atomic { contents(instance) } else { vec![] };
    body += &place.fill(&contents, "");
    if matches!(instance.opcode, "applypriority" | "discard") {
        body += "    mov.u64 %a, lines;\n    mad.wide.u32 %a, %t3, 128, %a;\n";
        body += if generic { "    cvta.global.u64 %a, %a;\n" } else { "" };
    } else {
        body += &place.address(generic);
    }
    let _ = writeln!(body, "    {guard}{};", instance.text());
    if !matches!(instance.opcode, "ld" | "ldu") {
        body += &place.read();
        registers.extend(slot_registers());
    }
    registers.splice(0..0, contents);
    if guarded {
        registers.push(Register::source("guard", Ty::Pred));
    }
    let crashes_driver = instance.opcode == "atom"
        && instance.operands[0].kind == InstanceKind::Sink
        && [".bf16", ".bf16x2"].iter().any(|ty| instance.mods.contains(ty));
    let setting = Setting { crashes_driver, ..setting() };
    Case { text, instance: Some(instance.clone()), registers, setting, body }
}

/// What an atomic operation finds: as many elements as it works on.
fn contents(instance: &Instance) -> Vec<Register> {
    let b = instance.operands.iter().find(|o| o.name == "b");
    let len = match b.map(|b| b.kind) {
        Some(InstanceKind::Vector { len, .. }) => len,
        _ => 1,
    };
    let ty = registers(instance).into_iter().find(|r| r.name.starts_with('b')).map_or(Ty::B32, |r| r.ty);
    (0..len).map(|i| Register::source(format!("m{i}"), ty)).collect()
}

/// All lanes of a warp on the slot of the first. What each found there depends on their order, what is there in the end does not.
fn on_one_slot(instance: &Instance, place: Place, generic: bool) -> Case {
    let contents = contents(instance);
    let (own, mut registers): (Vec<Register>, Vec<Register>) =
        outer(instance).into_iter().partition(|r| r.dest);
    let mut body = String::from("    {\n");
    for r in own {
        let _ = writeln!(body, "    .reg .b{} %{};", r.ty.bits(), r.name);
    }
    body += &place.slot(true);
    body += &place.fill(&contents, "@%first ");
    body += &place.address(generic);
    let _ = writeln!(
        body,
        "    bar.warp.sync 0xffffffff;\n    {};\n    bar.warp.sync 0xffffffff;",
        instance.text()
    );
    body += &place.read();
    body += "    bar.warp.sync 0xffffffff;\n    }\n";
    registers.splice(0..0, contents);
    registers.extend(slot_registers());
    let at = if generic { format!(" in {}", place.space()) } else { String::new() };
    let text = format!("{} // a warp on one address{at}", instance.text());
    Case { text, instance: Some(instance.clone()), registers, setting: setting(), body }
}

/// `cvta`: what is found behind the address it makes.
fn converted(instance: Instance, place: Option<Place>) -> Option<Case> {
    let place = place?;
    let [p, a] = &instance.operands[..] else { return None };
    if p.ty != Ty::U64 || a.kind != InstanceKind::Register {
        return None;
    }
    let to = instance.mods.contains(&".to");
    let mut body = place.slot(false) + &place.fill(&[], "") + &place.address(to);
    let space = if to { format!(".{}", place.space()) } else { String::new() };
    let code = instance.text().replace("%p", "%p64");
    let _ = writeln!(body, "    {code};\n    ld{space}.v2.b64 {{%w0, %w1}}, [%p64];");
    let text = instance.text();
    Some(Case {
        text,
        instance: Some(instance),
        registers: slot_registers().to_vec(),
        setting: setting(),
        body,
    })
}

/// `isspacep` of an address in each state space.
fn asked(instance: &Instance) -> Vec<Case> {
    let in_place = |place: Place| {
        let text = format!("{} // in {}", instance.text(), place.space());
        let body = place.slot(false) + &place.address(true) + &format!("    {};\n", instance.text());
        Case { text, instance: Some(instance.clone()), registers: outer(instance), setting: setting(), body }
    };
    Place::ALL.into_iter().map(in_place).collect()
}

/// What changes no value: the thread's slot holds what it held.
fn without_effect(instance: Instance) -> Case {
    let mut registers = outer(&instance);
    registers.extend(slot_registers());
    let place = Place::Shared;
    let mut body = place.slot(false) + &place.fill(&[], "");
    // `nanosleep` may wait for a millisecond, which is a lot.
    let code = instance.text();
    let _ = writeln!(body, "    {code};\n{}", place.read());
    Case { text: code, instance: Some(instance), registers, setting: setting(), body }
}

/// Barriers: the first warp and the others (the halves of one, for a warp's barrier) each leave values in their slots, wait, and take what the threads on the other
/// side have left. They do so in code of their own, so that those who come first find something else if they do not wait.
fn waiting(instance: Instance) -> Case {
    let text = instance.text();
    let (block, step) = if instance.mods.contains(&".warp") { (32, 16) } else { (WARPS, 32) };
    let far = step * SLOT;
    let take_below = format!("    ld.shared.u32 %d, [%at+-{far}];\n");
    // Who only arrives may not take anything.
    let (wait, take_below) = match instance.mods.contains(&".arrive") {
        true => ("barrier.sync %a, %b", ""),
        false => (text.as_str(), take_below.as_str()),
    };
    let registers = vec![Register::source("v", Ty::U32), Register::dest("d", Ty::B32)];
    let mut body = String::from("    {\n    .reg .b32 %a, %b, %membermask;\n    .reg .pred %later;\n");
    body += "    mov.u32 %a, 3;\n    mov.u32 %b, 96;\n    mov.u32 %membermask, 0xffffffff;\n";
    body += &Place::Shared.slot(false);
    let _ = write!(
        body,
        "    st.shared.u32 [%at], 7;\n    mov.b32 %d, %v;\n    bar.sync 0;\n    setp.ge.u32 %later, %t2, {step};\n    @%later bra LATER;\n    \
         st.shared.u32 [%at], %v;\n    {wait};\n    ld.shared.u32 %d, [%at+{far}];\n    bra END;\nLATER:\n    st.shared.u32 [%at], %v;\n    {text};\n{take_below}\
         END:\n    bar.sync 0;\n    }}\n",
    );
    let setting = Setting { block: Some(block as u32), memory: true, ..Setting::default() };
    Case { text, instance: Some(instance), registers, setting, body }
}
