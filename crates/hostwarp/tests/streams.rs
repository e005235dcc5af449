//! Streams and events: order, errors, and what is dropped.

use hostwarp::{Device, Error, ErrorKind, Event, Kernel};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};

const PTX: &str = ".version 8.8 .target sm_90 .address_size 64
.visible .entry add(.param .u64 data, .param .u32 by) {
    .reg .b32 %r<5>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [by];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r3, [%rd3];
    mad.lo.u32 %r4, %r3, 3, %r1;
    st.global.u32 [%rd3], %r4;
    ret;
}";

fn add(device: &Device) -> Kernel {
    device.load("add.ptx", PTX).expect("loads").kernel("add").expect("is there")
}

#[test]
fn a_stream_keeps_its_order() -> Result<(), Error> {
    let device = Device::builder().threads(2).build()?;
    let (kernel, data, stream) = (add(&device), device.buffer::<u32>(64)?, device.stream());
    stream.write(&data, 0, vec![1; 64])?;
    let mut expected = 1u32;
    for by in 0..200u32 {
        kernel.launch().block([64, 1, 1]).arg(&data).arg(by).run_on(&stream)?;
        expected = expected.wrapping_mul(3).wrapping_add(by);
    }
    assert_eq!(stream.read(&data).wait()?, [expected; 64]);
    stream.synchronize()?;
    assert!(stream.is_idle());
    Ok(())
}

#[test]
fn work_runs_beside_the_host_and_memory_lives_as_long_as_it_is_needed() -> Result<(), Error> {
    let device = Device::builder().threads(2).build()?;
    let (kernel, stream) = (add(&device), device.stream());
    let (open, gate) = mpsc::channel::<()>();
    stream.enqueue(move || gate.recv().map_err(|e| Error::Bug(e.to_string())));
    let data = device.buffer_from(&[5u32; 32])?;
    kernel.launch().block([32, 1, 1]).arg(&data).arg(1u32).run_on(&stream)?;
    let copy = stream.read(&data);
    drop(data);
    assert!(!stream.is_idle());
    assert_eq!(device.memory().info().allocations, 1);
    open.send(()).expect("somebody listens");
    assert_eq!(copy.wait()?, [16; 32]);
    stream.synchronize()?;
    assert_eq!(device.memory().info().allocations, 0);
    Ok(())
}

#[test]
fn events_order_streams() -> Result<(), Error> {
    let device = Device::builder().threads(2).build()?;
    for round in 0..50 {
        let seen = Arc::new(Mutex::new(vec![]));
        let streams: Vec<_> = (0..40).map(|_| device.stream()).collect();
        let events: Vec<_> = streams.iter().map(|_| Event::new()).collect();
        let (open, gate) = mpsc::channel::<()>();
        streams[0].enqueue(move || gate.recv().map_err(|e| Error::Bug(e.to_string())));
        // A chain through more streams than there are threads: whoever waits must not hold one.
        for (i, stream) in streams.iter().enumerate() {
            if i > 0 {
                stream.wait(&events[i - 1]);
            }
            let seen = seen.clone();
            stream.enqueue(move || {
                seen.lock().expect("no panics").push(i);
                Ok(())
            });
            stream.record(&events[i]);
        }
        assert!(!events[39].is_done() && events[39].elapsed_since(&events[0]).is_none());
        open.send(()).expect("somebody listens");
        if round % 2 == 0 {
            events[39].synchronize()?;
        } else {
            streams[39].synchronize()?;
        }
        assert_eq!(*seen.lock().expect("no panics"), (0..40).collect::<Vec<_>>());
        assert!(events[39].elapsed_since(&events[0]).is_some());
    }
    Ok(())
}

#[test]
fn an_event_that_was_never_recorded_is_waited_for_by_nobody() -> Result<(), Error> {
    let (device, event) = (Device::new()?, Event::new());
    let stream = device.stream();
    stream.wait(&event);
    event.synchronize()?;
    assert!(event.is_done() && !event.is_recorded());
    stream.record(&event);
    assert!(event.is_done() && event.is_recorded(), "nothing was queued before it");
    stream.synchronize()
}

