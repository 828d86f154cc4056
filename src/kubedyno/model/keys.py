"""Keys of labels and annotations by which dialects write, and schedulers, nodes and checks read, the same things."""

from typing import Final

WORKLOAD_LABEL: Final = "kubedyno/workload"
"""Of every object of a workload: its name."""

QUEUE_LABEL: Final = "kai.scheduler/queue"
SUBGROUP_LABEL: Final = "kai.scheduler/subgroup-name"
PREEMPTIBILITY_LABEL: Final = "kai.scheduler/preemptibility"
GROUP_ANNOTATION: Final = "pod-group-name"
"""Of a pod: its PodGroup of KAI's."""
COSCHEDULING_LABEL: Final = "scheduling.x-k8s.io/pod-group"
"""Of a pod: its PodGroup of scheduler-plugins."""

FRACTION_ANNOTATION: Final = "gpu-fraction"
"""Of a pod: its share of a GPU, 0 to 1."""
GPU_MEMORY_ANNOTATION: Final = "gpu-memory"
"""Of a pod: its share of a GPU, in MiB."""
SHARED_GPU_LABEL: Final = "runai-gpu-group"
"""The same on a reservation and on all fractions of its GPU."""
