//! Initialisation, versions, devices.

use crate::attributes;
use crate::errors::{self, Code};
use crate::state::{State, init, state};
use crate::types::*;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// The CUDA version that is spoken.
pub const VERSION: i32 = 13000;

fn device(ordinal: CUdevice) -> Result<&'static State, Code> {
    let state = state()?;
    if ordinal == 0 { Ok(state) } else { Err(errors::INVALID_DEVICE) }
}

const UUID: [u8; 16] = *b"Hostwarp device0";

api! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(errors::INVALID_VALUE);
        }
        init().map(drop)
    }

    fn cuDriverGetVersion(version: *mut c_int) {
        // SAFETY: the caller's promise, here and below.
        unsafe { out(version, VERSION) }
    }

    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) {
        state()?;
        if ordinal != 0 {
            return Err(errors::INVALID_DEVICE);
        }
        // SAFETY: as above.
        unsafe { out(device, 0) }
    }

    fn cuDeviceGetCount(count: *mut c_int) {
        state()?;
        // SAFETY: as above.
        unsafe { out(count, 1) }
    }

    fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice) {
        device(dev)?;
        if name.is_null() || len <= 0 {
            return Err(errors::INVALID_VALUE);
        }
        for (i, byte) in b"Hostwarp\0".iter().take(len as usize).enumerate() {
            // SAFETY: `len` bytes may be written.
            unsafe { name.add(i).write(*byte as c_char) };
        }
        Ok(())
    }

    fn cuDeviceGetUuid(uuid: *mut [u8; 16], dev: CUdevice) {
        device(dev)?;
        // SAFETY: as above.
        unsafe { out(uuid, UUID) }
    }

    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], dev: CUdevice) {
        device(dev)?;
        // SAFETY: as above.
        unsafe { out(uuid, UUID) }
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice) {
        // SAFETY: as above.
        unsafe { out(bytes, device(dev)?.capacity as usize) }
    }

    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, dev: CUdevice) {
        let found = attributes::device(device(dev)?, attribute).ok_or(errors::INVALID_VALUE)?;
        // SAFETY: as above.
        unsafe { out(value, found) }
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, dev: CUdevice) {
        let sm = device(dev)?.sm;
        // SAFETY: as above.
        unsafe {
            out(major, sm.0)?;
            out(minor, sm.1)
        }
    }

    fn cuDeviceGetProperties(properties: *mut [c_int; 14], dev: CUdevice) {
        let state = device(dev)?;
        let get = |n| attributes::device(state, n).unwrap_or(0);
        let all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map(get);
        // SAFETY: as above.
        unsafe { out(properties, all) }
    }

    fn cuDeviceGetPCIBusId(text: *mut c_char, len: c_int, dev: CUdevice) {
        device(dev)?;
        let id = b"0000:00:00.0\0";
        if text.is_null() || (len as usize) < id.len() {
            return Err(errors::INVALID_VALUE);
        }
        // SAFETY: `len` bytes may be written.
        unsafe { std::ptr::copy_nonoverlapping(id.as_ptr(), text.cast(), id.len()) };
        Ok(())
    }

    fn cuDeviceGetByPCIBusId(dev: *mut CUdevice, id: *const c_char) {
        state()?;
        // SAFETY: as above.
        unsafe {
            match text(id) {
                Some("0000:00:00.0" | "0:0:0.0" | "00:00.0" | "0000:00:00") => out(dev, 0),
                _ => Err(errors::INVALID_DEVICE),
            }
        }
    }

    fn cuDeviceCanAccessPeer(can: *mut c_int, dev: CUdevice, peer: CUdevice) {
        device(dev)?;
        device(peer)?;
        // SAFETY: as above.
        unsafe { out(can, 0) }
    }

    fn cuDeviceGetP2PAttribute(value: *mut c_int, _attribute: c_int, dev: CUdevice, peer: CUdevice) {
        device(dev)?;
        device(peer)?;
        // SAFETY: as above.
        unsafe { out(value, 0) }
    }

    fn cuCtxEnablePeerAccess(_peer: Handle, _flags: c_uint) {
        Err(errors::PEER_ACCESS_UNSUPPORTED)
    }

    fn cuCtxDisablePeerAccess(_peer: Handle) {
        Err(errors::PEER_ACCESS_UNSUPPORTED)
    }

    fn cuGetExportTable(table: *mut *const c_void, _id: *const [u8; 16]) {
        use std::sync::Once;
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // Whoever asks is a part of NVIDIA's own software; nvrtc and nvJitLink go on without.
            if std::env::var_os("HOSTWARP_LOG").is_some() {
                crate::log::explain("NVIDIA's software asks for private tables of its driver; there are none");
            }
        });
        // SAFETY: as above.
        unsafe { put(table, std::ptr::null()) };
        Err(errors::NOT_FOUND)
    }

    fn cuProfilerStart() {
        Ok(())
    }

    fn cuProfilerStop() {
        Ok(())
    }
}
