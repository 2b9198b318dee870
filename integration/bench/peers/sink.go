package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/lakeweir/lakeweir/integration/bench/shop"
	"github.com/lakeweir/lakeweir/integration/gateway"
)

// sink is a program that is measured.
type sink struct {
	name    string
	missing string // why it cannot run, in words

	// prepare makes what has to be there before the first start; nil: nothing.
	prepare func(context.Context, *job) error
	// command starts or restarts it.
	command func(context.Context, *job) *exec.Cmd
	// published counts records that a reader can see, or of which the sink has
	// told the broker that they are out. Nil: it ends by itself when all are.
	published func(context.Context, *job) (int, error)
	// live names the files that a reader sees. Nil: every Parquet file.
	live func(context.Context, *job) ([]string, error)
	// id is the name of the column of ids.
	id string
}

// job is one table that a sink fills: a topic, a folder of the store, a folder
// for configuration and state, and a group, all of its name.
type job struct {
	*place
	sink    sink
	name    string
	topic   string
	records int
	dir     string
}

//go:embed conf
var conf embed.FS

// newJob makes a job of which nothing is done yet.
func (p *place) newJob(ctx context.Context, s sink, topic string, records int) (*job, error) {
	p.runs++
	j := &job{place: p, sink: s, name: fmt.Sprintf("%s-%d", s.name, p.runs), topic: topic, records: records}
	j.dir = filepath.Join(p.dir, j.name)
	if err := os.Mkdir(j.dir, 0o755); err != nil {
		return nil, err
	}
	if err := j.configure(); err != nil {
		return nil, err
	}
	if s.prepare == nil {
		return j, nil
	}
	return j, s.prepare(ctx, j)
}

// configure writes all configurations, filled in, to the folder of the job.
func (j *job) configure() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	endpoint, bucket := j.endpoint()
	values := map[string]any{
		"Broker": j.broker.Addr(), "Topic": j.topic, "Run": j.name, "Dir": j.dir, "Endpoint": endpoint, "Bucket": bucket,
		"Region": gateway.Region, "AccessKey": gateway.AccessKey, "SecretKey": gateway.SecretKey, "Columns": shop.Columns,
		"Rows": j.rows, "TwoBatches": 2 * j.rows, "Port": port,
	}
	// Bento and others have templates of their own, with the usual delimiters.
	set, err := template.New("").Delims("<<", ">>").Option("missingkey=error").ParseFS(conf, "conf/*")
	if err != nil {
		return err
	}
	for _, t := range set.Templates() {
		f, err := os.Create(filepath.Join(j.dir, t.Name()))
		if err != nil {
			return err
		}
		if err := errors.Join(t.Execute(f, values), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// file returns the path of a file of the job.
func (j *job) file(name string) string { return filepath.Join(j.dir, name) }

// stored are the Parquet files in the store that are the job's, live or not.
func (j *job) stored() ([]string, error) {
	_, bucket := j.endpoint()
	var paths []string
	err := filepath.WalkDir(filepath.Join(j.buckets(), bucket, j.name), func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // not made yet, or gone since the folder was listed
		}
		if strings.HasSuffix(path, ".parquet") || strings.HasSuffix(path, ".zst") { // Aiven's names end with the codec
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}

// committed counts the records that the job's group has told the broker of.
func committed(group func(*job) string) func(context.Context, *job) (int, error) {
	return func(ctx context.Context, j *job) (int, error) {
		offsets, err := j.admin.FetchOffsets(ctx, group(j))
		if kerr.IsRetriable(err) {
			return 0, nil // a broker makes its topic of offsets for the first group
		}
		n := 0
		for _, o := range offsets[j.topic] {
			n += int(max(o.At, 0))
		}
		return n, err
	}
}
