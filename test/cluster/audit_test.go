package cluster

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
)

// audit is what the API server wrote down of requests of service accounts.
func (c *cluster) audit() (events []object) {
	c.t.Helper()
	f, err := os.Open(filepath.Join(c.dir, "audit.log"))
	c.must(err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var e object
		c.must(json.Unmarshal(s.Bytes(), &e))
		if text(e, "user", "username") == "system:serviceaccount:"+home+":"+account {
			events = append(events, e)
		}
	}
	if len(events) == 0 {
		c.t.Fatal("the API server wrote down no request of the exporter's account")
	}
	return events
}
