package gpu

import (
	"strings"
	"testing"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
)

// TestWhoHoldsAnInstance: dcgm-exporter names the container of each row. It is kept of instances alone, whose UUID nothing
// else on the page tells.
func TestWhoHoldsAnInstance(t *testing.T) {
	const (
		acme   = `namespace="ml",pod="acme-0",container="vllm"`
		beta   = `namespace="ml",pod="beta-0",container="vllm"`
		old    = `pod_namespace="ml",pod_name="acme-0",container_name="vllm"`
		nobody = `namespace="",pod="",container=""`
	)
	holder := fact.Holder{Namespace: "ml", Pod: "acme-0", Container: "vllm"}
	long := strings.Repeat("x", 1000)
	for sentence, c := range map[string]struct {
		rows []string // labels of rows of one instance
		want fact.Holder
	}{
		"one":                            {[]string{acme, acme}, holder},
		"by the names of old releases":   {[]string{old}, holder},
		"some rows do not tell":          {[]string{nobody, acme, `pod=""`}, holder},
		"nobody":                         {[]string{nobody}, fact.Holder{}},
		"a part is missing":              {[]string{`namespace="ml",pod="acme-0"`}, fact.Holder{}},
		"rows differ":                    {[]string{acme, beta}, fact.Holder{}},
		"and the first is told of again": {[]string{acme, beta, acme}, fact.Holder{}},
		"a text without an end":          {[]string{`namespace="` + long + `",pod="` + long + `",container="` + long + `"`}, fact.Holder{Namespace: long[:maxHolder], Pod: long[:maxHolder], Container: long[:maxHolder]}},
	} {
		page := `DCGM_FI_DEV_POWER_USAGE{UUID="GPU-a",` + beta + "} 300\n"
		for _, labels := range c.rows {
			page += `DCGM_FI_DEV_FB_USED{UUID="GPU-a",GPU_I_ID="1",` + labels + "} 5\n"
		}
		r := decodePage([]byte(page), "")
		if len(r.GPUs) != 2 || r.GPUs[0].Holder != (fact.Holder{}) || r.GPUs[1].Holder != c.want {
			t.Errorf("%s: got %+v", sentence, r.GPUs)
		}
	}
}
