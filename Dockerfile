# Two images. The default is one static binary on nothing:
#   docker build -t goodput-exporter .
# and beside it one with the child that reads DCGM, for nodes without a dcgm-exporter. It expects libdcgm.so.4 of the host
# or of a DCGM image, mounted where the loader looks (docs/dcgm.md):
#   docker build --target=dcgm -t goodput-exporter:dcgm .
FROM golang:1.26.8-bookworm AS source
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown REVISION=unknown
ENV STAMP="-s -w -X github.com/prometheus/common/version.Version=${VERSION} -X github.com/prometheus/common/version.Revision=${REVISION}"

FROM source AS build
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "${STAMP}" -o /goodput-exporter ./cmd/goodput-exporter

FROM source AS build-dcgm
# Bound lazily: libdcgm lacks functions that go-dcgm names, and with -z now the child would not start.
RUN CGO_ENABLED=1 go build -trimpath -buildvcs=false -ldflags "${STAMP} -extldflags=-Wl,-z,lazy" -o /goodput-dcgm ./cmd/goodput-dcgm

# glibc, for the child.
FROM debian:12.12-slim AS dcgm
COPY --from=build /goodput-exporter /usr/local/bin/goodput-exporter
COPY --from=build-dcgm /goodput-dcgm /usr/local/bin/goodput-dcgm
USER 65532:65532
EXPOSE 9810
ENTRYPOINT ["/usr/local/bin/goodput-exporter"]

FROM scratch AS exporter
COPY --from=build /goodput-exporter /goodput-exporter
USER 65532:65532
EXPOSE 9810
ENTRYPOINT ["/goodput-exporter"]
