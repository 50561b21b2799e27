//! `dpsel._core`: the Rust core as a Python module.
//!
//! A call converts arguments, detaches from the interpreter, calls the core and converts the result. It computes
//! nothing.

mod accounting;
mod arguments;
mod batch_channel;
mod consumer;
mod count_series;
mod counts;
mod dates_and_times;
mod ending_threads;
mod error;
mod exchange;
mod export;
mod forecast;
mod foreign;
mod job;
mod job_thread;
mod kinds;
mod members;
mod named_row;
mod objects;
mod pair_columns;
mod pairs;
mod producer;
mod public;
mod report_text;
mod request;
mod run;
mod scalar;
mod scratch;
mod series;
mod settings;
mod source;
mod streams;
mod validate;
mod values;

/// Decoding allocates and frees buffers of about a megabyte all the time. The system's allocators give such memory back
/// to the kernel and fetch it anew, which costs up to a fifth of the time. Version 3 of the library crashes where the thread
/// that imported the module has ended (`docs/decisions/0005-allocator.md`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The compiled part of `dpsel`. Private: use the names that `dpsel` exports.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python gives it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    /// The commit that a release build was made from; `None` if it is not known.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python gives it")]
    const __commit__: Option<&str> = option_env!("DPSEL_COMMIT");
    /// The longest n-gram, in words or characters.
    #[pymodule_export]
    const LONGEST_NGRAM: u8 = dpsel_rows::ingest::LONGEST_NGRAM;
    #[pymodule_export]
    use super::accounting::{
        calibrate, check_report, composed_privacy, convert_zcdp, gaussian_part, read_report,
    };
    #[pymodule_export]
    use super::count_series::{count_series_check, count_series_plan, count_series_release};
    #[pymodule_export]
    use super::counts::top_k_counts;
    #[pymodule_export]
    use super::ending_threads::await_ending;
    #[pymodule_export]
    use super::error::{quoted, quoted_path};
    #[pymodule_export]
    use super::exchange::{
        ExchangeDraw, ExchangeJob, ExchangePacked, ExchangeSealedJob, ExchangeSelection, ExchangeShare,
        ExchangeSteering, ExchangeTask, ExchangeTopK, validate_exchange,
    };
    #[pymodule_export]
    use super::export::{Release, create_text, write_text};
    #[pymodule_export]
    use super::forecast::{curve_words, keep_probabilities, possible_limits, top_k_loss, users_needed};
    #[pymodule_export]
    use super::foreign::foreign_error;
    #[pymodule_export]
    use super::job::Job;
    #[pymodule_export]
    use super::members::{Members, RowMask};
    #[pymodule_export]
    use super::objects::{ObjectColumn, object_column};
    #[pymodule_export]
    use super::report_text::ReportText;
    #[pymodule_export]
    use super::run::{check_source, run};
    #[pymodule_export]
    use super::series::{
        SeriesRelease, seal, series_check, series_items, series_plan, series_release, series_user_digests,
        tag, unseal,
    };
    #[pymodule_export]
    use super::source::Source;
    #[pymodule_export]
    use super::validate::validate;
}
