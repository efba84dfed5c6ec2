package config

import (
	"time"

	"github.com/goodput-exporter/goodput-exporter/exporter/fact"
	"github.com/goodput-exporter/goodput-exporter/exporter/slo"
)

// schema declares every key of the file. Defaults are those of Default and defaultSLO.
func schema() codec[Config] {
	return object("configuration", settleConfig,
		bind("poll", pollKeys(), func(c *Config) *Poll { return &c.Poll },
			"How the engines are asked for their pages."),
		bind("slos", list(sloKeys(), 1, 100, defaultSLO), func(c *Config) *[]SLO { return &c.SLOs },
			"The promises that work is held to. A request qualifies when it meets all clauses of an SLO.").
			must("slos: [{name: chat, clauses: {ttft: 250ms}, objective: 0.95}]"),
		bind("engines", enginesKeys(), func(c *Config) *Engines { return &c.Engines },
			"The engines to poll. A replay takes its engines from the recording."),
		bind("spans", spansKeys(), func(c *Config) *Spans { return &c.Spans },
			"Where engines send a span for each request, as OTLP traces: with them goodput is exact, where without them it is an interval. See the engine-flags subcommand for what an engine must be told."),
		bind("gpu", gpuKeys(), func(c *Config) *GPU { return &c.GPU },
			"Where GPU telemetry comes from, whose a GPU is, and what it costs. Where there is no GPU, nothing needs to be said. See docs/dcgm.md."),
		bind("handlers", handlersKeys(), func(c *Config) *Handlers { return &c.Handlers },
			"The engine's HTTP handlers by what one request to them holds. The request ledger needs to know: its identities hold for one prompt a request."),
		bind("judgement", judgementKeys(), func(c *Config) *Judgement { return &c.Judgement },
			"How goodput is cut into windows."),
		bind("quantiles", quantilesKeys(), func(c *Config) *Quantiles { return &c.Quantiles },
			"The latency quantiles that the exporter publishes itself, each as an interval. Any other quantile over any fleet comes from the grid histograms."),
		bind("grid", mapping(gridNames(), edges(), 0), func(c *Config) *map[fact.Family][]float64 { return &c.Grid },
			"Edges that a latency family is re-exported on, in place of vLLM's own; seconds, tokens for prompt_tokens and output_tokens. The thresholds of all SLOs on the family are always added. Use the same grid everywhere in a fleet, or its histograms cannot be summed."),
	)
}

func pollKeys() codec[Poll] {
	return object("mapping", settlePoll,
		bind("interval", duration("s", 100*time.Millisecond, 150*time.Second), func(p *Poll) *time.Duration { return &p.Interval },
			"Time between two polls of one engine. A page costs the engine 11 to 42 ms of the event loop that also streams tokens, so less than 1s needs allow_fast. At most a quarter of judgement.window."),
		bind("timeout", duration("s", time.Millisecond, 2*time.Minute), func(p *Poll) *time.Duration { return &p.Timeout },
			"Time that one poll may take, at most 0.8 of interval, so that a round ends before the next begins. When it is not given it is 0.75 of interval."),
		bind("max_body", size(64<<10, 1<<30), func(p *Poll) *int64 { return &p.MaxBody },
			"Largest page that is read, decompressed. A page of one engine has about 50 to 250 KiB."),
		bind("allow_fast", boolean(), func(p *Poll) *bool { return &p.AllowFast },
			"Permits an interval below 1s, for tests and engines that serve nobody."),
	)
}

func sloKeys() codec[SLO] {
	return object("SLO", settleSLO,
		bind("name", text("name", "chat", badName), func(s *SLO) *string { return &s.Name },
			"Value of the slo label; unique.").must("name: chat"),
		bind("match", matchKeys(), func(s *SLO) *Match { return &s.Match },
			"Which engines the SLO is about; without it, all."),
		bind("clauses", mapping(clauseNames(), duration("ms", time.Millisecond, 24*time.Hour), 1), func(s *SLO) *map[fact.Family]time.Duration { return &s.Clauses },
			"The latencies that a request must not exceed, all of them: ttft (arrival to first token), tpot (per output token after the first), e2e (arrival to last token), queue (waiting to be scheduled), prefill (scheduled to first token), decode (first to last token), inference (scheduled to last token). A threshold must be an edge of the engine's histogram to be judged from it: see the check subcommand.").
			must("clauses: {ttft: 250ms}"),
		bind("objective", share(), func(s *SLO) *float64 { return &s.Objective },
			"Share of requests that is promised to qualify.").must("objective: 0.95"),
		bind("window", duration("s", time.Hour, 365*24*time.Hour), func(s *SLO) *time.Duration { return &s.Window },
			"Time over which the objective holds: the window of the error budget."),
		bind("policy", policyKeys(), func(s *SLO) *slo.Policy { return &s.Policy },
			"How outcomes enter the accounting: bad ones are counted and never qualify, those under exclude are not counted. Published in goodput_slo_info."),
		bind("classes", classesKeys(), func(s *SLO) *Classes { return &s.Classes },
			"Splits the SLO by kind of request, with clauses and counters for each. Needs spans: a page does not say which requests were long. At most 20 classes, and other."),
	)
}

