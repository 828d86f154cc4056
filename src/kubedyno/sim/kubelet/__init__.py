"""The builtin kubelet: the kubelets of all nodes, played as a client of the API.

What a pod does next (`lifecycle`), what a node says of itself (`nodestates`) and whether a pod may run there
(`admission`, `ledger`) are functions on data; `playing` writes it in time.
"""
