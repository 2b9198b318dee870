package realkafka

import "fmt"

// Run starts a broker in an empty folder and waits until it answers, for a
// program that is no test. The caller ends it with [Broker.Stop]; if the
// program ends first, the broker ends too.
func Run(dir string, o Options) (*Broker, error) {
	home, err := installed()
	if err != nil {
		return nil, fmt.Errorf("find Kafka: %w", err)
	}
	return launch(home, dir, o)
}
