// Package writer makes published files of the records of a partition.
//
// [Writers.Run] claims a partition, finishes what the writer before it left,
// and then collects records into batches. A batch is cut by rows, bytes, age,
// memory pressure or a Drain; then it is laid out as objects, planned, written
// and published. Whatever step a process dies at, the next one goes on from the
// head, and no record is lost or in two files.
//
// The writer knows neither Kafka nor Parquet: records come from a [Source], and
// an [Encoder] makes the bytes.
package writer
