// Package demo shows the whole idea on real events, and tries to break it.
//
// [Run] sends events to a topic, and lets sinks write them to a table. The
// sinks are child processes made of the real writer, source and store. They are
// killed with SIGKILL at random moments and at named steps of the protocol,
// started again with other limits and another layout, let loose on the same
// partitions two at a time, and stopped while another takes over. In the end
// the files are read: every event that can be parsed must be there once, every
// other one must be among the dead letters once.
//
// A sink is held at a step by a wrapper around its store ([fault.Store]), which
// only the child of the demo links; the product has no switch for it. The
// parent then kills it from outside, as an operator or the kernel would.
//
// The check believes nothing that a sink wrote down about itself: it knows what
// was sent and reads rows. It does so twice, through the heads and by listing
// data/, since both kinds of readers are promised the same.
package demo
