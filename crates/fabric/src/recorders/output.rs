//! Files that get their name when they are whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use fctlab_table::{BATCH, TableFile};

use crate::outcome::RunError;

/// A file that is called `NAME.part` until it is finished, and removed if it
/// never is.
pub(super) struct Output {
    file: BufWriter<File>,
    path: PathBuf,
    part: PathBuf,
    name: &'static str,
}

impl Output {
    /// Creates `name` in `dir`.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(super) fn create(dir: &Path, name: &'static str) -> Result<Self, RunError> {
        let (path, part) = (dir.join(name), dir.join(format!("{name}.part")));
        match File::create(&part) {
            Ok(file) => Ok(Output {
                file: BufWriter::new(file),
                path,
                part,
                name,
            }),
            Err(source) => Err(RunError::Io { path: part, source }),
        }
    }

    /// What went wrong, with the name of the file.
    pub(super) fn error(&self, source: io::Error) -> RunError {
        RunError::Io {
            path: self.path.clone(),
            source,
        }
    }

    /// Gives the file its name, which is returned.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub(super) fn finish(mut self) -> Result<String, RunError> {
        let whole = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all());
        let named = whole.and_then(|()| fs::rename(&self.part, &self.path));
        named.map_err(|e| self.error(e))?;
        Ok(self.name.to_owned())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // Gone already if the file was finished; otherwise nobody shall read it.
        let _ = fs::remove_file(&self.part);
    }
}

/// A Parquet file that is written batch by batch.
pub(super) struct Table {
    table: TableFile,
    schema: SchemaRef,
    output: Output,
}

impl Table {
    /// Creates `name` in `dir` with these columns: name, type, may be null.
    ///
    /// # Errors
    /// When it cannot be created.
    pub(super) fn create(
        dir: &Path,
        name: &'static str,
        columns: &[(&str, DataType, bool)],
    ) -> Result<Self, RunError> {
        let output = Output::create(dir, name)?;
        let fields = columns
            .iter()
            .map(|(name, kind, null)| Field::new(*name, kind.clone(), *null));
        let schema = SchemaRef::new(Schema::new(fields.collect::<Vec<_>>()));
        let file = output.file.get_ref().try_clone();
        match file.and_then(|file| TableFile::new(file, schema.clone())) {
            Ok(table) => Ok(Table {
                table,
                schema,
                output,
            }),
            Err(e) => Err(output.error(e)),
        }
    }

    /// Whether so many rows are enough for a batch.
    pub(super) fn is_batch(rows: usize) -> bool {
        rows >= BATCH
    }

    /// Writes a batch, given by its columns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&mut self, columns: Vec<ArrayRef>) -> Result<(), RunError> {
        let batch = RecordBatch::try_new(self.schema.clone(), columns).map_err(io::Error::other);
        let written = batch.and_then(|batch| self.table.write(&batch));
        written.map_err(|e| self.output.error(e))
    }

    /// Completes the file and returns its name.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub(super) fn finish(self) -> Result<String, RunError> {
        match self.table.finish() {
            Ok(_) => self.output.finish(),
            Err(e) => Err(self.output.error(e)),
        }
    }
}
