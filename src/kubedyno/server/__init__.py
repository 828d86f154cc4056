"""The embedded engine's API server: requests in, answers and watch streams out, over `store` with what `kinds` knows.

`api` handles a request synchronously, whoever brings it: `http` from a socket, `inprocess` from a client in this very
process.
"""
