//! Tables: for Python an Arrow stream that nobody copies, or a file.

use std::fs::File;
use std::path::PathBuf;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::SchemaRef;
use fctlab_table::TableFile;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::os_error;

/// A table in the engine's memory.
#[pyclass(frozen, module = "fctlab._native")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Table { schema, batches }
    }
}

#[pymethods]
impl Table {
    /// The table as an Arrow C stream, sharing the engine's memory.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // a wish that the protocol lets producers ignore
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let reader: Box<dyn RecordBatchReader + Send> = Box::new(reader);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }

    /// Writes it into a Parquet file; of a run's flows the same bytes as `run` streams.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let write = || {
            let mut table = TableFile::new(File::create(&path)?, self.schema.clone())?;
            for batch in &self.batches {
                table.write(batch)?;
            }
            table.finish()
        };
        py.detach(write)
            .map(|_| ())
            .map_err(|e| os_error(&path, &e))
    }
}
