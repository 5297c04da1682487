//! Classes of the standard library, each imported when the first value needs it.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

macro_rules! classes {
    ($($function:ident: $module:literal, $name:literal;)*) => {$(
        pub fn $function(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
            static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
            CLASS.import(py, $module, $name)
        }
    )*};
}

classes! {
    decimal: "decimal", "Decimal";
    enumeration: "enum", "Enum";
    ipv4: "ipaddress", "IPv4Address";
    ipv6: "ipaddress", "IPv6Address";
    uuid: "uuid", "UUID";
    zone_info: "zoneinfo", "ZoneInfo";
}
