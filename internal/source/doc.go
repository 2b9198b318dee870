// Package source gives the partitions of Kafka topics and their batches, in
// the order of the log and without loss.
//
// It reads on its own: kafka-go, which nothing else imports, opens and
// authenticates connections, finds brokers and joins groups, while requests and
// record batches are encoded and parsed here, through kafka-go's RawExchanger.
// Its readers cannot be used, since they lose, repeat or alter records of
// compacted and transactional logs.
//
// # Flow
//
// [Run] starts one work per assigned partition. A work seeks to the offset that
// its table says, then reads batches. Behind it one loop per broker fetches for
// all partitions that the broker leads. A partition whose reader is behind is
// left out of the next fetch, and a [Room] without space stops the loop: that
// is all the backpressure there is.
//
// A fetch brings raw bytes. Checksums, decompression and parsing run in the
// goroutine that reads the partition. A batch of the log becomes one
// [record.Batch]: its decompressed bytes are the arena, and its records are
// places in it, so nothing is allocated per record.
//
// # What is trusted
//
// The group gives assignment only. Offsets come from elsewhere, and two
// processes can own one partition for seconds, so whoever writes must be fenced
// by other means; [Partition.Confirm] tells when to try again. A position that
// the log does not hold is an [OutOfRangeError] and never a silent jump.
package source
