"""Defaults of APIServices."""

from kubedyno.kinds.defaults.walking import Constants

CONSTANTS: Constants = {"apiregistration.v1.ServiceReference": {"port": 443}}
