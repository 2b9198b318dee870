// Command show is the demo without the rest of the product: it is built quickly,
// from sources that break the protocol on purpose.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"

	"github.com/lakeweir/lakeweir/internal/demo"
)

func main() {
	dir := flag.String("dir", "", "")
	records := flag.Int("records", 0, "")
	kills := flag.Int("kills", 0, "")
	seed := flag.Uint64("seed", 0, "")
	sink := flag.Bool("sink", false, "")
	flag.Parse()
	ctx := context.Background()
	if *sink {
		if err := demo.Sink(ctx, os.Stdin, os.Stdout, os.Stderr, nil); err != nil {
			os.Exit(1)
		}
		return
	}
	r, err := demo.Run(ctx, demo.Config{
		Dir: *dir, Records: *records, Kills: kills, Seed: *seed, Out: os.Stderr,
		Command: func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, os.Args[0], "--sink") },
	})
	json.NewEncoder(os.Stdout).Encode(r)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
