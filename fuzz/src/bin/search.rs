//! The search of libFuzzer through one target, which `DPSEL_FUZZ_TARGET` names; `nox -s fuzz` calls it.

#![no_main]
#![allow(clippy::expect_used, reason = "nobody but the session starts it")]

use std::sync::LazyLock;

use dpsel_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("DPSEL_FUZZ_TARGET").expect("DPSEL_FUZZ_TARGET names a target");
    *TARGETS.iter().find(|target| target.name == name).expect("DPSEL_FUZZ_TARGET is the name of a target")
});

fuzz_target!(
    init: {
        // The library replaces the hook by one that is silent for panics it catches; before its first call libFuzzer's,
        // which aborts, would see those too.
        let _ = dpsel_rows::runtime::panics::caught(|| ());
    },
    |bytes: &[u8]| (TARGET.run)(bytes)
);
