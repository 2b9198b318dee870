package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lakeweir/lakeweir/store"
)

// Location is where a store lies.
type Location struct {
	Driver   string // "s3", "minio" or "dir"
	Endpoint string // host:port, of minio
	TLS      bool   // of minio
	Bucket   string
	Prefix   string // folder in the bucket: "" or "raw/"
	Path     string // of dir
}

// ParseLocation reads s3://bucket/prefix, minio://host:port/bucket/prefix,
// minios:// for the same by TLS, and dir:path.
func ParseLocation(t string) (Location, error) {
	const want = "want s3://bucket/prefix, minio://host:port/bucket/prefix or dir:./lake"
	switch scheme, rest, _ := strings.Cut(t, ":"); scheme {
	case "dir":
		if rest == "" {
			return Location{}, fmt.Errorf("store %q names no directory: %s", t, want)
		}
		if strings.HasPrefix(rest, "//") && !strings.HasPrefix(rest, "///") {
			// As a path it would begin at the root of the file system.
			return Location{}, fmt.Errorf("store %q has slashes as of a host: write dir:%s or dir:/%[2]s", t, rest[2:])
		}
		return Location{Driver: "dir", Path: rest}, nil
	case "s3", "minio", "minios":
		rest, ok := strings.CutPrefix(rest, "//")
		if !ok || strings.ContainsAny(rest, "@?#") {
			return Location{}, fmt.Errorf("store of scheme %s is not in the form that it takes: %s; credentials are settings of their own", scheme, want)
		}
		l := Location{Driver: "s3"}
		if scheme != "s3" {
			l.Driver, l.TLS = "minio", scheme == "minios"
			l.Endpoint, rest, _ = strings.Cut(rest, "/")
			if l.Endpoint == "" {
				return Location{}, fmt.Errorf("store %q names no host: %s", t, want)
			}
		}
		l.Bucket, l.Prefix, _ = strings.Cut(rest, "/")
		return l, l.check(t, want)
	case "":
		return Location{}, errors.New("store is not set: " + want)
	}
	if strings.Contains(t, "@") {
		return Location{}, errors.New("store is of no known kind: " + want + "; credentials are settings of their own")
	}
	return Location{}, fmt.Errorf("store %q is of no known kind: %s", t, want)
}

// check completes the prefix and checks it and the bucket.
func (l *Location) check(t, want string) error {
	if len(l.Bucket) < 3 {
		return fmt.Errorf("store %q names no bucket of three characters or more: %s", t, want)
	}
	if l.Prefix = strings.TrimSuffix(l.Prefix, "/"); l.Prefix == "" {
		return nil
	}
	if err := store.CheckKey(l.Prefix); err != nil {
		return fmt.Errorf("store %q: %w", t, err)
	}
	l.Prefix += "/"
	return nil
}

// URI returns the address of a key for other programs: s3://... or file://....
func (l Location) URI(key string) (string, error) {
	if l.Driver != "dir" {
		return "s3://" + l.Bucket + "/" + l.Prefix + key, nil
	}
	abs, err := filepath.Abs(l.Path)
	if err != nil {
		return "", fmt.Errorf("find the directory of the store: %w", err)
	}
	path := filepath.ToSlash(filepath.Join(abs, filepath.FromSlash(key)))
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/lake
	}
	return "file://" + escapePath(path), nil
}

// escapePath escapes what a path in a URI cannot hold.
func escapePath(path string) string {
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"%<>?#\^`+"`{|}", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// File returns where a key lies for people and their shells: the key in the
// bucket, or the path in the directory.
func (l Location) File(key string) string {
	if l.Driver != "dir" {
		return l.Prefix + key
	}
	return filepath.Join(l.Path, filepath.FromSlash(key))
}
