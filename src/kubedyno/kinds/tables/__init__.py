"""Tables: objects as rows of cells, as the API server prints them for `kubectl get`."""
