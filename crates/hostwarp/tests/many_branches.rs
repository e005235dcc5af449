//! Kernels with so many divergent blocks that the jit keeps their masks in memory.

use hostwarp::jit::Speculation;
use hostwarp::{Device, Effort, Engine, Error};
use std::fmt::Write;

/// In each of three iterations every thread takes about half of the branches, and some leave early.
fn kernel(branches: u32) -> String {
    let mut body = String::new();
    for i in 0..branches {
        let _ = writeln!(
            body,
            "and.b32 %r4, %r3, {}; setp.eq.u32 %p1, %r4, 0; @%p1 bra L{i}; mad.lo.u32 %r2, %r2, 31, {i}; xor.b32 %r3, %r3, %r2;\nL{i}:",
            1 << (i % 7)
        );
    }
    format!(
        ".version 8.5\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 out) {{
.reg .b32 %r<8>; .reg .pred %p<3>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, 1; mov.u32 %r3, %r1; mov.u32 %r5, 0;
mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
AGAIN:
{body}add.u32 %r5, %r5, 1;
setp.eq.u32 %p2, %r2, 7; @%p2 bra OUT;
setp.lt.u32 %p2, %r5, 3; @%p2 bra AGAIN;
OUT: st.global.u32 [%rd1], %r2;
ret;
}}"
    )
}

#[test]
fn masks_in_memory_give_the_same_bits() -> Result<(), Error> {
    let device = Device::new()?;
    if device.llvm().is_err() {
        return Ok(()); // CI demands it elsewhere
    }
    let text = kernel(80);
    let run = |engine: Engine, speculation: Option<Speculation>, block: u32| {
        // Code that is kept from one launch to the next is that of a module.
        let kernel = device.load("k.ptx", &text)?.kernel("k")?;
        let out = device.buffer::<u32>(block as usize)?;
        let mut launch = kernel.launch().block([block, 1, 1]).engine(engine).arg(&out);
        if let Some(speculation) = speculation {
            launch = launch.speculation(speculation).effort(Effort::Quick);
        }
        launch.run()?;
        out.to_vec()
    };
    for block in [64, 50] {
        let want = run(Engine::Interp, None, block)?;
        assert!(want.iter().any(|v| *v != want[0]), "the branches are uniform");
        assert_eq!(run(Engine::Jit, Some(Speculation::On), block)?, want);
        assert_eq!(run(Engine::Jit, Some(Speculation::Off), block)?, want);
    }
    Ok(())
}
