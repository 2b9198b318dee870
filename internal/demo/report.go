package demo

import (
	"errors"
	"fmt"
)

// Report is what a run of the demo came to. As JSON it is what --json prints.
type Report struct {
	Account                        // sums over all partitions
	Partitions [Partitions]Account `json:"partitions"`
	Unknown    int64               `json:"unknown"` // rows that were never sent

	Kills  int            `json:"kills"`
	Steps  map[string]int `json:"kills_by_step"`
	Pauses int            `json:"pauses"`
	Fences int            `json:"fences"` // how often a sink was fenced out of a partition
	Sinks  int            `json:"sinks"`  // processes

	Dir     string   `json:"dir"`   // of the store; the URI of one that is not a directory
	Table   string   `json:"table"` // folder of the table in it
	Files   int64    `json:"files"`
	Seed    uint64   `json:"seed"`
	Seconds float64  `json:"seconds"`
	Notes   []string `json:"notes,omitempty"`    // what this system cannot show
	Failed  []string `json:"problems,omitempty"` // what did not go as it should
}

// maxProblems bounds how many problems are kept: the first ones tell the story.
const maxProblems = 20

// problem notes what did not go as it should. The run has failed then.
func (r *Report) problem(err error) {
	if len(r.Failed) < maxProblems {
		r.Failed = append(r.Failed, err.Error())
	}
}

// killed counts a kill.
func (r *Report) killed(step Step) {
	r.Kills++
	if r.Steps == nil {
		r.Steps = map[string]int{}
	}
	r.Steps[step.String()]++
}

// Err returns nil if every record is there once and the show went as planned.
func (r *Report) Err() error {
	switch {
	case r.Lost > 0 || r.Doubled > 0 || r.Unknown > 0:
		return fmt.Errorf("%d records lost, %d doubled, %d rows that were never sent", r.Lost, r.Doubled, r.Unknown)
	case len(r.Failed) > 0:
		return errors.New("the demo did not go as planned: " + r.Failed[0])
	}
	return nil
}
