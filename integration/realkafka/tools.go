package realkafka

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Tools returns a folder with the command line tools of Kafka under the names
// that they have in its image, for scripts made for that image.
func Tools(t testing.TB) string {
	t.Helper()
	home, err := installed()
	if err != nil {
		t.Fatalf("find Kafka: %v", err)
	}
	dir := t.TempDir()
	for name, class := range map[string]string{"kafka-topics.sh": "TopicCommand", "kafka-console-producer.sh": "ConsoleProducer"} {
		script := fmt.Sprintf("#!/bin/sh\nexec java -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp '%s/libs/*' org.apache.kafka.tools.%s \"$@\"\n", home, class)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
