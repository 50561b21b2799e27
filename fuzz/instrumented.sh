#!/bin/sh
# Cargo calls this in place of rustc for the crates of the workspace (RUSTC_WORKSPACE_WRAPPER). They get the counters
# that libFuzzer follows, with flags of the stable compiler; dependencies are the ones of every other build.
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares
