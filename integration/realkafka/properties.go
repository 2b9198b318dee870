package realkafka

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ports are the TCP ports of a broker, one for each listener it may have.
type ports struct{ controller, plain, sasl, tls, saslTLS int }

func addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// freePorts asks the system for ports that no one uses. All are held until the
// last is chosen, so they differ.
func freePorts() (ports, error) {
	var p ports
	for _, port := range []*int{&p.controller, &p.plain, &p.sasl, &p.tls, &p.saslTLS} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return ports{}, err
		}
		defer l.Close()
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

// properties returns the text of server.properties.
func (b *Broker) properties() string {
	listeners := []string{"PLAINTEXT://" + addr(b.ports.plain)}
	if len(b.options.Users) > 0 {
		listeners = append(listeners, "SASL://"+addr(b.ports.sasl))
	}
	if b.certs != nil {
		listeners = append(listeners, "TLS://"+addr(b.ports.tls))
	}
	if b.certs != nil && len(b.options.Users) > 0 {
		listeners = append(listeners, "SASLTLS://"+addr(b.ports.saslTLS))
	}
	set := map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        "1",
		"controller.quorum.voters":       "1@" + addr(b.ports.controller),
		"controller.listener.names":      "CONTROLLER",
		"inter.broker.listener.name":     "PLAINTEXT",
		"listeners":                      strings.Join(append(slices.Clone(listeners), "CONTROLLER://"+addr(b.ports.controller)), ","),
		"advertised.listeners":           strings.Join(listeners, ","),
		"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,SASLTLS:SASL_SSL",
		"log.dirs":                       b.path("data"),

		// One broker, so one replica of the internal topics; few partitions, or
		// creating them takes seconds.
		"offsets.topic.replication.factor":         "1",
		"offsets.topic.num.partitions":             "2",
		"transaction.state.log.replication.factor": "1",
		"transaction.state.log.min.isr":            "1",
		"transaction.state.log.num.partitions":     "2",

		// A test does not wait for what is meant for slow networks: the first
		// rebalance of a group, the session of a member or a broker that died,
		// the next look of the cleaner. A broker's heartbeat times out after its
		// interval, so a short one fences brokers of a busy machine.
		"group.initial.rebalance.delay.ms": "0",
		"group.min.session.timeout.ms":     "1000",
		"broker.heartbeat.interval.ms":     "1500",
		"broker.session.timeout.ms":        "6000",
		"log.cleaner.backoff.ms":           "200",
		"num.network.threads":              "2",
		"num.io.threads":                   "2",
	}
	maps.Copy(set, b.securityProperties())
	maps.Copy(set, b.options.Properties)
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&text, "%s=%s\n", key, set[key])
	}
	return text.String()
}

// format makes the log directory, which Kafka does not do by itself. The users
// of SCRAM are part of it.
func (b *Broker) format() error {
	if err := os.RemoveAll(b.path("data")); err != nil {
		return err
	}
	id := cmp.Or(b.options.ClusterID, "bGFrZXdlaXItdGVzdHMtMQ") // any 16 bytes in base64 will do
	args := append(jvm(b.home, "128m"), "kafka.tools.StorageTool", "format",
		"-t", id, "-c", b.path("server.properties"))
	for _, name := range slices.Sorted(maps.Keys(b.options.Users)) {
		for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
			args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, name, b.options.Users[name]))
		}
	}
	if out, err := exec.Command("java", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format the log directory: %w\n%s", err, out)
	}
	return nil
}

// jvm returns the arguments that a short-lived Java process starts fastest with.
func jvm(home, heap string) []string {
	return []string{
		"-Xmx" + heap, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-cp", filepath.Join(home, "libs", "*"),
	}
}
