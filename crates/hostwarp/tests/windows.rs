//! Compiled code remembers which part of an allocation it looked up last. Accesses that leave it, for another place, another allocation or
//! none, must be noticed all the same.

use hostwarp::{Buffer, Device, Effort, Engine};

/// As `quick.rs` has it, or with care.
const EFFORT: Effort = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"quick" => Effort::Quick,
    _ => Effort::Best,
};

/// CTA c of n copies 256 words of `a` if c is even and of `b` if it is odd, the last words first, into its own place; `skip` moves all reads.
const PTX: &str = "\
.version 8.3
.target sm_90
.address_size 64

.visible .entry backwards(.param .u64 a, .param .u64 b, .param .u64 out, .param .u64 skip)
{
    .reg .pred %odd;
    .reg .b32 %t, %c, %n, %i;
    .reg .b64 %from, %b, %skip, %out;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mov.u32 %n, %nctaid.x;
    ld.param.u64 %from, [a];
    ld.param.u64 %b, [b];
    ld.param.u64 %skip, [skip];
    and.b32 %i, %c, 1;
    setp.ne.u32 %odd, %i, 0;
    selp.b64 %from, %b, %from, %odd;
    add.u64 %from, %from, %skip;
    sub.u32 %i, %n, %c;
    sub.u32 %i, %i, 1;
    mad.lo.u32 %i, %i, 256, %t;
    mad.wide.u32 %from, %i, 4, %from;
    ld.global.u32 %i, [%from];
    mad.lo.u32 %t, %c, 256, %t;
    ld.param.u64 %out, [out];
    mad.wide.u32 %out, %t, 4, %out;
    st.global.u32 [%out], %i;
    ret;
}
";

const CTAS: u32 = 40;
const WORDS: u32 = CTAS * 256;

/// On a device of its own, so that addresses in messages are the same.
fn run(skip: u64, engine: Engine) -> Result<Vec<u32>, String> {
    let device = Device::builder().effort(EFFORT).build().unwrap();
    let module = device.load("backwards.ptx", PTX).map_err(|e| e.to_string())?;
    let words = |from: u32| (from..from + WORDS).collect::<Vec<u32>>();
    let buffer = |words: &[u32]| -> Buffer<u32> { device.buffer_from(words).unwrap() };
    let (a, b) = (buffer(&words(0)), buffer(&words(1 << 20)));
    let out = buffer(&vec![0; WORDS as usize]);
    let kernel = module.kernel("backwards").map_err(|e| e.to_string())?;
    kernel
        .launch()
        .grid([CTAS, 1, 1])
        .block([256, 1, 1])
        .engine(engine)
        .threads(1)
        .arg(&a)
        .arg(&b)
        .arg(&out)
        .arg(skip)
        .run()
        .map_err(|e| e.to_string())?;
    out.to_vec().map_err(|e| e.to_string())
}

#[test]
fn reads_go_back_and_forth_between_allocations() {
    let from = |i: u32| {
        let (cta, thread) = (i / 256, i % 256);
        (CTAS - 1 - cta) * 256 + thread + ((cta % 2) << 20)
    };
    let want: Vec<u32> = (0..WORDS).map(from).collect();
    for engine in [Engine::Interp, Engine::Jit] {
        assert_eq!(run(0, engine).unwrap(), want, "{engine:?}");
    }
}

#[test]
fn what_is_just_outside_is_a_fault() {
    // One word beyond the end in the first CTA; not aligned; before the beginning only in the last.
    for skip in [4, 2, (-4i64) as u64] {
        let [interp, jit] = [Engine::Interp, Engine::Jit].map(|engine| run(skip, engine).unwrap_err());
        assert_eq!(interp, jit, "{skip}");
    }
}
