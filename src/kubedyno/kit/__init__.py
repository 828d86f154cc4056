"""What knows no Kubernetes: time, randomness, tasks, pacing, errors, logs, units, files that survive a crash.

If it mentions a pod, it does not belong here.
"""
