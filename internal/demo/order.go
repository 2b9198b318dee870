package demo

import (
	"context"
	"time"

	"github.com/lakeweir/lakeweir/internal/source"
	"github.com/lakeweir/lakeweir/manifest"
	"github.com/lakeweir/lakeweir/store"
	"github.com/lakeweir/lakeweir/store/dir"
)

// order is what the parent tells a sink on the first line of its standard
// input. Further lines are the words go and drain; the end of the input is the
// end of the parent, and then the sink ends too.
type order struct {
	Name    string        `json:"name"` // for people who read the head
	Brokers []string      `json:"brokers,omitempty"`
	Dir     string        `json:"dir,omitempty"` // of the store; with Brokers empty in the show on a real place
	Topic   string        `json:"topic"`
	Rows    int64         `json:"rows"`    // cut at this many rows
	Age     time.Duration `json:"age"`     // or at this age
	Snappy  bool          `json:"snappy"`  // the other layout: the same rows are other bytes
	Hold    Step          `json:"hold"`    // where to stop and wait for go; Anytime is nowhere
	Nth     int           `json:"nth"`     // at which time it gets there; the first is 1
	Reclaim int           `json:"reclaim"` // how often to claim again after a fence
	Once    bool          `json:"once"`    // end when all is published that the log held at the claim
}

// The words that follow an order.
const (
	goOn  = "go"
	drain = "drain"
)

// report is what a sink says on its standard output, one JSON object a line.
type report struct {
	Kind      kind   `json:"kind"`
	Partition int32  `json:"partition,omitempty"`
	Key       string `json:"key,omitempty"`   // of the object at which it is held
	Next      int64  `json:"next,omitempty"`  // published up to here
	Error     string `json:"error,omitempty"` // why it ended
}

// kind says what happened in a sink.
type kind string

const (
	ready     kind = "ready"     // it has its order and its place
	held      kind = "held"      // it stands at the step of its order
	published kind = "published" // a commit of Partition, which is at Next now
	fenced    kind = "fenced"    // another sink has Partition
	ended     kind = "ended"     // with Error, or well
)

// Place is where the show takes place: a Kafka, and the store in which it makes
// a table of its own.
type Place struct {
	Source source.Config // brokers and how to log in to them
	Store  store.Store
	URI    string // of the store, for people and for DuckDB
}

// Open opens the Place of a sink.
type Open func(ctx context.Context) (Place, error)

// embedded opens the place that an order names itself.
func (o order) embedded(ctx context.Context) (Place, error) {
	s, err := dir.New(ctx, dir.Config{Root: o.Dir})
	return Place{Source: source.Config{Brokers: o.Brokers}, Store: s, URI: o.Dir}, err
}

// schema returns the schema of the table.
func (o order) schema() (manifest.Schema, error) {
	d := manifest.Declared{Value: manifest.JSONValue, Columns: []manifest.Column{
		{Name: idColumn, Path: []string{"id"}, Type: manifest.String, Required: true},
		{Name: "magnitude", Path: []string{"properties", "mag"}, Type: manifest.Double},
		{Name: "place", Path: []string{"properties", "place"}, Type: manifest.String},
		{Name: "at", Path: []string{"properties", "time"}, Type: manifest.Timestamp, Unit: manifest.Milliseconds},
		{Name: "significance", Path: []string{"properties", "sig"}, Type: manifest.Int32},
	}}
	if o.Snappy {
		d.Layout.Compression = manifest.Snappy
	}
	return manifest.NewSchema(d)
}

// idColumn is the column with the id of an event.
const idColumn = "id"
