"""Phases and their bundles, from YAML: each field of the right type and in its bounds."""

from typing import Final

from kubedyno.clusterloader.config import NamespaceRange, ObjectBundle, Phase
from kubedyno.clusterloader.language.fields import Fields, names, plain_text
from kubedyno.clusterloader.language.findings import Findings
from kubedyno.clusterloader.language.located import Node
from kubedyno.kit.errors import UsageError
from kubedyno.kube.gotemplate.jsonvalues import with_floats
from kubedyno.kube.meta import dns1123_label_problem, dns1123_subdomain_problem
from kubedyno.kube.selectors import LabelSelector

_PHASE: Final = names("namespaceRange", "namespaceList", "replicasPerNamespace", "tuningSet", "objectBundle")
_RANGE: Final = names("min", "max", "basename")
_OBJECT: Final = names("basename", "objectTemplatePath", "templateFillMap", "listUnknownObjectOptions")
_UNKNOWN: Final = names("labelSelector")
_SELECTOR: Final = names("matchLabels", "matchExpressions")
_EXPRESSION: Final = names("key", "operator", "values")


def decode_phase(node: Node, findings: Findings) -> Phase:
    """A phase. What its names refer to is not looked at here."""
    fields = Fields(node, _PHASE, findings)
    if not isinstance(node.value, dict):
        return Phase(namespaces=None, replicas=0, tuning_set="", bundle=(), place=node.place)
    if not any(key.lower() == "objectbundle" for key in node.value):
        fields.problem("objectBundle", "is missing; name at least one object, with basename and objectTemplatePath")
    elif not fields.has("objectBundle"):
        # Loops of templates may come to none, as over the volumes of no StatefulSets.
        findings.remark(fields.place("objectBundle"), f"{node.path}.objectBundle: it is empty: the phase does nothing")
    return Phase(
        namespaces=_decode_namespaces(fields, findings),
        replicas=fields.whole("replicasPerNamespace", least=0),
        tuning_set=fields.required_text("tuningSet", "Uniform"),
        bundle=tuple(_decode_object(item, findings) for item in fields.items("objectBundle")),
        place=node.place,
    )


def _decode_namespaces(fields: Fields, findings: Findings) -> NamespaceRange | tuple[str, ...] | None:
    span = fields.below("namespaceRange")
    if span is not None and fields.has("namespaceList"):
        fields.problem("namespaceList", "there is a namespaceRange too; leave out one of them")
    listed = fields.texts("namespaceList")
    # An empty name is the cluster's scope.
    for problem in filter(None, map(dns1123_label_problem, filter(None, listed))):
        fields.problem("namespaceList", problem)
    if span is None:
        return listed or None
    below = Fields(span, _RANGE, findings)
    if not isinstance(span.value, dict):
        return None
    first = below.whole("min", least=0)
    last = below.whole("max", first) if below.has("max") else 0
    if last < first:
        below.problem("max", f"{last} is less than min, which is {first}; write {first} or more")
        last = first
    return NamespaceRange(first, last, below.text("basename"))


def _decode_object(node: Node, findings: Findings) -> ObjectBundle:
    fields = Fields(node, _OBJECT, findings)
    if not isinstance(node.value, dict):
        return ObjectBundle(basename="", template_path="", place=node.place)
    basename = fields.required_text("basename", "small-job")
    if basename and (problem := dns1123_subdomain_problem(basename)):
        fields.problem("basename", problem)
    return ObjectBundle(
        basename=basename,
        template_path=fields.required_text("objectTemplatePath", "job.yaml"),
        # Go's decoder makes floats of all numbers, and templates see the difference.
        fill_map=with_floats(fields.mapping("templateFillMap")),
        unknown_selector=_decode_unknown(fields.below("listUnknownObjectOptions"), findings),
        place=node.place,
    )


def _decode_unknown(node: Node | None, findings: Findings) -> str:
    """The selector as a text; empty when there is none, which selects nothing."""
    if node is None:
        return ""
    options = Fields(node, _UNKNOWN, findings)
    selector = options.below("labelSelector")
    if selector is None:
        return ""
    fields = Fields(selector, _SELECTOR, findings)
    labels = fields.below("matchLabels")
    matched = {}
    if labels is not None and fields.mapping("matchLabels"):
        matched = {key: plain_text(below, findings) for key, _, below in labels.entries()}
    expressions = [_decode_expression(item, findings) for item in fields.items("matchExpressions")]
    if not matched and not expressions:
        options.problem("labelSelector", "it is empty, which means every object; name a label in matchLabels")
        return ""
    try:
        text = str(LabelSelector.from_object({"matchLabels": matched, "matchExpressions": expressions}))
        return str(LabelSelector.parse(text))
    except UsageError as error:
        options.problem("labelSelector", str(error))
        return ""


def _decode_expression(node: Node, findings: Findings) -> dict[str, object]:
    fields = Fields(node, _EXPRESSION, findings)
    return {
        "key": fields.text("key"),
        "operator": fields.text("operator"),
        "values": fields.texts("values"),
    }
