//! Every request that the library makes of the operating system fails once: the launch works all the same or is an error of its kind, and the next one on
//! the same device gives the right bits. The command's side of it is `crates/cli/tests/injection.rs`.
//!
//! There is one seam for the whole process, so this file holds one test.
#![cfg(debug_assertions)]

use hostwarp::{Cache, Device, Engine, Error, ErrorKind};
use hostwarp_system::seam::{self, Asked, Failure, Kind};
use std::collections::BTreeMap;
use std::path::Path;

const PTX: &str = "\
.version 8.3
.target sm_90
.address_size 64
.global .u32 bias = 5;
.visible .entry count(.param .u64 data, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %t, %c, %b, %i, %n, %s;
    .reg .b64 %a;
    .shared .u32 cell[64];
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    ld.global.u32 %b, [bias];
    ld.param.u32 %n, [n];
    mad.lo.u32 %i, %c, 64, %t;
    mov.u32 %s, %b;
LOOP:
    add.u32 %s, %s, %i;
    sub.u32 %n, %n, 1;
    setp.ne.u32 %p, %n, 0;
    @%p bra LOOP;
    shl.b32 %b, %t, 2;
    mov.u32 %c, cell;
    add.u32 %c, %c, %b;
    st.shared.u32 [%c], %s;
    bar.sync 0;
    ld.shared.u32 %s, [%c];
    ld.param.u64 %a, [data];
    mad.wide.u32 %a, %i, 4, %a;
    st.global.u32 [%a], %s;
    ret;
}
";

const CTAS: u32 = 96;
const TURNS: u32 = 40;

fn expected() -> Vec<u32> {
    (0..CTAS * 64).map(|i| 5 + TURNS * i).collect()
}

fn device(cache: &Path) -> Result<Device, Error> {
    Device::builder().memory(1 << 26).threads(3).cache(Cache::new(cache)).build()
}

/// Loads, allocates, launches and reads.
fn launch(device: &Device, engine: Engine) -> Result<Vec<u32>, Error> {
    let module = device.load("count.ptx", PTX)?;
    let data = device.buffer::<u32>((CTAS * 64) as usize)?;
    let kernel = module.kernel("count")?;
    kernel.launch().grid([CTAS, 1, 1]).block([64, 1, 1]).arg(&data).arg(TURNS).engine(engine).run()?;
    data.to_vec()
}

/// All of it with something failing, then on the same device with nothing failing.
fn trial(engine: Engine, failure: Failure, early: bool) -> Result<Vec<Asked>, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = folder.path().join("cache");
    let before = (!early).then(|| device(&cache).expect("a device"));
    seam::arm(failure);
    let made = before.map_or_else(|| device(&cache), Ok);
    let first = made.as_ref().map_err(|e| e.to_string()).map(|d| launch(d, engine));
    let asked = seam::disarm();
    let refused = asked.iter().any(|a| a.refused);
    match first {
        Ok(Ok(values)) if values != expected() => return Err("wrong bits".into()),
        Ok(Ok(_)) | Err(_) if refused => {}
        Ok(Ok(_)) => {}
        Ok(Err(e)) if !refused => return Err(format!("nothing failed, but {e}")),
        // What is not there is no fault of the kernel and no bug of ours.
        Ok(Err(e)) if matches!(e.kind(), ErrorKind::Launch | ErrorKind::Unsupported) => {}
        Ok(Err(e)) => return Err(format!("{:?}: {e}", e.kind())),
        Err(e) => return Err(format!("nothing failed, but {e}")),
    }
    let device = match made {
        Ok(device) => device,
        Err(_) => device(&cache).map_err(|e| format!("later no device: {e}"))?,
    };
    for again in [engine, Engine::Interp, Engine::Auto] {
        match launch(&device, again) {
            Ok(values) if values == expected() => {}
            Ok(_) => return Err(format!("wrong bits later, on {again:?}")),
            Err(e) => return Err(format!("later, on {again:?}: {e}")),
        }
    }
    // What a launch that failed has taken, it has given back.
    match device.memory().allocations().len() {
        0 => Ok(asked),
        n => Err(format!("{n} allocations are left")),
    }
}

#[test]
fn later_launches_are_right() {
    let llvm = device(Path::new("nowhere")).expect("a device").llvm();
    let mut engines = vec![Engine::Interp];
    match llvm {
        Ok(_) => engines.extend([Engine::Jit, Engine::Auto]),
        Err(e) if std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_some() => panic!("{e}"),
        Err(e) => eprintln!("the jit is left out: {e}"),
    }
    let mut failed = BTreeMap::new();
    let mut wrong = vec![];
    for engine in engines {
        for early in [true, false] {
            let none = Failure { kind: Kind::File, nth: 0, lasting: false };
            let asked = trial(engine, none, early).expect("nothing fails");
            for kind in Kind::ALL {
                let count = asked.iter().filter(|a| a.kind == kind).count() as u64;
                let single = (1..=count).map(|nth| Failure { kind, nth, lasting: false });
                for failure in single.chain([Failure { kind, nth: 1, lasting: true }]) {
                    match trial(engine, failure, early) {
                        Ok(asked) if asked.iter().any(|a| a.refused) => {
                            *failed.entry(kind.name()).or_insert(0) += 1;
                        }
                        Ok(_) => {}
                        Err(why) => wrong.push(format!("{engine:?} {failure}: {why}")),
                    }
                }
            }
        }
    }
    println!("failed: {failed:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The library is loaded once in a process, before this begins; the command's test has it fail.
    for kind in ["map", "memory", "thread"] {
        assert!(failed.contains_key(kind), "no {kind} was asked for: {failed:?}");
    }
}