func matchKeys() codec[Match] {
	return object("mapping", nil,
		bind("model", text("regular expression (RE2)", "llama.*", badPattern), func(m *Match) *string { return &m.Model },
			"Fits the whole model name, as the engine serves it; without it, every model."),
		bind("engine", text("regular expression (RE2)", "gold-.*", badPattern), func(m *Match) *string { return &m.Engine },
			"Fits the whole id of a target; without it, every engine."),
	)
}

func policyKeys() codec[slo.Policy] {
	disposition := func() codec[slo.Disposition] { return oneOf(slo.Bad, slo.Exclude) }
	return object("mapping", nil,
		bind("success", list(text("finish reason", "stop", badReason), 1, 20, func() string { return "" }).that("", distinct), func(p *slo.Policy) *[]string { return &p.Success },
			"Finish reasons with which a sequence may qualify."),
		bind("cancelled", disposition(), func(p *slo.Policy) *slo.Disposition { return &p.Cancelled },
			"Requests that the client gave up."),
		bind("client_errors", disposition(), func(p *slo.Policy) *slo.Disposition { return &p.ClientErrors },
			"Requests answered with HTTP 4xx."),
		bind("admission", disposition(), func(p *slo.Policy) *slo.Disposition { return &p.Admission },
			"Requests refused by the engine's admission limit."),
		bind("failed", disposition(), func(p *slo.Policy) *slo.Disposition { return &p.Failed },
			"Requests answered with any other HTTP 5xx, and sequences that finish with reason error."),
		bind("lost", disposition(), func(p *slo.Policy) *slo.Disposition { return &p.Lost },
			"Requests in flight when their engine died."),
		bind("retries", oneOf(slo.RetriesAttempts, slo.RetriesLogical), func(p *slo.Policy) *slo.Retries { return &p.Retries },
			"Requests of one trace with a prompt of the same length, where the caller's tracing goes through to the engine and it sends spans. attempts: each counts for itself. logical: together they are one request, which began with the first and is judged by the last."),
	)
}

func enginesKeys() codec[Engines] {
	target := object("target", settleTarget,
		bind("id", text("engine id", "a", badID), func(t *Target) *string { return &t.ID },
			"Value of the engine label; unique, without a slash.").must("id: a"),
		bind("url", address(), func(t *Target) *Target { return t },
			"Where the page is; without a path, /metrics. User, password and query are sent to the engine and shown nowhere. No two targets may have one page: its requests would be counted twice.").
			must(`url: "http://127.0.0.1:8000/metrics"`),
		bind("labels", mapping(labelNames(), text("label value", "gold", badLabelValue), 0), func(t *Target) *map[string]string { return &t.Labels },
			"Identity of the engine, put on goodput_engine_info. Not engine, model, slo, class, gpu, dialect, version, url, pod, namespace, node, instance or job."),
		bind("access", optional(accessKeys()), func(t *Target) **Access { return &t.Access },
			"How this target is reached, in place of the whole of engines.access; {} is without anything."),
	)
	return object("mapping", nil,
		bind("targets", list(target, 0, 10_000, func() Target { return Target{} }), func(e *Engines) *[]Target { return &e.Targets },
			"The endpoints, one for each engine (data-parallel ranks share one)."),
		bind("files", list(text("file pattern", "targets/*.yaml", badFilePattern), 0, 100, func() string { return "" }).that("", distinct), func(e *Engines) *[]string { return &e.Files },
			"Files with further targets, in Prometheus's file_sd form, JSON where the name ends in .json and else YAML; patterns as of the shell. They are watched. Paths in this file begin at its own directory. A target's label goodput_id is its id, else its address is; see docs/operations.md."),
		bind("kubernetes", optionalFrom(kubernetesKeys(), defaultKubernetes), func(e *Engines) **Kubernetes { return &e.Kubernetes },
			"Finds engines among the pods of a Kubernetes cluster; {} does so with the defaults below, on the node that the exporter runs on. Without it no pod is looked at. See docs/operations.md."),
		bind("access", accessKeys(), func(e *Engines) *Access { return &e.Access },
			"How all targets are reached that do not say otherwise, those of files included."),
		bind("max_series", whole(100, 1_000_000), func(e *Engines) *int { return &e.MaxSeries },
			"Series that one engine may have on the exporter's page. Beyond it are left out, in this order and each kind whole: the quantiles of sliding windows; the histograms of queue, prefill and decode time and of lengths; those of ttft, tpot, e2e and token gaps; those of what has a span; classes; what else is said of single ranks. State, ledger, SLOs and evidence always stay. goodput_series_dropped says how many."),
	)
}

