# Two images. The default is one static binary on nothing:
#   docker build --build-arg=VERSION=$(git describe --tags --always) --build-arg=REVISION=$(git rev-parse HEAD) -t goodput-exporter .
# and beside it one with the child that reads DCGM, for nodes without a dcgm-exporter. It expects libdcgm.so.4 of the host
# or of a DCGM image, mounted where the loader looks (docs/dcgm.md):
#   docker build --target=dcgm -t goodput-exporter:dcgm .
# For several platforms at once, with a bill of materials; `go version -m` reads the modules off the binaries as well:
#   docker buildx build --platform=linux/amd64,linux/arm64 --sbom=true --provenance=true ...
# Bases are pinned to versions. Whoever wants them pinned to their bytes says so: --build-arg=GO_IMAGE=golang:TAG@sha256:...
ARG GO_IMAGE=golang:1.26.8-bookworm
ARG GLIBC_IMAGE=debian:12.12-slim

# Go compiles for every platform on the builder's own.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .

FROM source AS build
ARG VERSION=unknown REVISION=unknown
ARG TARGETOS TARGETARCH
ENV STAMP="-s -w -X github.com/prometheus/common/version.Version=${VERSION} -X github.com/prometheus/common/version.Revision=${REVISION}"
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false -ldflags "${STAMP}" -o /goodput-exporter ./cmd/goodput-exporter

# The child is C as well, and is compiled on the platform that it is for.
FROM ${GO_IMAGE} AS build-dcgm
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown REVISION=unknown
ENV STAMP="-s -w -X github.com/prometheus/common/version.Version=${VERSION} -X github.com/prometheus/common/version.Revision=${REVISION}"
# Bound lazily: libdcgm lacks functions that go-dcgm names, and with -z now the child would not start.
RUN CGO_ENABLED=1 go build -trimpath -buildvcs=false -ldflags "${STAMP} -extldflags=-Wl,-z,lazy" -o /goodput-dcgm ./cmd/goodput-dcgm

# glibc, for the child.
FROM ${GLIBC_IMAGE} AS dcgm
ARG VERSION=unknown REVISION=unknown
LABEL org.opencontainers.image.title="goodput-exporter, with goodput-dcgm" \
      org.opencontainers.image.description="SLO-qualified goodput of vLLM engines, for Prometheus" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/goodput-exporter/goodput-exporter" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=source /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /goodput-exporter /usr/local/bin/goodput-exporter
COPY --from=build-dcgm /goodput-dcgm /usr/local/bin/goodput-dcgm
USER 65532:65532
EXPOSE 9810
ENTRYPOINT ["/usr/local/bin/goodput-exporter"]

# No shell, no package manager, no time zones (nothing is shown in another than UTC or the reader's own); authorities, for engines
# behind public certificates.
FROM scratch AS exporter
ARG VERSION=unknown REVISION=unknown
LABEL org.opencontainers.image.title="goodput-exporter" \
      org.opencontainers.image.description="SLO-qualified goodput of vLLM engines, for Prometheus" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/goodput-exporter/goodput-exporter" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=source /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /goodput-exporter /goodput-exporter
USER 65532:65532
EXPOSE 9810
ENTRYPOINT ["/goodput-exporter"]