#[test]
fn an_event_can_be_made_to_happen_by_the_host() -> Result<(), Error> {
    let device = Device::builder().threads(2).build()?;
    let event = Event::to_signal();
    assert!(event.is_recorded() && !event.is_done());
    // More streams than threads: none of them holds one.
    let done = Arc::new(AtomicU32::new(0));
    let streams: Vec<_> = (0..16).map(|_| device.stream()).collect();
    for stream in &streams {
        let done = done.clone();
        stream.wait(&event);
        stream.enqueue(move || {
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
    }
    let other = device.stream();
    other.enqueue(|| Ok(()));
    other.synchronize()?;
    assert!(streams.iter().all(|s| !s.is_idle()) && done.load(Ordering::Relaxed) == 0);
    event.signal();
    for stream in &streams {
        stream.synchronize()?;
    }
    assert_eq!((done.load(Ordering::Relaxed), event.is_done()), (16, true));
    event.synchronize()
}

#[test]
fn the_first_error_ends_a_stream_and_those_that_wait_for_it() -> Result<(), Error> {
    let device = Device::builder().threads(2).build()?;
    let (kernel, ran) = (add(&device), Arc::new(AtomicU32::new(0)));
    let (one, two, event) = (device.stream(), device.stream(), Event::new());
    let count = |ran: &Arc<AtomicU32>| {
        let ran = ran.clone();
        move || {
            ran.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    };
    let block = [32, 1, 1];
    kernel.launch().block(block).packed([16u64.to_le_bytes(), [0; 8]].concat()).run_on(&one)?;
    one.enqueue(count(&ran));
    one.record(&event);
    two.enqueue(count(&ran));
    two.wait(&event);
    two.enqueue(count(&ran));
    for _ in 0..2 {
        let errors = [one.synchronize(), two.synchronize(), event.synchronize()];
        for error in errors {
            let error = error.expect_err("a fault");
            assert_eq!(error.kind(), ErrorKind::Fault);
            assert!(error.to_string().contains("null pointer"), "{error}");
        }
    }
    assert_eq!(ran.load(Ordering::Relaxed), 1, "only what does not depend on it");
    // Other streams go on, and so does the device.
    let three = device.stream();
    let data = device.buffer_from(&[1u32; 32])?;
    kernel.launch().block(block).arg(&data).arg(0u32).run_on(&three)?;
    assert_eq!(three.read(&data).wait()?, [3; 32]);
    Ok(())
}

#[test]
fn a_wrong_launch_is_told_at_once() -> Result<(), Error> {
    let device = Device::new()?;
    let (kernel, stream) = (add(&device), device.stream());
    let short = kernel.launch().packed(vec![0; 11]).run_on(&stream).expect_err("too few bytes");
    assert!(short.to_string().contains("11 bytes of parameters are given, the kernel takes 12"), "{short}");
    let large = kernel.launch().block([2048, 1, 1]).packed(vec![0; 12]).run_on(&stream);
    assert_eq!(large.expect_err("too many threads").kind(), ErrorKind::Launch);
    stream.synchronize()
}

#[test]
fn a_task_that_panics_is_an_error_of_its_stream() -> Result<(), Error> {
    let stream = Device::new()?.stream();
    stream.enqueue(|| panic!("on purpose"));
    let error = stream.synchronize().expect_err("a panic");
    assert!(error.kind() == ErrorKind::Bug && error.to_string().contains("on purpose"));
    Ok(())
}

#[test]
fn streams_and_devices_may_be_dropped_with_work_under_way() -> Result<(), Error> {
    let (done, all) = mpsc::channel();
    for i in 0..50u32 {
        let device = Device::builder().memory(1 << 20).threads(1).build()?;
        let (kernel, stream, done) = (add(&device), device.stream(), done.clone());
        let data = device.buffer_from(&[i; 8])?;
        kernel.launch().block([8, 1, 1]).arg(&data).arg(i).run_on(&stream)?;
        stream.enqueue(move || done.send(data.to_vec()?[7]).map_err(|e| Error::Bug(e.to_string())));
    }
    drop(done);
    let mut sums: Vec<u32> = all.iter().collect();
    sums.sort_unstable();
    assert_eq!(sums, (0..50).map(|i| 4 * i).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn many_threads_share_streams() -> Result<(), Error> {
    let device = Device::builder().threads(2).build()?;
    let (kernel, data, stream) = (add(&device), device.buffer::<u32>(1)?, device.stream());
    let sum = Arc::new(AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let sum = sum.clone();
                    stream.enqueue(move || {
                        // In order, so never two at once.
                        let old = sum.load(Ordering::Relaxed);
                        sum.store(old + 1, Ordering::Relaxed);
                        Ok(())
                    });
                    kernel.launch().arg(&data).arg(1u32).run_on(&stream).expect("queued");
                    stream.synchronize().expect("works");
                }
            });
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), 1600);
    let expected = (0..1600).fold(0u32, |x, _| x.wrapping_mul(3).wrapping_add(1));
    assert_eq!(data.to_vec()?, [expected]);
    Ok(())
}
