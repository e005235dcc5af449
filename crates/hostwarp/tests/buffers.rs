//! Buffers: whose they are, and that what is not there cannot be touched.

use hostwarp::{Arg, Device, Engine, Error, ErrorKind};

const PTX: &str = "\
.version 8.3
.target sm_90
.address_size 64
.visible .entry store(.param .u64 data, .param .u32 value)
{
    .reg .b32 %t, %v;
    .reg .b64 %a;
    mov.u32 %t, %tid.x;
    ld.param.u64 %a, [data];
    ld.param.u32 %v, [value];
    mad.wide.u32 %a, %t, 4, %a;
    st.global.u32 [%a], %v;
    ret;
}
";

fn engines(device: &Device) -> Vec<Engine> {
    let jit = device.llvm().is_ok().then_some(Engine::Jit);
    [Engine::Interp, Engine::Auto].into_iter().chain(jit).collect()
}

#[test]
fn a_buffer_of_another_device_is_an_error() {
    let (here, there) = (Device::new().expect("a device"), Device::new().expect("a device"));
    let (mine, other) =
        (here.buffer_from(&[1u32; 4]).expect("room"), there.buffer_from(&[2u32; 4]).expect("room"));
    // That is what makes it dangerous.
    assert_eq!(mine.address(), other.address());
    assert!(mine.device().is(&here) && mine.device().is(&here.clone()) && !mine.device().is(&there));
    let kernel = here.load("store.ptx", PTX).and_then(|m| m.kernel("store")).expect("a kernel");
    for engine in engines(&here) {
        for named in [false, true] {
            let launch = kernel.launch().block([4, 1, 1]).engine(engine);
            let launch = match named {
                true => launch.arg_named("value", 9u32).arg_named("data", &other),
                false => launch.arg(&other).arg(9u32),
            };
            let error = launch.run().expect_err("it is not ours");
            assert_eq!(error.kind(), ErrorKind::Launch);
            let text = error.to_string();
            assert!(text.contains("`data`") && text.contains("another device"), "{text}");
        }
        assert_eq!((mine.to_vec().unwrap(), other.to_vec().unwrap()), (vec![1; 4], vec![2; 4]));
    }
    // A clone is the same device, and an address as such is the caller's business.
    let clone = here.clone().buffer::<u32>(4).expect("room");
    kernel.launch().block([4, 1, 1]).arg(&clone).arg(7u32).run().expect("it is ours");
    kernel.launch().block([4, 1, 1]).arg(mine.address()).arg(8u32).run().expect("an address");
    let bytes = Arg::bytes(mine.address().to_le_bytes());
    kernel.launch().block([2, 1, 1]).arg(bytes).arg(6u32).run().expect("an address");
    assert_eq!((clone.to_vec().unwrap(), mine.to_vec().unwrap()), (vec![7; 4], vec![6, 6, 8, 8]));
}

#[test]
fn a_buffer_of_no_elements_has_no_bytes() {
    let device = Device::new().expect("a device");
    let kernel = device.load("store.ptx", PTX).and_then(|m| m.kernel("store")).expect("a kernel");
    let empty = device.buffer_named::<u8>("empty", 0).expect("an address");
    let neighbour = device.buffer_from(&[5u32; 64]).expect("room");
    assert!(empty.is_empty() && empty.to_vec().unwrap().is_empty());
    empty.write(0, &[]).expect("nothing");
    assert!(empty.write(0, &[1]).is_err() && empty.read(0, &mut [0]).is_err());
    for engine in engines(&device) {
        for threads in [1, 32, 64] {
            let ran = kernel.launch().block([threads, 1, 1]).engine(engine).arg(&empty).arg(9u32).run();
            let Err(Error::Fault(fault)) = ran else { panic!("{engine:?}: {ran:?}") };
            let text = fault.to_string();
            assert!(text.contains("`empty`") && text.contains("0-byte"), "{engine:?}: {text}");
        }
    }
    assert_eq!(neighbour.to_vec().unwrap(), [5; 64]);
    let before = device.memory().info().allocations;
    drop(empty);
    assert_eq!(device.memory().info().allocations, before - 1);
}
