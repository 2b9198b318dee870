// Package settings is what a user can set: one declaration per setting feeds
// the YAML file, the environment, the flags and the listing of all settings.
//
// A setting has one name, such as "batch.max_rows". In the file it is that key,
// nested or dotted; in the environment LAKEWEIR_BATCH_MAX_ROWS; as a flag
// --batch-max-rows (dots and underscores are taken for dashes). The file comes
// first, then the environment, then the flags; the later wins. A key that is
// not known is an error that names its line and the nearest one that is.
//
// Topics with columns are declared in the file only; a plain list of names is a
// setting like any other.
package settings

import (
	"regexp"
	"time"

	"github.com/lakeweir/lakeweir/manifest"
)

// Settings are the values of all settings. [New] makes one with the defaults.
type Settings struct {
	Brokers           []string
	ClientID          string
	Group             string
	Member            string
	Partitions        map[string][]int32 // read without a group, by topic
	SessionTimeout    time.Duration
	HeartbeatInterval time.Duration
	RebalanceTimeout  time.Duration
	Isolation         string // ReadCommitted or ReadUncommitted
	WaitForTopics     bool
	Start             Start
	OnDataLoss        string // Fail or Skip
	TLS               TLS
	SASL              SASL

	Store        string // as ParseLocation reads it
	SingleWriter bool
	S3           S3

	Batch           Batch
	Files           Files
	DeadLetter      DeadLetter
	HTTP            string // address of metrics and health; "" is none
	Memory          int64  // bytes
	ShutdownTimeout time.Duration
	Log             Log

	Topics []Topic // in the order of the list

	all []*Setting
}

// TLS is how connections to brokers are encrypted.
type TLS struct {
	Enabled            bool
	CA, Cert, Key      string // PEM files
	ServerName         string
	InsecureSkipVerify bool
}

// On reports whether TLS is wanted: any setting of it says so.
func (t TLS) On() bool { return t != TLS{} }

// SASL is the login at the brokers.
type SASL struct {
	Mechanism      string // "", "plain", "scram-sha-256", "scram-sha-512" or "oauthbearer"
	User, Password string
	PasswordFile   string // in place of Password, read for each connection
	TokenFile      string // of oauthbearer, read for each connection
}

// S3 is how a store that speaks S3 is reached.
type S3 struct {
	Region, Endpoint     string
	PathStyle            *bool // nil is path style for another endpoint than AWS
	TLS                  bool
	CA                   string // PEM file
	InsecureSkipVerify   bool
	AccessKey, SecretKey string
}

// Batch says when a batch is cut.
type Batch struct {
	MaxRows  int64
	MaxBytes int64
	MaxAge   time.Duration
}

// Files says how files are laid out.
type Files struct {
	Compression   string
	Level         int64
	RowGroupRows  int64
	RowGroupBytes int64
}

// DeadLetter says what is done with records that do not parse, beside the file
// of the commit.
type DeadLetter struct {
	Topic    string  // each is published there too; "" is nowhere
	MaxRatio float64 // of recent records; more of them stop the partition. 0 is no bound
}

// Log says what is logged and how.
type Log struct{ Level, Format string }

// Topic is one topic that is read, and its table; or all that a pattern takes.
type Topic struct {
	Name     string            // or the pattern with its slashes
	Declared manifest.Declared // without the layout, which is that of Files

	expr *regexp.Regexp // of a pattern, anchored
}

// Values of Isolation and OnDataLoss.
const (
	ReadCommitted   = "read_committed"
	ReadUncommitted = "read_uncommitted"
	Fail            = "fail"
	Skip            = "skip"
)

// New returns the defaults.
func New() *Settings {
	s := &Settings{
		ClientID:          "lakeweir",
		SessionTimeout:    10 * time.Second,
		HeartbeatInterval: time.Second,
		RebalanceTimeout:  30 * time.Second,
		Isolation:         ReadCommitted,
		OnDataLoss:        Fail,
		Batch:             Batch{MaxRows: 1_000_000, MaxBytes: 128 << 20, MaxAge: time.Minute},
		Files:             Files{Compression: string(manifest.Zstd), RowGroupRows: 1 << 20, RowGroupBytes: 128 << 20},
		Memory:            512 << 20,
		ShutdownTimeout:   25 * time.Second,
		Log:               Log{Level: "info", Format: "text"},
	}
	s.all = s.declare()
	for _, st := range s.all {
		st.Default, st.Origin = st.value.String(), "default"
	}
	return s
}

// All returns every setting, in the order of the listing.
func (s *Settings) All() []*Setting { return s.all }

// find returns the setting of a name, or nil.
func (s *Settings) find(name string) *Setting {
	for _, st := range s.all {
		if st.Name == name {
			return st
		}
	}
	return nil
}
