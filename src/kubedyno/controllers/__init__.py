"""What kube-controller-manager runs, as clients of an API server: pure decisions, one engine to carry them out."""