func accessKeys() codec[Access] {
	keys := credentialKeys("engine", "A user in a target's URL goes before engines.access.")
	return object("mapping", settleAccess, append(keys,
		bind("proxy_url", proxyAddress(), func(a *Access) *Proxy { return &a.Proxy },
			"Proxy to go through. Without it none is used: the variables HTTP_PROXY and HTTPS_PROXY are not looked at."),
	)...)
}

// credentialKeys say what is shown to the server of pages, and which certificates are believed.
func credentialKeys(server, users string) []key[Access] {
	path := func(example string) codec[string] { return text("file path", example, badPath) }
	basic := object("mapping", nil,
		bind("username", text("user name", "metrics", badUser), func(b *BasicAuth) *string { return &b.Username },
			"The user.").must("username: metrics"),
		bind("password_file", path("/etc/goodput/password"), func(b *BasicAuth) *string { return &b.PasswordFile },
			"File that holds the password. Read again for each poll.").must("password_file: /etc/goodput/password"),
	)
	tls := object("mapping", settleTLS,
		bind("ca_file", path("/etc/goodput/ca.crt"), func(t *TLS) *string { return &t.CAFile },
			"Certificates of the authorities that may sign the "+server+"'s, in place of the system's. PEM; read again when it changes, as are the next two."),
		bind("cert_file", path("/etc/goodput/tls.crt"), func(t *TLS) *string { return &t.CertFile },
			"Certificate that the exporter shows to the "+server+". Together with key_file."),
		bind("key_file", path("/etc/goodput/tls.key"), func(t *TLS) *string { return &t.KeyFile },
			"Key of cert_file."),
		bind("server_name", text("host name", "vllm.example", badServerName), func(t *TLS) *string { return &t.ServerName },
			"Name that the "+server+"'s certificate must be for, in place of the host in its URL."),
		bind("insecure_skip_verify", flag(), func(t *TLS) *bool { return &t.InsecureSkipVerify },
			"true accepts every certificate: whoever stands in between can then read the credentials and make up the numbers."),
	)
	return []key[Access]{
		bind("bearer_token_file", path("/etc/goodput/token"), func(a *Access) *string { return &a.BearerTokenFile },
			"File that holds a token, sent as Authorization: Bearer. Read again for each poll."),
		bind("basic_auth", optional(basic), func(a *Access) **BasicAuth { return &a.BasicAuth },
			"User and password. "+users),
		bind("tls_config", tls, func(a *Access) *TLS { return &a.TLS },
			"For https URLs."),
	}
}

func handlersKeys() codec[Handlers] {
	handlers := func(atLeast int) codec[[]string] {
		return list(text("handler path", "/v1/completions", badHandler), atLeast, 200, func() string { return "" }).that("", distinct)
	}
	return object("mapping", settleHandlers,
		bind("one_prompt", handlers(1), func(h *Handlers) *[]string { return &h.OnePrompt },
			"Handlers whose requests hold one prompt: the ledger counts these."),
		bind("many_prompts", handlers(0), func(h *Handlers) *[]string { return &h.ManyPrompts },
			"Handlers whose requests hold any number of prompts or none. An engine that serves them has no ledger, and the reason is published."),
	)
}

func judgementKeys() codec[Judgement] {
	return object("mapping", nil,
		bind("window", duration("s", 10*time.Second, 10*time.Minute), func(j *Judgement) *time.Duration { return &j.Window },
			"Length of a judgement window: joint bounds are computed for whole windows, each from all polls in it. Shorter windows move the counters sooner, longer ones hold fewer requests across their edges."),
	)
}

func quantilesKeys() codec[Quantiles] {
	return object("mapping", nil,
		bind("q", list(share(), 1, 10, func() float64 { return 0 }).that("in increasing order", increasing[float64]), func(q *Quantiles) *[]float64 { return &q.Q },
			"The quantiles."),
		bind("windows", list(duration("s", time.Minute, 6*time.Hour), 1, 4, func() time.Duration { return 0 }).that("in increasing order", increasing[time.Duration]), func(q *Quantiles) *[]time.Duration { return &q.Windows },
			"The sliding windows. Longer ones are Prometheus's business."),
	)
}

func edges() codec[[]float64] {
	return list(number(), 1, 100, func() float64 { return 0 }).that("in increasing order", increasing[float64])
}

// clauseMetrics are the families that a clause may be about: those that have one value a request.
func clauseMetrics() []fact.Family {
	return []fact.Family{fact.TTFT, fact.TPOT, fact.E2E, fact.Queue, fact.Prefill, fact.Decode, fact.Inference}
}
