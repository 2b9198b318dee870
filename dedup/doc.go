// Package dedup drops events that a producer sent more than once: it remembers
// the ids of rows that were kept and says whether an id was among them lately.
//
// Records that the sink itself reads again are not its business: ranges deal
// with those. It is for one event at several offsets, as a producer that tries
// again without idempotence leaves it.
//
// # Which rows a window remembers
//
// A decision has to come out the same in a first run, in a replay, after any
// crash and for any cut of batches. So a [Window] is a function of the rows
// that were kept below a record, and of nothing else: no clock, no batch, no
// row that was dropped or set aside as a dead letter. A row that is a duplicate
// does not prolong the window: it counts from the row that was kept.
//
//   - Options.Offsets = n: the record at offset o is a duplicate of the row kept
//     at k if o-k <= n. The row at o-n is the last one that counts.
//   - Options.Time = d: the record is a duplicate of a row kept with time t if
//     t >= T-d, where T is the largest time among all rows kept before it. The
//     record's own time does not matter, so one from the year 2099 that is
//     dropped changes nothing; one that is kept moves T for good. A row without
//     a time (-1) is as old as a row can be.
//
// # How it is used
//
// For each record in offset order: [Window.Seen]; if it is no duplicate and
// becomes a row, [Window.Keep]. Decisions for ranges that are not published yet
// can be taken back: [Window.Mark] at the start of each range, [Window.Rollback]
// to the mark if the range is not published as decided, [Window.Commit] of the
// mark behind it when it is. After a restart, [Window.Begin] and then
// [Window.Restore] for the rows of published files, newest file first or in any
// order, make the very same window; [Window.Covers] says how far back to read.
//
// # Ids
//
// An id is a 128-bit XXH3 hash ([Hash]). Two different events of a window of n
// ids meet with a probability of about n^2/2^129: 1.5e-25 for ten million ids;
// over a stream of m events each meets one of the window with m*n/2^128, which
// is 3e-20 for a trillion events. XXH3 is not a cryptographic hash: whoever
// chooses event ids freely can make two that meet, and so lose an event of
// their own making. Slots are chosen with a secret seed, so crafted ids do not
// make a window slow.
package dedup
