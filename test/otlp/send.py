"""Sends spans as vLLM does: an SDK with a batch processor, set up by the environment that vLLM is started with.

Each line of standard input is a span: {"start": s, "end": s, "sampled": true, "attributes": {...}}. It is sent as it is
read; at the end of the input what is left is sent, and the program ends.
"""
import json
import os
import sys

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc")
if protocol == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

provider = TracerProvider(resource=Resource.create())
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
tracer = provider.get_tracer("vllm.tracing.otel")
for line in sys.stdin:
    one = json.loads(line)
    caller = {"traceparent": f"00-{os.urandom(16).hex()}-{os.urandom(8).hex()}-{'01' if one['sampled'] else '00'}"}
    span = tracer.start_span(
        "llm_request",
        kind=trace.SpanKind.SERVER,
        start_time=int(one["start"] * 1e9),
        context=TraceContextTextMapPropagator().extract(caller),
    )
    for key, value in one["attributes"].items():
        span.set_attribute(key, value)
    span.end(end_time=int(one["end"] * 1e9))
provider.shutdown()
