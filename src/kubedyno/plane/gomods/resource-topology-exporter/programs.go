//go:build tools

// Package programs names the main packages that this module builds, so that "go mod tidy" keeps what they need.
package programs

import (
	_ "github.com/k8stopologyawareschedwg/resource-topology-exporter/cmd/resource-topology-exporter"
)
