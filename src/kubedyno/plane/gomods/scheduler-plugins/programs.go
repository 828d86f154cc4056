//go:build tools

// Package programs names the main packages that this module builds, so that "go mod tidy" keeps what they need.
package programs

import (
	_ "sigs.k8s.io/scheduler-plugins/cmd/scheduler"
)
