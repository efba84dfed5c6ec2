// Command goodput-exporter polls vLLM engines and publishes how much of their work met its promise.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/promslog"
	promslogflag "github.com/prometheus/common/promslog/flag"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/goodput-exporter/goodput-exporter/alerts"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program but for the process around it: it parses the arguments, runs one command and returns the exit
// status: 0, 1 when the command failed, 2 when the arguments are wrong.
func run(ctx context.Context, args []string, out, notes io.Writer) (status int) {
	// kingpin ends the program itself after --help and --version; here that unwinds to the caller.
	type exit int
	defer func() {
		switch e := recover().(type) {
		case nil:
		case exit:
			status = int(e)
		default:
			panic(e)
		}
	}()
	app := kingpin.New("goodput-exporter", "SLO-qualified goodput of vLLM engines, for Prometheus.")
	app.Version(version.Print("goodput-exporter"))
	app.HelpFlag.Short('h')
	app.UsageWriter(out)
	app.ErrorWriter(notes)
	app.Terminate(func(status int) { panic(exit(status)) })
	logging := &promslog.Config{Writer: notes}
	promslogflag.AddFlags(app, logging)

	configFile := func(c *kingpin.CmdClause) *string {
		return c.Flag("config.file", "Configuration file, see docs/config.md.").Default("goodput.yaml").String()
	}
	serve := app.Command("serve", "Poll the engines and serve what they add up to.")
	serveConfig := configFile(serve)
	listen := kingpinflag.AddFlags(serve, "127.0.0.1:9810")
	lifecycle := serve.Flag("web.enable-lifecycle", "POST /-/reload reads the configuration again, as SIGHUP always does.").Bool()

	check := app.Command("check", "Check a configuration and, against an engine's page or a recording, which SLOs it can answer.")
	checkConfig := configFile(check)
	checkSource := check.Arg("source", "URL of an engine's page, or a file that holds one, or a recording.").String()

	replay := app.Command("replay", "Print what would have been served for recorded engines.")
	replayed := replayOptions{Notes: notes}
	replay.Flag("config.file", "Configuration file, see docs/config.md.").Default("goodput.yaml").StringVar(&replayed.ConfigFile)
	replay.Flag("format", "openmetrics: the series, with timestamps. windows: one JSON object a line for each judgement window and quantile.").Default("openmetrics").EnumVar(&replayed.Format, "openmetrics", "windows")
	replay.Flag("step", "Virtual time between two expositions (openmetrics).").Default("15s").DurationVar(&replayed.Step)
	replay.Arg("recording", "Recorded pages, one JSON object a line, plain or gzipped.").Required().StringsVar(&replayed.Recordings)

	demo := app.Command("demo", "Simulate a node with engines, and serve it with the exporter on top. No GPU is needed.")
	played := demoOptions{Notes: notes}
	demo.Flag("scenario", "What happens; --list-scenarios lists them.").Default("fleet").StringVar(&played.Scenario)
	demo.Flag("list-scenarios", "List the scenarios and end.").BoolVar(&played.List)
	demo.Flag("hours", "Simulated hours before the present, so that plots are full at once.").Default("1").Float64Var(&played.Hours)
	demo.Flag("seed", "Seed of the world's dice: the same seed gives the same world.").Default("1").Uint64Var(&played.Seed)
	demo.Flag("web.listen-address", "Address of the exporter; a free port is taken when it is in use.").Default("127.0.0.1:9810").StringVar(&played.Listen)
	demo.Flag("write-recording", "Write the simulated hours to this file, for replay, and end. A file that is there is overwritten.").StringVar(&played.Recording)
	demo.Flag("write-truth", "Beside --write-recording: write what became of every request to this file, one JSON object a line.").StringVar(&played.Truth)

	explain := app.Command("explain", "Say everything about one engine: what its page is, what it lacks, and what came out of it, with the reasons.")
	told := explainOptions{Notes: notes}
	explain.Flag("config.file", "Configuration file, see docs/config.md.").Default("goodput.yaml").StringVar(&told.ConfigFile)
	explain.Flag("for", "How long to poll a URL; one judgement window and two polls by default.").DurationVar(&told.For)
	explain.Flag("engine", "Which engine of a recording, where it holds several.").StringVar(&told.Engine)
	explain.Flag("spans", "Explain the spans of a recording instead: what came, what was matched to which engine and how, what was not and why, and how complete they are.").BoolVar(&told.Spans)
	explain.Flag("json", "Print JSON; docs/explain.md lists the keys.").BoolVar(&told.JSON)
	explain.Arg("source", "URL of an engine's page, a recording, or a file that holds a page.").Required().StringVar(&told.Source)

	record := app.Command("record", "Write the pages of all configured engines, and the spans that they send, to a file, for replay and for bug reports.")
	recorded := recordOptions{Notes: notes}
	record.Flag("config.file", "Configuration file, see docs/config.md.").Default("goodput.yaml").StringVar(&recorded.ConfigFile)
	record.Flag("output", "File to write, ending in .jsonl.gz. It must not be there yet.").Required().StringVar(&recorded.Output)
	record.Flag("for", "How long to record; until Ctrl-C by default.").DurationVar(&recorded.For)
	record.Flag("flush", "How often what was recorded is made safe against a kill of the program.").Default("5s").DurationVar(&recorded.Flush)
	maxSize := record.Flag("max-size", "Size at which a further file is begun, such as 100MB: FILE.2.jsonl.gz and so on.").Bytes()
	record.Flag("hide-label", "A label whose values are replaced by made-up ones, such as model_name; may be repeated.").StringsVar(&recorded.Hide)

	flags := app.Command("engine-flags", "Print the vLLM options with which a configuration's objectives can be answered.")
	flagged := engineFlagsOptions{}
	flags.Flag("config.file", "Configuration file, see docs/config.md.").Default("goodput.yaml").StringVar(&flagged.ConfigFile)
	flags.Flag("vllm-version", "Version of vLLM that is going to be started.").Default("0.32").StringVar(&flagged.Version)
	flags.Flag("engine", "Id of one engine; all of engines.targets by default.").StringVar(&flagged.Engine)
	flags.Flag("model", "Name of the model as the engine serves it; without it every slos[].match.model is taken to fit.").StringVar(&flagged.Model)
	flags.Flag("format", "shell: to be pasted. json: arguments and environment one by one.").Default("shell").EnumVar(&flagged.Format, "shell", "json")

	generate := app.Command("generate", "Write what is generated from the code.")
	docs := generate.Command("docs", "Write metrics.md and config.md.")
	docsDir := docs.Flag("dir", "Directory to write to.").Default("docs").String()
	rules := generate.Command("rules", "Write recording and alerting rules for the objectives of a configuration.")
	ruled := rulesOptions{ConfigFile: configFile(rules)}
	rules.Flag("format", "prometheus: a rule file. operator: a PrometheusRule for the Prometheus operator.").Default("prometheus").EnumVar(&ruled.Format, "prometheus", "operator")
	rules.Flag("output", "File to write to; standard output by default.").StringVar(&ruled.Output)
	rules.Flag("job", "The job that scrapes the exporters.").Default(alerts.DefaultJob).StringVar(&ruled.Job)
	rules.Flag("node-label", "The label of a target that names the node and outlives a restart of the exporter.").Default(alerts.DefaultNodeLabel).StringVar(&ruled.NodeLabel)
	boards := generate.Command("dashboards", "Write the Grafana dashboards, goodput.json, engine.json and gpu.json.")
	boardsDir := boards.Flag("dir", "Directory to write to.").Default("dashboards").String()
	chart := generate.Command("chart", "Write what the Helm chart has from the code: boards, rules, and the schema of config.")
	chartDir := chart.Flag("dir", "Directory of the chart.").Default("deploy/helm/goodput-exporter").String()

	command, err := app.Parse(args)
	if err != nil {
		fmt.Fprintf(notes, "goodput-exporter: %v; see --help\n", err)
		return 2
	}
	switch command {
	case serve.FullCommand():
		err = runServe(ctx, *serveConfig, *lifecycle, listen, promslog.New(logging))
	case check.FullCommand():
		err = runCheck(ctx, *checkConfig, *checkSource, out, notes)
	case replay.FullCommand():
		err = runReplay(ctx, replayed, out)
	case explain.FullCommand():
		err = runExplain(ctx, told, out)
	case record.FullCommand():
		recorded.MaxSize, recorded.Log = int64(*maxSize), promslog.New(logging)
		err = runRecord(ctx, recorded, out)
	case flags.FullCommand():
		err = runEngineFlags(flagged, out)
	case demo.FullCommand():
		if logging.Level.String() == "info" {
			// What the demo prints is enough; warnings tell its story.
			err = logging.Level.Set("warn")
		}
		played.Log = promslog.New(logging)
		err = errors.Join(err, runDemo(ctx, played, out))
	case docs.FullCommand():
		err = runGenerateDocs(*docsDir)
	case rules.FullCommand():
		err = runGenerateRules(ruled, out)
	case boards.FullCommand():
		err = runGenerateDashboards(*boardsDir)
	case chart.FullCommand():
		err = runGenerateChart(*chartDir)
	}
	if err != nil {
		fmt.Fprintf(notes, "goodput-exporter: %v\n", err)
		return 1
	}
	return 0
}
