//! `ldmatrix`, `stmatrix` and `movmatrix` on both engines: elements come from and go to where the manual says. `mma` is in `conformance/tests/matrix.rs`.

use hostwarp::{Device, Engine};

const LANES: usize = 32;

fn engines(device: &Device) -> Vec<Engine> {
    let required = std::env::var("HOSTWARP_REQUIRE_LLVM").is_ok_and(|v| v == "1");
    match device.llvm() {
        Ok(_) => vec![Engine::Interp, Engine::Jit],
        Err(why) => {
            assert!(!required, "HOSTWARP_REQUIRE_LLVM is set, and there is no LLVM: {why}");
            vec![Engine::Interp]
        }
    }
}

/// A kernel of one warp that puts 1,024 halves into shared memory and does `body`; `%row` is the address of this lane's row of 16 bytes.
fn moving(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{
    .shared .align 16 .b8 tile[2048];
    .reg .b32 %t, %row, %v, %i, %r<4>;
    .reg .b64 %out, %at;
    .reg .pred %p;
    mov.u32 %t, %tid.x;
    mov.u32 %row, tile;
    mov.u32 %i, %t;
FILL:
    shl.b32 %v, %i, 2;
    add.u32 %r0, %row, %v;
    mul.lo.u32 %v, %i, 0x20002;
    add.u32 %v, %v, 0x10000;
    st.shared.u32 [%r0], %v;
    add.u32 %i, %i, 32;
    setp.lt.u32 %p, %i, 512;
    @%p bra FILL;
    bar.sync 0;
    shl.b32 %v, %t, 4;
    add.u32 %row, %row, %v;
    ld.param.u64 %out, [out];
    mul.wide.u32 %at, %t, 16;
    add.u64 %out, %out, %at;
    mov.b32 %r0, 0; mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;
{body}
    st.global.v4.u32 [%out], {{%r0, %r1, %r2, %r3}};
    ret;
}}
"
    )
}

fn moved(body: &str) -> Vec<Vec<u32>> {
    let device = Device::new().expect("a device");
    let text = moving(body);
    let kernel = device
        .load("move.ptx", text.as_str())
        .unwrap_or_else(|e| panic!("{e}"))
        .kernel("k")
        .expect("a kernel");
    engines(&device)
        .into_iter()
        .map(|engine| {
            let out = device.buffer_from(&[0u32; 4 * LANES]).unwrap();
            let launch = kernel.launch().block([32, 1, 1]).engine(engine).arg(&out);
            launch.run().unwrap_or_else(|e| panic!("{body} on {engine:?}: {e}"));
            out.to_vec().unwrap()
        })
        .collect()
}

/// Element (row, column) of matrix m in shared memory is 64 m + 8 row + column.
#[test]
fn matrices_are_loaded_where_the_manual_says() {
    for trans in [false, true] {
        let body = format!(
            "    ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%r0, %r1, %r2, %r3}}, [%row];",
            if trans { ".trans" } else { "" }
        );
        for got in moved(&body) {
            for lane in 0..LANES as u32 {
                let (g, t) = (lane / 4, lane % 4);
                for m in 0..4 {
                    let at = |row: u32, column: u32| 64 * m + 8 * row + column;
                    let want = match trans {
                        false => at(g, 2 * t) | at(g, 2 * t + 1) << 16,
                        true => at(2 * t, g) | at(2 * t + 1, g) << 16,
                    };
                    assert_eq!(
                        got[(4 * lane + m) as usize],
                        want,
                        "lane {lane}, matrix {m}, transposed: {trans}"
                    );
                }
            }
        }
    }
}

/// What is stored and loaded again is the same, and transposed twice too.
#[test]
fn matrices_come_back() {
    let load = |trans: &str| {
        format!("    ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r0, %r1, %r2, %r3}}, [%row];\n")
    };
    let store = |trans: &str| {
        format!(
            "    stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%row], {{%r0, %r1, %r2, %r3}};\n    bar.warp.sync -1;\n"
        )
    };
    let plain = moved(&load(""));
    let clear = "    add.u32 %row, %row, 512;\n";
    assert_eq!(moved(&(load("") + clear + &store("") + &load(""))), plain);
    assert_eq!(moved(&(load(".trans") + clear + &store(".trans") + &load(""))), plain);
    let turned = "    movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;\n    movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1;\n    movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r2;\n    movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r3;\n";
    assert_eq!(moved(&(load("") + turned)), moved(&load(".trans")));
}

#[test]
fn a_row_that_is_not_aligned_is_a_fault() {
    let device = Device::new().expect("a device");
    let text =
        moving("    add.u32 %row, %row, 4;\n    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];");
    let kernel = device.load("move.ptx", text.as_str()).unwrap().kernel("k").unwrap();
    for engine in engines(&device) {
        let out = device.buffer_from(&[0u32; 4 * LANES]).unwrap();
        let error =
            kernel.launch().block([32, 1, 1]).engine(engine).arg(&out).run().expect_err("not aligned");
        assert!(error.to_string().contains("align"), "{error}");
    }
}

/// The error of a launch of so many threads, on each engine.
fn refused(body: &str, threads: u32) -> Vec<String> {
    let device = Device::new().expect("a device");
    let text = moving(body);
    let kernel = device.load("move.ptx", text.as_str()).unwrap().kernel("k").unwrap();
    let run = |engine| {
        let out = device.buffer_from(&[0u32; 4 * LANES]).unwrap();
        let launch = kernel.launch().block([threads, 1, 1]).engine(engine).arg(&out);
        launch.run().expect_err("a lane is missing").to_string()
    };
    engines(&device).into_iter().map(run).collect()
}

#[test]
fn a_lane_that_is_missing_is_a_fault() {
    let load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%row];";
    let some = "    setp.lt.u32 %p, %t, 31;\n";
    let multiply = "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0, %r1}, {%r0}, {%r1}, {%r2, %r3};";
    let fragment = "wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 {%r0}, [tile];";
    for instruction in [load, multiply, fragment, "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r0;"] {
        // A block of less than a warp, a guard, a lane that has left.
        let cases = [
            (format!("    {instruction}"), 24),
            (format!("{some}    @%p {instruction}"), 32),
            (format!("{some}    @!%p exit;\n    {instruction}"), 32),
        ];
        for (body, threads) in cases {
            for error in refused(&body, threads) {
                assert!(error.contains("lanes are missing"), "{body}: {error}");
                assert!(error.contains("line"), "{body}: {error}");
            }
        }
    }
}

#[test]
fn a_fragment_that_is_not_there_is_a_fault() {
    let wmma = |at: &str, stride: u32| {
        format!("    wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 {{%r0}}, [tile+{at}], {stride};")
    };
    for (body, why) in [(wmma("2", 32), "align"), (wmma("2032", 32), "shared")] {
        for error in refused(&body, 32) {
            assert!(error.contains(why), "{body}: {error}");
        }
    }
}
