//! Interval arithmetic on `f64` with outward rounding.
