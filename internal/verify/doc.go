// Package verify compares what heads, sealed lists and files say, and tells
// where they disagree. It deletes and changes nothing.
//
// It lists the table first and reads the heads after: a file that is in the
// list was planned before, so a head that is read later names it, or has it in
// its pending plan, or superseded it. What none of them knows is foreign.
// Writers may go on meanwhile.
//
// Memory: about 200 bytes for each object of the table and, with an id column,
// about 60 bytes for each row, since ids are kept as 128-bit hashes (XXH3).
package verify

// Severity says how bad a finding is.
type Severity string

// The severities.
const (
	// Damage: a reader of the table, or one who lists its files, may get wrong
	// rows or none.
	Damage Severity = "damage"
	// Warning: nothing is wrong for readers, but somebody should look.
	Warning Severity = "warning"
)

// Kind says what a finding is about, for programs.
type Kind string

// The kinds of findings.
const (
	NoHead       Kind = "no_head"       // objects of a partition without a head
	BadHead      Kind = "bad_head"      // a head that contradicts itself
	BadList      Kind = "bad_list"      // a sealed list that is missing or contradicts its reference
	BadSchema    Kind = "bad_schema"    // a schema that is missing or not valid
	MissingFile  Kind = "missing_file"  // a head names it, the store does not have it
	BadSize      Kind = "bad_size"      // not as long as recorded
	BadHash      Kind = "bad_hash"      // other bytes than recorded
	BadFooter    Kind = "bad_footer"    // says other things than the head, or is none
	BadRows      Kind = "bad_rows"      // rows that are not of the range, or twice
	DuplicateID  Kind = "duplicate_id"  // an id in two rows
	UnknownFile  Kind = "unknown_file"  // under data/ or dead/ and named by no head
	Leftover     Kind = "leftover"      // a file of a plan that a reset gave up
	UnknownEntry Kind = "unknown_entry" // under manifest/ or schema/, and of no known form
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Severity Severity `json:"severity"`
	Kind     Kind     `json:"kind"`
	Key      string   `json:"key"`  // of the object, relative to the table
	What     string   `json:"what"` // is wrong
	Do       string   `json:"do"`   // about it
}

// String returns the finding as a line for people.
func (f Finding) String() string {
	return string(f.Severity) + ": " + f.Key + ": " + f.What + ": " + f.Do
}

// Advice for the kinds of damage.
const (
	doRestore   = "restore it from a backup or an older version of the object; else the rows are to be read from the topic again under another table"
	doRemove    = "find out who wrote it; move it out of the table, since readers that list data/ read its rows too"
	doLook      = "look at it before you remove it; no reader uses it"
	doHead      = "restore the head from an older version of the object; do not let a writer start before"
	doReport    = "keep the file and report a defect"
	doDuplicate = "the producer sent it twice, or the table was changed from outside"
)
