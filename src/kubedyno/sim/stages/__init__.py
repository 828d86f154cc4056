"""KWOK's Stage objects (`kwok.x-k8s.io/v1alpha1`) interpreted: from files or a cluster, KWOK's own sets unchanged.

`manifest` is what people write, `reading` makes a `stage` of it, `selecting`, `timing` and `steps` decide for one
object, `tracking` remembers between its changes, `playing` and `cluster` do it for all objects of an API.

Where it is better than KWOK on purpose: a change of the object does not begin a delay anew while the same stage stays
chosen; what fails is tried again, whatever the server said; an address stays with its pod; a circle of stages is
noticed; draws depend on the seed. What KWOK ignores is refused when it is read: unknown fields, CEL for a jitter,
unknown types of events. Patches in another user's name are not supported.
"""
