"""Defaults of EndpointSlices."""

from kubedyno.kinds.defaults.walking import Constants

CONSTANTS: Constants = {"discovery.v1.EndpointPort": {"name": "", "protocol": "TCP"}}
