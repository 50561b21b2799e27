//! Arguments of Python as serde reads them. JSON would not do: it has no number that is not finite.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use serde::de::value::{Error, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::internal;

/// One argument as a value of the core. The classes of `dpsel` have checked its types and names.
pub(crate) fn from_python<T: DeserializeOwned>(argument: &Bound<'_, PyAny>) -> PyResult<T> {
    T::deserialize(Argument(argument.clone())).map_err(|_| internal("an argument of an unknown form"))
}

/// A dict, a text, a number, a flag or `None`.
struct Argument<'py>(Bound<'py, PyAny>);

impl IntoDeserializer<'_, Error> for Argument<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Argument<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let value = self.0;
        if value.is_none() {
            return visitor.visit_unit();
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            let fields = dict.iter().map(|(name, value)| (Argument(name), Argument(value)));
            return visitor.visit_map(MapDeserializer::new(fields));
        }
        // A bool is an int to Python, so it is asked for first.
        if value.is_instance_of::<PyBool>() {
            return visitor.visit_bool(value.extract().map_err(unreadable)?);
        }
        if value.is_instance_of::<PyInt>() {
            return visitor.visit_i64(value.extract().map_err(unreadable)?);
        }
        if value.is_instance_of::<PyFloat>() {
            return visitor.visit_f64(value.extract().map_err(unreadable)?);
        }
        if value.is_instance_of::<PyString>() {
            return visitor.visit_string(value.extract().map_err(unreadable)?);
        }
        Err(Error::custom("a type that parameters do not have"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The exception of a conversion is dropped, because it may quote a value.
fn unreadable(_: PyErr) -> Error {
    Error::custom("a value out of range")
}
