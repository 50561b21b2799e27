//! `dpsel._core`: the Rust core as a Python module. Translation only; the mathematics is in `dpsel-core`.

mod accounting;
mod error;
mod exchange;
mod export;
mod foreign;
mod job;
mod kinds;
mod link;
mod moments;
mod objects;
mod pair_columns;
mod pairs;
mod plan;
mod producers;
mod selection;
mod top_k;
mod values;

/// Decoding allocates and frees buffers of about a megabyte all the time. The system's allocators give such memory back
/// to the kernel and fetch it anew, which costs up to a fifth of the time (`docs/decisions/0005-allocator.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The compiled part of `dpsel`. Private: use the names that `dpsel` exports.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::accounting::{
        calibrate, check_report, composed_privacy, convert_zcdp, gaussian_part, read_report, validate_bound,
        validate_greedy_frequency, validate_policy, validate_privacy, validate_sips, validate_steered,
    };
    #[pymodule_export]
    use super::exchange::{
        ExchangeDraw, ExchangeJob, ExchangePacked, ExchangeSealedJob, ExchangeSelection, ExchangeShare,
        ExchangeTask, ExchangeTopK, validate_exchange,
    };
    #[pymodule_export]
    use super::export::{Release, write_text};
    #[pymodule_export]
    use super::job::Job;
    #[pymodule_export]
    use super::objects::{ObjectColumn, object_column};
    #[pymodule_export]
    use super::plan::{curve_words, keep_probabilities, users_needed};
    #[pymodule_export]
    use super::selection::{
        check_files, check_names, count_batches, count_files, count_pairs, count_stream, select_batches,
        select_files, select_pairs, select_stream,
    };
    #[pymodule_export]
    use super::top_k::{
        calibrate_top_k, joint_by_matrix, top_k_batches, top_k_counts, top_k_files, top_k_loss, top_k_pairs,
        top_k_stream,
    };
}
