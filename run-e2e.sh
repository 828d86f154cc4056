#!/bin/sh
# The front door of scale tests, by the names that they are known by elsewhere: run-e2e.sh cluster-loader2 [options]
set -eu
here=$(dirname -- "$0")
usage() {
    cat <<'TEXT'
Usage: run-e2e.sh TOOL [OPTION...]

Tools:
  cluster-loader2      runs ClusterLoader2's configs (kubedyno clusterloader)

Not offered, since they need real nodes and a real network between them:
  network-performance, kube-dns, core-dns, node-local-dns
TEXT
}
tool=${1:-}
case "$tool" in
cluster-loader2)
    shift
    exec "$here/kubedyno" clusterloader "$@"
    ;;
-h | --help)
    usage
    ;;
network-performance | kube-dns | core-dns | node-local-dns)
    echo "run-e2e.sh: $tool measures a real network between real nodes, which kubedyno does not have: it is not offered" >&2
    exit 2
    ;;
*)
    usage >&2
    exit 2
    ;;
esac
