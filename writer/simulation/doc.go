// Package simulation runs the real writer and the real manifest in a made-up
// world: logs that grow, lose, compact and are created anew, a store with every
// fault, processes that crash, pause and take each other's partitions, software
// that lays records out differently. One seed decides all of it and replays
// exactly; invariants are checked at every write.
//
// Time and goroutines are those of testing/synctest. Every call that leaves the
// code under test waits at a gate until the driver lets it go, one at a time, so
// the order of all that happens outside is the order of the seed. Randomness of
// the code itself comes from crypto/rand, which testing/cryptotest makes a
// function of the seed.
//
//	go test ./writer/simulation -seeds 10000      # as many seeds
//	go test ./writer/simulation -seed 17 -v       # one, with all its steps
package simulation
