package realkafka

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// homeVariable names the folder that holds libs/ of Kafka. Without it the
// install script is asked, which is quick once it has run.
const homeVariable = "LAKEWEIR_KAFKA"

// installed returns the folder of Kafka, and asks for it once a process.
var installed = sync.OnceValues(func() (string, error) {
	if home := os.Getenv(homeVariable); home != "" {
		return home, nil
	}
	script, err := findScript()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("bash", script)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w", script, err)
	}
	return string(bytes.TrimSpace(out)), nil
})

// findScript looks for the install script in the folders above the test's.
func findScript() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		script := filepath.Join(dir, "kafka", "install.sh")
		if _, err := os.Stat(script); err == nil {
			return script, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no kafka/install.sh above the working directory; set " + homeVariable)
		}
		dir = parent
	}
}
