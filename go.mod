module github.com/goodput-exporter/goodput-exporter

go 1.26
