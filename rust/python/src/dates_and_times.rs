//! Dates and times of Python, pandas and `NumPy`, read exactly.
//!
//! What comes back from a release are Python's own dates and datetimes, of microseconds in the years 1 to 9999. So
//! other values are refused before anything is spent.

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Utc};
use pyo3::prelude::*;

use crate::scalar::{Kind, Refusal, Scalar};

/// Days from 0001-01-01, which is day 1 of chrono's count, to 1970-01-01.
const EPOCH_DAY: i32 = 719_163;
/// The first and the last day of Python's dates.
const DAYS: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;
const DAY_MICROSECONDS: i64 = 86_400_000_000;
/// What `NumPy` counts as no time.
const NOT_A_TIME: i64 = i64::MIN;

/// A date.
pub(crate) fn date<'a>(value: &Bound<'_, PyAny>) -> Result<Scalar<'a>, Refusal> {
    let date: NaiveDate = value.extract().map_err(|_| Refusal::Range(Kind::Date))?;
    Ok(Scalar::Date(date.num_days_from_ce() - EPOCH_DAY))
}

/// A datetime of microseconds.
pub(crate) fn datetime<'a>(value: &Bound<'_, PyAny>) -> Result<Scalar<'a>, Refusal> {
    const FAILED: Refusal = Refusal::Range(Kind::Instant);
    if !has_zone(value)? {
        let naive = value.extract::<NaiveDateTime>().map_err(|_| Refusal::Range(Kind::Datetime))?;
        return Ok(Scalar::Datetime(naive.and_utc().timestamp_micros()));
    }
    let utc = value.py().import("datetime").and_then(|module| module.getattr("timezone"));
    let utc = utc.and_then(|zone| zone.getattr("utc")).map_err(|_| FAILED)?;
    let moved = value.call_method1("astimezone", (utc,)).map_err(|_| FAILED)?;
    let instant: DateTime<Utc> = moved.extract().map_err(|_| FAILED)?;
    Ok(Scalar::Instant(instant.timestamp_micros()))
}

/// A `pandas.Timestamp`. Its parts as a datetime leave nanoseconds out, and are wrong beyond the year 9999; the number
/// that it holds is exact.
pub(crate) fn stamp<'a>(value: &Bound<'_, PyAny>) -> Result<Scalar<'a>, Refusal> {
    let counted = value.call_method0("to_datetime64").map_err(|_| Refusal::Type)?;
    match (count(&counted)?, has_zone(value)?) {
        (Scalar::Datetime(microseconds), true) => Ok(Scalar::Instant(microseconds)),
        (Scalar::Datetime(microseconds), false) => Ok(Scalar::Datetime(microseconds)),
        _ => Err(Refusal::Unit),
    }
}

/// Whether a datetime has a time zone that says how far it is from UTC. Without its offset Python would take it for the
/// local time of this machine.
fn has_zone(value: &Bound<'_, PyAny>) -> Result<bool, Refusal> {
    if value.getattr("tzinfo").map_err(|_| Refusal::Zone)?.is_none() {
        return Ok(false);
    }
    let offset = value.call_method0("utcoffset").map_err(|_| Refusal::Zone)?;
    if offset.is_none() { Err(Refusal::Zone) } else { Ok(true) }
}

/// A `numpy.datetime64`: days are a date, hours and less a datetime. Months and years are no days.
pub(crate) fn count<'a>(value: &Bound<'_, PyAny>) -> Result<Scalar<'a>, Refusal> {
    let (number, unit) = parts(value).map_err(|_| Refusal::Unit)?;
    let (multiple, unit) = unit.split_at(unit.find(|c: char| !c.is_ascii_digit()).ok_or(Refusal::Unit)?);
    let multiple: i64 = if multiple.is_empty() { 1 } else { multiple.parse().map_err(|_| Refusal::Unit)? };
    let number = i128::from(number) * i128::from(multiple);
    if unit == "D" {
        let day = i32::try_from(number).ok().filter(|day| DAYS.contains(day));
        return day.map(Scalar::Date).ok_or(Refusal::Range(Kind::Date));
    }
    // Microseconds as a fraction of the unit, or the unit in microseconds.
    let (times, parts) = match unit {
        "h" => (3_600_000_000, 1),
        "m" => (60_000_000, 1),
        "s" => (1_000_000, 1),
        "ms" => (1_000, 1),
        "us" => (1, 1),
        "ns" => (1, 1_000),
        "ps" => (1, 1_000_000),
        "fs" => (1, 1_000_000_000),
        "as" => (1, 1_000_000_000_000),
        _ => return Err(Refusal::Unit),
    };
    if number % parts != 0 {
        return Err(Refusal::Precision);
    }
    in_range(number * times / parts).map(Scalar::Datetime).ok_or(Refusal::Range(Kind::Datetime))
}

/// Microseconds, if they are in Python's years.
fn in_range(microseconds: i128) -> Option<i64> {
    let microseconds = i64::try_from(microseconds).ok()?;
    let day = i32::try_from(microseconds.div_euclid(DAY_MICROSECONDS)).ok()?;
    DAYS.contains(&day).then_some(microseconds)
}

/// Whether a `numpy.datetime64` is no time.
pub(crate) fn is_missing(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(parts(value)?.0 == NOT_A_TIME)
}

/// The number that a `numpy.datetime64` holds, and its unit.
fn parts(value: &Bound<'_, PyAny>) -> PyResult<(i64, String)> {
    let number = value.call_method1("astype", ("int64",))?.extract()?;
    let name: String = value.getattr("dtype")?.getattr("name")?.extract()?;
    let unit = name.split_once('[').map_or("", |(_, unit)| unit.trim_end_matches(']'));
    Ok((number, unit.to_owned()))
}
