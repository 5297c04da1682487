//! What the process may use: `max_server_memory_usage`, the cgroup's limit, RAM, and the address space of RLIMIT_AS.
//!
//! What counts is measured, not added up: the host's own memory is part of it. Pages that the allocator keeps for reuse are
//! free for this purpose.

use crate::allocator::{self, Statistics};
use crate::exceeded::{Exceeded, Level};
use std::fs;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The part of RAM, or of the cgroup's limit, that the process may use: `max_server_memory_usage_to_ram_ratio`.
pub const DEFAULT_RAM_RATIO: f64 = 0.9;

/// Address space that is left to the host under RLIMIT_AS (stacks, its own allocator, libraries), in bytes.
const ADDRESS_SPACE_LEFT: u64 = 96 << 20;

/// `max_server_memory_usage` in bytes, 0 for none.
static LIMIT: AtomicU64 = AtomicU64::new(0);
/// `max_server_memory_usage_to_ram_ratio` as the bits of a Float64.
static RATIO: AtomicU64 = AtomicU64::new(DEFAULT_RAM_RATIO.to_bits());
/// RAM, or the cgroup's limit where it is less, in bytes; 0 where neither is known. A cgroup's limit is read once.
static AVAILABLE: LazyLock<u64> = LazyLock::new(|| {
    let least = [physical_memory(), cgroup_limit()].into_iter().flatten().min();
    least.unwrap_or(0)
});

/// Sets `max_server_memory_usage` in bytes; 0 for what RAM allows.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Relaxed);
}

/// Sets `max_server_memory_usage_to_ram_ratio`; 0 for no limit by RAM.
pub fn set_ram_ratio(ratio: f64) {
    RATIO.store(ratio.to_bits(), Relaxed);
}

/// `max_server_memory_usage_to_ram_ratio`.
pub fn ram_ratio() -> f64 {
    f64::from_bits(RATIO.load(Relaxed))
}

/// The most resident memory that the process may use, in bytes; `None` without a limit.
pub fn limit() -> Option<u64> {
    let by_ram = Some((*AVAILABLE as f64 * ram_ratio()) as u64).filter(|&bytes| bytes > 0);
    let by_setting = Some(LIMIT.load(Relaxed)).filter(|&bytes| bytes > 0);
    by_ram.into_iter().chain(by_setting).min()
}

/// The most that a query may use which uses `own` bytes now, in bytes: what the limit of resident memory allows, and what RLIMIT_AS
/// leaves beside the host and other queries. `None` without a limit.
pub fn room_for(own: u64) -> Option<u64> {
    let space = address_space_limit().and_then(|limit| {
        let used = usage()?.address_space.saturating_sub(reusable_space(&allocator::statistics()));
        Some(limit.saturating_sub(ADDRESS_SPACE_LEFT).saturating_sub(used) + own)
    });
    limit().into_iter().chain(space).min()
}

/// Address space that the allocator keeps without use, in bytes.
fn reusable_space(statistics: &Statistics) -> u64 {
    (statistics.mapped.saturating_sub(statistics.active) + statistics.retained) as u64
}

/// Resident memory of the process in bytes, the host's included; 0 where the system does not tell.
pub fn resident() -> u64 {
    usage().map_or(0, |usage| usage.resident)
}

/// Are `chunk` more bytes over a limit of the process?
pub(crate) fn exceeded_by(chunk: u64) -> Option<Exceeded> {
    let usage = usage()?;
    let resident =
        limit().filter(|limit| usage.resident + chunk > *limit).map(|limit| (limit, usage.resident));
    let space = address_space_limit()
        .map(|limit| limit.saturating_sub(ADDRESS_SPACE_LEFT))
        .filter(|limit| usage.address_space + chunk > *limit)
        .map(|limit| (limit, usage.address_space));
    if resident.is_none() && space.is_none() {
        return None;
    }
    // Close to a limit it is worth asking how much of what the process has could be used again.
    let statistics = allocator::statistics();
    let reusable_pages = (statistics.resident.saturating_sub(statistics.active)) as u64;
    let reusable_space = reusable_space(&statistics);
    let over = |limit: Option<(u64, u64)>, reusable: u64| {
        let (limit, used) = limit?;
        let would_use = used.saturating_sub(reusable) + chunk;
        (would_use > limit).then_some((limit, would_use))
    };
    let (limit, would_use) = over(resident, reusable_pages).or_else(|| over(space, reusable_space))?;
    Some(Exceeded {
        level: Level::Process,
        would_use,
        chunk,
        limit,
        query: 0,
        resident: usage.resident,
        operator: "",
        function: "",
    })
}

