//! The pieces of a release that an engine such as Spark runs: the driver's objects and the tasks.

mod batches;
mod job;
mod packed;
mod sealing;
mod selection;
mod steering;
mod task;
mod top_k;

pub(crate) use job::ExchangeJob;
pub(crate) use packed::ExchangePacked;
pub(crate) use sealing::{ExchangeSealedJob, ExchangeShare};
pub(crate) use selection::{ExchangeSelection, validate_exchange};
pub(crate) use steering::ExchangeSteering;
pub(crate) use task::ExchangeTask;
pub(crate) use top_k::{ExchangeDraw, ExchangeTopK};
