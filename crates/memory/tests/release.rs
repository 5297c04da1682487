//! What a whole process keeps: a test in a process of its own, since others would allocate meanwhile.

use chalet_memory::allocator::{release, statistics};

#[test]
#[cfg(target_os = "linux")]
fn freed_pages_go_back() {
    let before = statistics();
    let kept = std::hint::black_box(vec![1u8; 64 << 20]);
    let now = statistics();
    assert!(now.active >= before.active + (64 << 20), "{before:?} {now:?}");
    assert!(now.mapped >= now.active && now.resident >= now.active, "{now:?}");
    drop(kept);
    drop(std::hint::black_box((0..32).map(|_| vec![1u8; 1 << 20]).collect::<Vec<_>>()));
    let freed = statistics();
    assert!(freed.resident > freed.active, "nothing is kept for reuse: {freed:?}");
    release();
    let after = statistics();
    assert!(after.resident + (32 << 20) < now.resident, "{now:?} {after:?}");
}
