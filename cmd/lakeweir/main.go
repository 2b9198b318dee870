// Lakeweir writes Kafka topics to an object store as Parquet files, each
// record once, whatever dies when.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
