"""What Kubernetes' API server knows of each kind, as pure functions on objects.

Defaults, rules (validation), admission, conversions between versions, custom resources, table columns. It knows no
requests and keeps nothing: `server` asks it, `store` keeps what comes out.
"""
