//go:build tools

// Package programs names the main packages that this module builds, so that "go mod tidy" keeps what they need.
package programs

import (
	_ "github.com/NVIDIA/KAI-scheduler/cmd/admission"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/binder"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/podgroupcontroller"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/podgrouper"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/queuecontroller"
	_ "github.com/NVIDIA/KAI-scheduler/cmd/scheduler"
)