/// Of this process, in bytes.
struct Usage {
    address_space: u64,
    resident: u64,
}

#[cfg(target_os = "linux")]
fn usage() -> Option<Usage> {
    use std::io::Read;
    let mut text = [0; 128];
    let n = fs::File::open("/proc/self/statm").ok()?.read(&mut text).ok()?;
    let mut pages =
        std::str::from_utf8(&text[..n]).ok()?.split(' ').map_while(|word| word.parse::<u64>().ok());
    // SAFETY: asks for a constant of the system.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(Usage { address_space: pages.next()? * page, resident: pages.next()? * page })
}

#[cfg(not(target_os = "linux"))]
fn usage() -> Option<Usage> {
    let Statistics { mapped, retained, resident, .. } = allocator::statistics();
    Some(Usage { address_space: (mapped + retained) as u64, resident: resident as u64 })
}

/// The most address space that the process may have (RLIMIT_AS), in bytes.
pub fn address_space_limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the address is of a limit, which the call fills.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    (status == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

fn physical_memory() -> Option<u64> {
    // SAFETY: both ask for a constant of the system.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).ok()?.checked_mul(u64::try_from(page).ok()?)
}

/// The least limit of the process's control group and those around it, of version 1 or 2.
fn cgroup_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().filter_map(|line| limit_of_group(line, "/sys/fs/cgroup")).min()
}

/// The limit of a line of `/proc/self/cgroup`: `0::/path` of version 2, `4:memory:/path` of version 1.
fn limit_of_group(line: &str, mounted: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':');
    let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let (root, file) = match controllers {
        "" => (mounted.to_owned(), "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            (format!("{mounted}/memory"), "memory.limit_in_bytes")
        }
        _ => return None,
    };
    // In a container the path may be the host's, and only its root can be seen.
    let mut path = path.trim_end_matches('/');
    let mut least: Option<u64> = None;
    loop {
        let limit = fs::read_to_string(format!("{root}{path}/{file}"));
        let limit = limit.ok().and_then(|text| text.trim().parse::<u64>().ok());
        // Version 1 says none by a number that no machine has.
        least = least.into_iter().chain(limit.filter(|&bytes| bytes < 1 << 60)).min();
        match path.rfind('/') {
            Some(end) => path = &path[..end],
            None => return least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory() {
        let usage = usage().unwrap();
        assert!(usage.resident > 1 << 16 && usage.address_space >= usage.resident);
        assert!(physical_memory().unwrap() > usage.resident);
        assert!(limit().unwrap() > usage.resident);
        assert!(room_for(0).unwrap() <= limit().unwrap());
        assert_eq!(exceeded_by(1 << 20), None);
        assert_eq!(exceeded_by(1 << 50).map(|e| e.level), Some(Level::Process));
    }

    #[test]
    fn groups_of_both_versions() {
        let folder = std::env::temp_dir().join(format!("chalet-cgroup-{}", std::process::id()));
        let root = folder.to_str().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("memory.max", "max\n");
        put("a/memory.max", "1000\n");
        put("a/b/memory.max", "5000\n");
        put("memory/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/c/memory.limit_in_bytes", "700\n");
        assert_eq!(limit_of_group("0::/a/b", root), Some(1000));
        assert_eq!(limit_of_group("0::/", root), None);
        assert_eq!(limit_of_group("4:cpu,memory:/c/of/the/host", root), Some(700));
        assert_eq!(limit_of_group("5:memory:/", root), None);
        assert_eq!(limit_of_group("6:cpu:/a", root), None);
        fs::remove_dir_all(folder).unwrap();
    }
}
