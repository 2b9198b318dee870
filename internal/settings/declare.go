package settings

import "strings"

// Group says which commands take a setting as a flag.
type Group int

// The groups of settings.
const (
	Kafka   Group = iota // brokers, and what is read of them
	Store                // the object store
	Sink                 // how records become files
	Process              // memory and logs
)

// Setting is one setting: what it is called, what it means and what it is.
type Setting struct {
	Name    string // "batch.max_rows"
	Group   Group
	Doc     string // one sentence or two, for people
	Secret  bool   // never printed
	Default string // in the form that the file takes
	Origin  string // "default", "lakeweir.yaml:7", "LAKEWEIR_GROUP" or "--group"

	value value
}

// Flag returns the name of the flag, without dashes in front.
func (s *Setting) Flag() string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(s.Name)
}

// Env returns the name of the environment variable.
func (s *Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Name, ".", "_"))
}

// Hidden is printed in place of a secret that is set.
const Hidden = "(hidden)"

// Value returns the effective value in the form that the file takes, Hidden
// for a secret.
func (s *Setting) Value() string {
	v := s.value.String()
	if s.Secret && v != "" {
		return Hidden
	}
	return v
}

// Kind returns what kind of value it takes, for help texts.
func (s *Setting) Kind() string { return s.value.kind }

// declare lists all settings of s. Everything else is derived from it.
func (s *Settings) declare() []*Setting {
	var all []*Setting
	for _, group := range [][]*Setting{s.kafka(), s.security(), s.stores(), s.sink(), s.process()} {
		all = append(all, group...)
	}
	return all
}

func (s *Settings) kafka() []*Setting {
	return []*Setting{
		{Name: "brokers", Doc: "Addresses of Kafka brokers, host:port. One that answers is enough.", value: list(&s.Brokers)},
		{Name: "topics", Doc: "Topics to read; each becomes a table. Also --topic, again and again. As a plain list their values are raw. In the file a mapping declares columns; a list given later selects among its topics and adds others as raw. An entry between slashes, such as /evt\\..*/, is a regular expression for whole names: topics that match are read, also those that come later.", value: s.topicNames()},
		{Name: "group", Doc: "Consumer group that shares the partitions among processes. Without one this process reads all of them.", value: text(&s.Group)},
		{Name: "partitions", Doc: "Partitions to read whatever a group says, by topic: {quakes: [0, 1]} in the file, quakes=0,1;orders=2 elsewhere. A group then only names where lag monitors find the offsets.", value: partitions(&s.Partitions)},
		{Name: "start", Doc: "Where a partition begins that has no head yet: earliest, latest, an offset, or a time such as 2026-01-31T00:00:00Z. A partition with a head goes on from it, always.", value: start(&s.Start)},
		{Name: "on_data_loss", Doc: "What to do when records were removed from the log before they were read: fail, or skip and count them as lost.", value: choice(&s.OnDataLoss, Fail, Skip)},
		{Name: "isolation", Doc: "read_committed leaves records of aborted transactions out and waits for open ones; read_uncommitted takes all.", value: choice(&s.Isolation, ReadCommitted, ReadUncommitted)},
		{Name: "wait_for_topics", Doc: "Wait for a topic that does not exist, instead of ending with an error. It is never created. A pattern waits in any case, but for run --once.", value: boolean(&s.WaitForTopics)},
		{Name: "client_id", Doc: "Name that brokers log and count quotas by.", value: text(&s.ClientID)},
		{Name: "member", Doc: "Name of this process in the group. One that survives restarts keeps its partitions. Default: host name and a random part.", value: text(&s.Member)},
		{Name: "session_timeout", Doc: "A member of the group that is silent for so long loses its partitions.", value: duration(&s.SessionTimeout)},
		{Name: "heartbeat_interval", Doc: "How often a member of the group gives a sign of life. At most a third of session_timeout.", value: duration(&s.HeartbeatInterval)},
		{Name: "rebalance_timeout", Doc: "How long members may take to let go of partitions when the group changes.", value: duration(&s.RebalanceTimeout)},
	}
}

func (s *Settings) security() []*Setting {
	return []*Setting{
		{Name: "tls.enabled", Doc: "Connect to brokers by TLS, with the system's authorities. Any other tls setting implies it.", value: boolean(&s.TLS.Enabled)},
		{Name: "tls.ca", Doc: "PEM file with the authorities that sign the brokers' certificates.", value: text(&s.TLS.CA)},
		{Name: "tls.cert", Doc: "PEM file with the client certificate. It and tls.key are read anew for each connection.", value: text(&s.TLS.Cert)},
		{Name: "tls.key", Doc: "PEM file with the key of the client certificate.", value: text(&s.TLS.Key)},
		{Name: "tls.server_name", Doc: "Name to expect in the brokers' certificates, instead of their host names.", value: text(&s.TLS.ServerName)},
		{Name: "tls.insecure_skip_verify", Doc: "Take any certificate of a broker. For tests only.", value: boolean(&s.TLS.InsecureSkipVerify)},
		{Name: "sasl.mechanism", Doc: "Login at the brokers: plain, scram-sha-256, scram-sha-512 or oauthbearer.", value: choice(&s.SASL.Mechanism, "", "plain", "scram-sha-256", "scram-sha-512", oauthBearer)},
		{Name: "sasl.user", Doc: "User of the login.", value: text(&s.SASL.User)},
		{Name: "sasl.password", Doc: "Password of the login. Better by environment, or as ${VARIABLE} in the file, than by flag: other users see flags.", Secret: true, value: text(&s.SASL.Password)},
		{Name: "sasl.password_file", Doc: "File with the password, in place of sasl.password. It is read anew for each connection, so a changed password needs no restart.", value: text(&s.SASL.PasswordFile)},
		{Name: "sasl.token_file", Doc: "File with the token of oauthbearer, read anew for each connection.", value: text(&s.SASL.TokenFile)},
	}
}

