// Package sink joins what the settings name: brokers, a store, and one writer
// for each partition that is assigned to this process.
//
// [Sink.Run] looks before it writes. The heads of all tables are read first, so
// that a wrong bucket, a denied credential or a newer format ends the start;
// then the brokers and topics are asked for; then, before the first claim, the
// store is probed. Only then does a partition begin.
package sink
