package demo

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lakeweir/lakeweir/store/memory"
)

// The object of --json has the members that scripts rely on.
func TestReportJSON(t *testing.T) {
	r := Report{
		Account: Account{Sent: 9, Rows: 5, Dead: 1, Duplicates: 1, Lost: 1, Doubled: 1},
		Dir:     "lake", Table: table, Seed: 7,
	}
	r.killed(Planned)
	r.killed(Anytime)
	r.killed(Planned)
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	f := func(name string, want any) {
		t.Helper()
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	f("sent", 9.0)
	f("rows", 5.0)
	f("dead", 1.0)
	f("duplicates", 1.0)
	f("lost", 1.0)
	f("doubled", 1.0)
	f("kills", 3.0)
	f("dir", "lake")
	f("seed", 7.0)
	if steps := got["kills_by_step"].(map[string]any); steps["after plan"] != 2.0 || steps["at a random moment"] != 1.0 {
		t.Errorf("kills_by_step is %v", steps)
	}
	if n := len(got["partitions"].([]any)); n != Partitions {
		t.Errorf("%d partitions", n)
	}
	if r.killsByStep() != "2 after plan, 1 at a random moment" {
		t.Errorf("in words: %s", r.killsByStep())
	}
}

// A run has failed when a record is lost, doubled or unknown, or when it could
// not show what it was to show.
func TestReportErr(t *testing.T) {
	f := func(r Report, want string) {
		t.Helper()
		err := r.Err()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	f(Report{Account: Account{Sent: 2, Rows: 1, Dead: 1}}, "")
	f(Report{Account: Account{Lost: 1}}, "1 records lost")
	f(Report{Account: Account{Doubled: 2}}, "2 doubled")
	f(Report{Unknown: 3}, "3 rows that were never sent")
	f(Report{Failed: []string{"a sink did not start"}}, "a sink did not start")
}

// The first problems are kept, however many there are.
func TestReportProblems(t *testing.T) {
	var r Report
	for range 3 * maxProblems {
		r.problem(errors.New("again"))
	}
	if len(r.Failed) != maxProblems || r.Err() == nil {
		t.Errorf("%d problems are kept, error %v", len(r.Failed), r.Err())
	}
}

// People see the account, the kills by step, where the files are and what to ask.
func TestStage(t *testing.T) {
	l := newLake(t)
	r := Report{Dir: "/lake", Table: table, Notes: []string{"no stops here"}, Failed: []string{"it rained"}, Seed: 5}
	check(t.Context(), l, l.ledger, &r)
	r.killed(Written)
	var out strings.Builder
	s := newStage(&out, nil, 80, 1)
	s.progress(40)
	s.killed(&show{result: &r}, &child{name: "sink 1"}, &child{name: "sink 2"}, incident{step: Written}, report{Key: "data/x"})
	s.close()
	s.account(&r)
	if err := s.places(t.Context(), l, &r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"kill  1/1  sink 1", "after data PUT of data/x, with sink 2 on the same partitions",
		"partition  sent  rows  dead letters", "all    80    64            16", "1 after data PUT",
		"note: no stops here", "problem: it rained", "data/00000-00000000000000000000-00000000000000000010.parquet",
		"... and 5 more under data/", "FROM '/lake/quakes/data/*.parquet'", "80 of 80 records are there once",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in:\n%s", want, &out)
		}
	}
}

// On a terminal a bar is drawn, and lines stand above it.
func TestStageBar(t *testing.T) {
	var out, terminal strings.Builder
	s := newStage(&out, &terminal, 100, 1)
	s.progress(50)
	s.say("a line")
	s.progress(200) // never beyond its end
	s.close()
	if out.String() != "a line\n" {
		t.Errorf("printed %q", &out)
	}
	if !strings.Contains(terminal.String(), "50/100") {
		t.Errorf("drew %q", &terminal)
	}
	if err := s.places(t.Context(), &memory.Store{}, &Report{}); err != nil {
		t.Error(err)
	}
}

// Steps have words of their own.
func TestStepString(t *testing.T) {
	var words []string
	for _, s := range append(slices.Clone(named), Anytime, Writing) {
		if slices.Contains(words, s.String()) || s.String() == "" {
			t.Errorf("step %q is %q", string(s), s)
		}
		words = append(words, s.String())
	}
}
