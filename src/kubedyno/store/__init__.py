"""What etcd and the API server's watch cache are to Kubernetes, in memory: revisions, watch logs, indexes.

Pure and synchronous. It knows nothing of HTTP, admission, validation or defaults: it keeps what it is given.
"""
