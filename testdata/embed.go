// Package testdata holds real events, for the demo and for tests.
package testdata

import _ "embed"

// Earthquakes are the events of one week, one GeoJSON feature a line; README.md
// beside the file says where they come from. It is not to be changed.
//
//go:embed earthquakes.jsonl
var Earthquakes []byte