func (s *Settings) stores() []*Setting {
	all := []*Setting{
		{Name: "store", Doc: "Where tables lie: s3://bucket/prefix, minio://host:port/bucket/prefix (minios:// for TLS), or dir:./lake.", value: text(&s.Store)},
		{Name: "single_writer", Doc: "The operator rules out a second writer: for stores that ignore conditions on PUT. A second writer then destroys tables.", value: boolean(&s.SingleWriter)},
		{Name: "s3.region", Doc: "Region of the bucket. Default for s3://: as the AWS tools find it.", value: text(&s.S3.Region)},
		{Name: "s3.endpoint", Doc: "URL of a store other than AWS for s3://, for example https://storage.example.com.", value: text(&s.S3.Endpoint)},
		{Name: "s3.path_style", Doc: "Name the bucket in the path (true) or in the host name (false). auto is the path for every store but AWS.", value: optional(&s.S3.PathStyle)},
		{Name: "s3.tls", Doc: "TLS to a minio:// store, as minios:// says it too. For s3:// the endpoint's scheme decides.", value: boolean(&s.S3.TLS)},
		{Name: "s3.ca", Doc: "PEM file with the authorities that sign the store's certificate.", value: text(&s.S3.CA)},
		{Name: "s3.insecure_skip_verify", Doc: "Take any certificate of the store. For tests only.", value: boolean(&s.S3.InsecureSkipVerify)},
		{Name: "s3.access_key", Doc: "Access key. Default: the usual AWS chain (environment, profile, role).", value: text(&s.S3.AccessKey)},
		{Name: "s3.secret_key", Doc: "Secret of the access key. Better by environment than by flag.", Secret: true, value: text(&s.S3.SecretKey)},
	}
	for _, st := range all {
		st.Group = Store
	}
	return all
}

func (s *Settings) sink() []*Setting {
	all := []*Setting{
		{Name: "batch.max_rows", Doc: "A batch is cut at this many records. Larger batches make fewer files, smaller ones are seen earlier.", value: integer(&s.Batch.MaxRows)},
		{Name: "batch.max_bytes", Doc: "Or at this many bytes of keys, values and headers. At most 1GiB.", value: size(&s.Batch.MaxBytes)},
		{Name: "batch.max_age", Doc: "Or so long after its first offset came.", value: duration(&s.Batch.MaxAge)},
		{Name: "files.compression", Doc: "Codec of the files: zstd, snappy, lz4 or none.", value: choice(&s.Files.Compression, "zstd", "snappy", "lz4", "none")},
		{Name: "files.level", Doc: "Level of zstd, 1 to 22; 0 is the default level.", value: integer(&s.Files.Level)},
		{Name: "files.row_group_rows", Doc: "A row group ends at this many rows.", value: integer(&s.Files.RowGroupRows)},
		{Name: "files.row_group_bytes", Doc: "Or at this many raw bytes, whichever comes first.", value: size(&s.Files.RowGroupBytes)},
		{Name: "dead_letter.topic", Doc: "Kafka topic that each dead letter is published to before its commit, at least once. The dead-letter file of the commit holds it once, whatever this says.", value: topic(&s.DeadLetter.Topic)},
		{Name: "dead_letter.max_ratio", Doc: "A partition stops when more than this share of its last 10,000 records are dead letters, as 0.1. 0 never stops.", value: ratio(&s.DeadLetter.MaxRatio)},
	}
	for _, st := range all {
		st.Group = Sink
	}
	return all
}

func (s *Settings) process() []*Setting {
	all := []*Setting{
		{Name: "http", Doc: "Address, host:port, that serves /metrics, /healthz and /readyz. Empty serves none.", value: text(&s.HTTP)},
		{Name: "memory", Doc: "Memory for records and for the files made of them. When it is short, batches are cut early and fetching waits. The process takes at most 100 MB beside it.", value: size(&s.Memory)},
		{Name: "shutdown_timeout", Doc: "How long a stopped process may take to publish what it has. Keep it below rebalance_timeout, and below what kills the process.", value: duration(&s.ShutdownTimeout)},
		{Name: "log.level", Doc: "What is logged: debug, info, warn or error, and what is graver.", value: choice(&s.Log.Level, "debug", "info", "warn", "error")},
		{Name: "log.format", Doc: "Form of log lines: text or json.", value: choice(&s.Log.Format, "text", "json")},
	}
	for _, st := range all {
		st.Group = Process
	}
	return all
}
