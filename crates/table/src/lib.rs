//! Tables as Parquet files, written batch by batch.
//!
//! A crate of its own so that the Parquet library, which is generic in the
//! file it writes to, is compiled once and not with the engine.

use std::fs::File;
use std::io;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// Rows after which a batch is worth writing, and the size of a row group.
pub const BATCH: usize = 1 << 16;

/// A Parquet file (snappy) that grows by batches.
pub struct TableFile(ArrowWriter<File>);

impl TableFile {
    /// Starts a table with these columns in an empty file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn new(file: File, schema: SchemaRef) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(BATCH))
            .set_created_by("fctlab".into())
            .build();
        let writer = ArrowWriter::try_new(file, schema, Some(properties));
        Ok(TableFile(writer.map_err(io::Error::other)?))
    }

    /// Appends a batch as a row group.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.0.write(batch).map_err(io::Error::other)?;
        self.0.flush().map_err(io::Error::other)
    }

    /// Completes the table and gives the file back, written to the disk.
    ///
    /// # Errors
    /// When the rest cannot be written.
    pub fn finish(self) -> io::Result<File> {
        let file = self.0.into_inner().map_err(io::Error::other)?;
        file.sync_all()?;
        Ok(file)
    }
}
