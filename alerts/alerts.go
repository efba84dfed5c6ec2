// Package alerts makes Prometheus's recording and alerting rules from the catalogue, the objectives of a configuration
// and a table of windows. It does not know where the rules are written to, or who is told when one fires.
package alerts

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// Options is what the rules depend on.
type Options struct {
	Objectives []slo.Objective // at least one; names differ
	Job        string          // the job that scrapes the exporters; goodput-exporter by default
	NodeLabel  string          // the label of a target that outlives a restart of the exporter; instance by default
}

// Defaults of Options.
const (
	DefaultJob       = "goodput-exporter"
	DefaultNodeLabel = "instance"
)

// Rule is one recording or alerting rule, in Prometheus's terms. For an alert, Alert is its name and Record is empty.
type Rule struct {
	Record, Alert      string
	Expr               string
	For, KeepFiringFor string
	Labels             map[string]string
	Annotations        map[string]string
	Note               string // for who reads the file; "" for none
}

// Group is a list of rules that Prometheus evaluates one after the other, at the same time of evaluation.
type Group struct {
	Name, Interval string
	Rules          []Rule
}

// Groups is a rule file.
type Groups []Group

// Severities: what a person has to do. A page wakes somebody, a ticket is read on the next working day, an info is for
// who looks.
const (
	page   = "page"
	ticket = "ticket"
	info   = "info"
)

// The two kinds of certainty. Certain holds wherever in its interval the truth lies; possible holds somewhere in it.
const (
	certain  = "certain"
	possible = "possible"
)

const runbooks = "https://github.com/goodput-exporter/goodput-exporter/blob/main/docs/runbooks/"

// Build makes all groups, or says everything that is wrong with the options.
func Build(o Options) (Groups, error) {
	if o.Job == "" {
		o.Job = DefaultJob
	}
	if o.NodeLabel == "" {
		o.NodeLabel = DefaultNodeLabel
	}
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	long := longRates()
	budgets := Group{Name: "goodput-error-budgets", Interval: slowly}
	burns := Group{Name: "goodput-alerts-objectives", Interval: quickly, Rules: []Rule{collapse()}}
	for i := range o.Objectives {
		budgets.Rules = append(budgets.Rules, budgetLeft(&o.Objectives[i])...)
		burns.Rules = append(burns.Rules, burn(&o.Objectives[i])...)
	}
	return Groups{shortRates(), long, spanRates(o.Objectives), gpuRates(), budgets, latencies(), burns, {Name: "goodput-alerts-health", Interval: quickly, Rules: o.health()}, {Name: "goodput-alerts-gpus", Interval: quickly, Rules: o.gpuAlerts()}}, nil
}

// How often rules are evaluated. Counters of objectives move once a minute, so nothing is gained by less than half of
// that; what looks back over hours is heavy and moves slowly. Prometheus forgets a sample after 5 minutes, so nothing
// that others read may be slower than that.
const (
	quickly = "30s"
	slowly  = "2m"
)

var labelForm = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (o *Options) validate() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	need(len(o.Objectives) > 0, "no objective: there is nothing to alert on")
	need(labelForm.MatchString(o.NodeLabel), "%q is not a label name: use letters, digits and _, as in node", o.NodeLabel)
	names := map[string]bool{}
	for _, x := range o.Objectives {
		need(x.Name != "" && !names[x.Name], "objective %q: names must be there and differ", x.Name)
		names[x.Name] = true
		need(x.Objective > 0 && x.Objective < 1, "objective %q: %v is not between 0 and 1", x.Name, x.Objective)
		need(x.Window.Seconds() >= 3600, "objective %q: its window must be at least 1h", x.Name)
	}
	return errors.Join(errs...)
}

// alert is an alerting rule with everything that each of ours has. certainty is "" for what is no interval.
func alert(name, severity, certainty, wait, expr, summary, description string) Rule {
	r := Rule{
		Alert: name, Expr: expr, For: wait, Labels: map[string]string{"severity": severity},
		Annotations: map[string]string{"summary": summary, "description": description, "runbook_url": runbooks + name + ".md"},
	}
	if certainty != "" {
		r.Labels["certainty"] = certainty
	}
	return r
}

// lines joins the lines of an expression.
func lines(l ...string) string { return strings.Join(l, "\n") }
