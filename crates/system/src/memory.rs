//! How much memory the host has left.

/// Bytes that processes can still take, of the host and of the control group this one is in; nothing where that cannot be told.
#[cfg(target_os = "linux")]
pub fn available() -> Option<u64> {
    let of_host = meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?)?;
    Some([of_group(), of_process()].into_iter().flatten().fold(of_host, u64::min))
}

/// What the limits on this process (`ulimit -v`, `ulimit -d`) leave it.
#[cfg(target_os = "linux")]
fn of_process() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let used = |key: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
    };
    let left = |resource, key: &str| Some(getrlimit(resource).current?.saturating_sub(used(key)?));
    [left(Resource::As, "VmSize:"), left(Resource::Data, "VmData:")].into_iter().flatten().min()
}

/// Bytes that processes can still take; nothing where that cannot be told.
#[cfg(not(target_os = "linux"))]
pub fn available() -> Option<u64> {
    None
}

#[cfg(target_os = "linux")]
fn meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Of the control groups this process is in: the least that one of them has left. What is kept of files does not count, it can be had back.
#[cfg(target_os = "linux")]
fn of_group() -> Option<u64> {
    let read = |path: String| std::fs::read_to_string(path).ok();
    let number = |path: String| read(path)?.trim().parse::<u64>().ok();
    let used = |path: String, key: &str| -> Option<u64> {
        read(path)?.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
    };
    let own = read("/proc/self/cgroup".into());
    let own = own.iter().flat_map(|text| text.lines()).find_map(|line| line.strip_prefix("0::"));
    let mut group = own.unwrap_or("/").trim_end_matches('/');
    let mut least: Option<u64> = None;
    loop {
        let folder = format!("/sys/fs/cgroup{group}");
        if let Some(limit) = number(format!("{folder}/memory.max")) {
            let left = limit.saturating_sub(used(format!("{folder}/memory.stat"), "anon ").unwrap_or(0));
            least = Some(least.map_or(left, |least| least.min(left)));
        }
        match group.rfind('/') {
            Some(at) => group = &group[..at],
            None => break,
        }
    }
    // Version 1.
    let old = || {
        let limit = number("/sys/fs/cgroup/memory/memory.limit_in_bytes".into())?;
        Some(limit.saturating_sub(used("/sys/fs/cgroup/memory/memory.stat".into(), "rss ").unwrap_or(0)))
    };
    least.or_else(old)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn what_the_kernel_says() {
        assert_eq!(super::meminfo("MemTotal: 9 kB\nMemAvailable:   1024 kB\nx"), Some(1 << 20));
        assert_eq!(super::meminfo("MemTotal: 9 kB"), None);
        assert!(super::available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
