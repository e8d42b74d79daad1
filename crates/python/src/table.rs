//! Tables that Python reads as an Arrow stream, without a copy.

use arrow::array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow::datatypes::SchemaRef;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The capsule that `__arrow_c_stream__` returns, sharing the engine's memory.
pub fn stream<'py>(
    py: Python<'py>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    let reader: Box<dyn RecordBatchReader + Send> = Box::new(reader);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

/// A table of one batch.
#[pyclass(frozen, module = "fctlab._native")]
pub struct Table(pub RecordBatch);

#[pymethods]
impl Table {
    /// The table as an Arrow C stream.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // a wish that the protocol lets producers ignore
        stream(py, self.0.schema(), vec![self.0.clone()])
    }
}
