// Package manifest is what counts: which positions of a log are published, in
// which files, and who may publish more.
//
// A table is a folder of a [store.Store]. Each partition of its topic has one
// [Head], a small JSON object that is changed by compare-and-swap only and
// never deleted. It names the files of the newest ranges, and sealed lists
// with those of older ones; its Next is the offset where reading goes on. The
// write that adds files and moves Next is one write: that is the commit.
//
// Readers call [Read] and go through [Head.All]. A writer has to [Claim] the
// partition first, which fences the writer before it; only that yields a
// [Log], which can Plan a range and Publish it. Names of files ([Name]) are a
// function of partition, range and attempt.
package manifest
