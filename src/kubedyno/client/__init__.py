"""Async client for any API server: REST verbs, list-then-watch, informers, kubeconfig and its credentials."""
