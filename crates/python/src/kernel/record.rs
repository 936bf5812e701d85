//! NumPy's structured dtypes as records.

use std::sync::{Arc, Mutex};

use cuprous_core::DType;
use cuprous_kernel::Ty;
use cuprous_kernel::types::{Field, RecordTy, TEXT};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// Records in arguments of launches so far. A record's index stands for it in keys.
static KNOWN: Mutex<Vec<Arc<RecordTy>>> = Mutex::new(Vec::new());
/// The same, by NumPy dtype.
static BY_DTYPE: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// Returns the number of a record.
pub(super) fn number(record: &Arc<RecordTy>) -> u32 {
    let mut known = KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    let at = known.iter().position(|r| r == record).unwrap_or_else(|| {
        known.push(record.clone());
        known.len() - 1
    });
    at as u32
}

/// Returns the element type of a structured dtype; `None` for other dtypes.
pub(super) fn element(dtype: &Bound<'_, PyAny>) -> PyResult<Option<Ty>> {
    if dtype.getattr("names")?.is_none() {
        return text(dtype);
    }
    let py = dtype.py();
    let cache = BY_DTYPE.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    if let Some(number) = cache.get_item(dtype)? {
        let known = KNOWN.lock().unwrap_or_else(|e| e.into_inner());
        return Ok(known.get(number.extract::<usize>()?).map(|record| Ty::Record(record.clone())));
    }
    let record = Arc::new(parse(dtype)?);
    cache.set_item(dtype, number(&record))?;
    Ok(Some(Ty::Record(record)))
}

/// Returns the type of text of a fixed length: a record of its characters, under a field name that no user's field can
/// have.
fn text(dtype: &Bound<'_, PyAny>) -> PyResult<Option<Ty>> {
    // Dtypes of other libraries may lack a kind.
    let kind = dtype.getattr("kind").and_then(|kind| kind.extract::<String>()).unwrap_or_default();
    let d = match kind.as_str() {
        "U" => DType::U32,
        "S" => DType::U8,
        _ => return Ok(None),
    };
    let size: usize = dtype.getattr("itemsize")?.extract()?;
    let (name, shape) = (TEXT.to_owned(), vec![(size / d.size()) as i64]);
    let fields = vec![Field { name, offset: 0, elem: Ty::Scalar(d), shape }];
    Ok(Some(Ty::Record(Arc::new(RecordTy { size, fields }))))
}

fn parse(dtype: &Bound<'_, PyAny>) -> PyResult<RecordTy> {
    let names: Vec<String> = dtype.getattr("names")?.extract()?;
    let fields_by_name = dtype.getattr("fields")?;
    let mut fields = Vec::new();
    for name in names {
        let entry = fields_by_name.get_item(&name)?;
        let (of, offset) = (entry.get_item(0)?, entry.get_item(1)?.extract::<usize>()?);
        let (base, shape) = match of.getattr("subdtype")? {
            pair if pair.is_none() => (of, Vec::new()),
            pair => (pair.get_item(0)?, pair.get_item(1)?.extract::<Vec<i64>>()?),
        };
        // Padding bytes are kept in the record but have no field.
        if base.getattr("kind")?.extract::<String>().is_ok_and(|kind| kind == "V") && base.getattr("names")?.is_none() {
            continue;
        }
        let elem = match element(&base)? {
            Some(record) => record,
            None => match DType::from_name(&base.getattr("name")?.extract::<String>()?) {
                Some(d) => Ty::Scalar(d),
                None => {
                    return Err(PyTypeError::new_err(format!(
                        "[cuda.jit] the field {name:?} has the dtype {base}; fields must be numbers, records or arrays of them"
                    )));
                }
            },
        };
        fields.push(Field { name, offset, elem, shape });
    }
    Ok(RecordTy { size: dtype.getattr("itemsize")?.extract()?, fields })
}
