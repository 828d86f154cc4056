"""Defaults of requests for tokens."""

from kubedyno.kinds.defaults.walking import Constants

CONSTANTS: Constants = {"authentication.v1.TokenRequestSpec": {"expirationSeconds": 3600}}
