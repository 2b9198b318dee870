package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every figure of the table rests on these few functions.

func TestRate(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }
	f := func(p progress, want float64) {
		t.Helper()
		if got := p.rate(begin); got != want {
			t.Errorf("rate is %v, want %v", got, want)
		}
	}
	// A start of 20 seconds does not count: 900 records came in the 9 after it.
	f(progress{first: at(20), last: at(29), early: 100, n: 1000}, 100)
	// Nearly all came with the first publication: what is left says nothing.
	f(progress{first: at(9), last: at(10), early: 990, n: 1000}, 100)
	// All came at once.
	f(progress{first: at(10), last: at(10), early: 1000, n: 1000}, 100)
}

func TestProgressIgnoresWhatIsNotNew(t *testing.T) {
	var p progress
	// A broker without a coordinator yet says 0, before the first and in between.
	for _, n := range []int{0, 10, 0, 10, 30} {
		p.see(n)
	}
	if p.early != 10 || p.n != 30 || p.last.Before(p.first) {
		t.Errorf("got %+v, want 10 early of 30", p)
	}
}

func TestMedian(t *testing.T) {
	v := []float64{3, 1, 2}
	if got := median(v); got != 2 {
		t.Errorf("median of %v is %v", v, got)
	}
	if v[0] != 3 {
		t.Errorf("the rounds were put in another order: %v", v)
	}
}

// OLake must be told to take the events apart, else it would be let off the work.
func TestTyped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "streams.json")
	f := func(text, want string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := typed(path)
		got, _ := os.ReadFile(path)
		if want == "" && err == nil || want != "" && (err != nil || string(got) != want) {
			t.Errorf("%s became %s, %v", text, got, err)
		}
	}
	f(`{"normalization":false}`, `{"normalization":true}`)
	f(`{"normalization": false}`, `{"normalization": true}`)
	// Another version may call it something else. That must not go by unseen.
	f(`{"typed":false}`, "")
}

func TestGiven(t *testing.T) {
	const variable = "LAKEWEIR_PEERS_TEST"
	f := func(value, want string) {
		t.Helper()
		t.Setenv(variable, value)
		if path, missing := given(variable, "a binary"); !strings.Contains(missing, want) || (want == "") != (missing == "") {
			t.Errorf("%q: %q, %q, want %q", value, path, missing, want)
		}
	}
	f("", "LAKEWEIR_PEERS_TEST is not set: it names a binary")
	f(filepath.Join(t.TempDir(), "none"), "no such file")
	f(t.TempDir(), "")
}
