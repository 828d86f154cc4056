"""The kubelet's pod-resources API (v1) as real exporters ask it: gRPC on a Unix socket for each node that is chosen."""
