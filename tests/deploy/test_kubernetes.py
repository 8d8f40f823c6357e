#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The manifests have the fields that Kubernetes has, hang together, and ask aclguard for
what it offers.  What Kubernetes has is what its own client for Python knows; of the
Prometheus operator's resources there is no such thing here, so those are only compared
with the others."""
import re
import shutil
import sys

import manifests                        # first: it finds the others
import unit
from checks import Tap, complaints, options_of_help, text_of, usage
from manifests import FOLDER, container, of_kind, pod

PORT = 9877
SCHEMAS = {"Namespace": "V1Namespace", "ServiceAccount": "V1ServiceAccount",
           "Service": "V1Service", "DaemonSet": "V1DaemonSet"}
VERSIONS = {"DaemonSet": "apps/v1", "Kustomization": "kustomize.config.k8s.io/v1beta1",
            "PodMonitor": "monitoring.coreos.com/v1",
            "ServiceMonitor": "monitoring.coreos.com/v1"}
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object,
         "IntOrString": object}


def misfits(models, schema, value, where):
    """What is not as the schema has it."""
    if match := re.fullmatch(r"list\[(.*)\]", schema):
        if not isinstance(value, list):
            return [f"{where}: no list"]
        return [line for n, item in enumerate(value)
                for line in misfits(models, match[1], item, f"{where}[{n}]")]
    if match := re.fullmatch(r"dict\(str, (.*)\)", schema):
        if not isinstance(value, dict):
            return [f"{where}: no mapping"]
        return [line for key, item in value.items()
                for line in misfits(models, match[1], item, f"{where}.{key}")]
    if schema in PLAIN:
        good = isinstance(value, PLAIN[schema]) and \
            (schema not in ("int", "str") or not isinstance(value, bool))
        return [] if good else [f"{where}: {value!r} is no {schema}"]
    model = getattr(models, schema)
    if not isinstance(value, dict):
        return [f"{where}: no mapping"]
    types = {model.attribute_map[name]: kind for name, kind in model.openapi_types.items()}
    wrong = [f"{where}: there is no {key}" for key in value if key not in types]
    for key in value.keys() & types.keys():
        wrong += misfits(models, types[key], value[key], f"{where}.{key}")
    return wrong


def wrong_fields(models):
    wrong = []
    for name, document in manifests.documents():
        kind = document["kind"]
        if document["apiVersion"] != VERSIONS.get(kind, "v1"):
            wrong.append(f"{name}: {kind} of {document['apiVersion']}")
        if kind in SCHEMAS:
            wrong += misfits(models, SCHEMAS[kind], document, name)
    return wrong


def wrong_resources():
    """What is not among kustomization.yaml's resources is a monitor."""
    listed = set(of_kind("Kustomization")["resources"]) | {"kustomization.yaml"}
    wrong = [f"kustomization.yaml: there is no {name}" for name in listed - set(manifests.files())]
    for name, document in manifests.documents():
        monitor = name in ("podmonitor.yaml", "servicemonitor.yaml")
        if monitor == (name in listed):
            wrong.append(f"{name}: in kustomization.yaml or not?")
        if document["kind"] not in ("Kustomization", "Namespace") and \
                document["metadata"]["namespace"] != of_kind("Namespace")["metadata"]["name"]:
            wrong.append(f"{name}: of another namespace")
    return wrong


def wrong_names():
    """Labels, ports, volumes, accounts: what refers to what."""
    labels = pod()["metadata"]["labels"]
    job = {"app.kubernetes.io/name": "aclguard"}    # as the rules want it
    spec = pod()["spec"]
    monitors = {kind: of_kind(kind)["spec"] for kind in ("PodMonitor", "ServiceMonitor")}
    pairs = {
        "the DaemonSet's selector": (of_kind("DaemonSet")["spec"]["selector"]["matchLabels"], job),
        "the pod's labels": (labels, job),
        "the service's selector": (of_kind("Service")["spec"]["selector"], job),
        "the service's labels": (of_kind("Service")["metadata"]["labels"], job),
        "the account": (spec["serviceAccountName"], of_kind("ServiceAccount")["metadata"]["name"]),
        "the image": (container()["image"], of_kind("Kustomization")["images"][0]["name"]),
        "the volumes": ({mount["name"] for mount in container()["volumeMounts"]},
                        {volume["name"] for volume in spec["volumes"]}),
        "the container AppArmor is told of": (
            [key.rpartition("/")[2] for key in pod()["metadata"]["annotations"]
             if "apparmor" in key], [container()["name"]]),
    }
    for kind, monitor in monitors.items():
        pairs[f"the {kind}'s selector"] = (monitor["selector"]["matchLabels"], job)
        pairs[f"the {kind}'s job"] = (labels.get(monitor["jobLabel"]), "aclguard")
    return [f"{what}: {left}, {right}" for what, (left, right) in pairs.items() if left != right]


def wrong_ports():
    """One port, called metrics, wherever it is named."""
    container_port, = container()["ports"]
    service_port, = of_kind("Service")["spec"]["ports"]
    containerfile = text_of(FOLDER, "Containerfile")
    numbers = {
        "args": [int(n) for arg in container()["args"]
                 for n in re.findall(r"^--web.listen-address=:(\d+)$", arg)],
        "containerPort": [container_port["containerPort"]],
        "annotation": [int(pod()["metadata"]["annotations"]["prometheus.io/port"])],
        "service": [service_port["port"]],
        "EXPOSE": [int(n) for n in re.findall(r"^EXPOSE (\d+)$", containerfile, re.M)],
        "CMD": [int(n) for n in re.findall(r"listen-address=:(\d+)", containerfile)],
        "prometheus.yml": sorted({int(n) for n in re.findall(
            r":(\d{4})$", text_of("deploy", "prometheus", "prometheus.yml"), re.M)}),
        "the program's default": [int(n) for n in re.findall(
            r"127\.0\.0\.1:(\d+)", " ".join(usage("export").split()))],
    }
    names = {
        "containerPort": container_port["name"], "targetPort": service_port["targetPort"],
        "service": service_port["name"],
        "PodMonitor": of_kind("PodMonitor")["spec"]["podMetricsEndpoints"][0]["port"],
        "ServiceMonitor": of_kind("ServiceMonitor")["spec"]["endpoints"][0]["port"],
        **{name: probe["port"] for name, probe in manifests.probes().items()},
    }
    return [f"{what}: port {found}" for what, found in numbers.items() if found != [PORT]] + \
           [f"{what}: port {name}" for what, name in names.items() if name != "metrics"]


def wrong_options():
    there = options_of_help(usage("export"))
    words = list(container()["args"])
    words += re.findall(r'"([^"]*)"', re.search(r"^CMD \[(.*)\]$",
                                                text_of(FOLDER, "Containerfile"), re.M)[1])
    return [f"aclguard export has no {word}" for word in words
            if word != "export" and word.partition("=")[0] not in there]


def wrong_capabilities():
    ours, of_unit = set(manifests.capabilities()), set(unit.capabilities())
    return [f"the DaemonSet and the systemd unit differ: {sorted(ours ^ of_unit)}"] \
        if ours != of_unit else []


def wrong_image():
    version = re.search(r"^VERSION\s*\?= (\S+)$", text_of("Makefile"), re.M)[1]
    wrong = []
    if of_kind("Kustomization")["images"][0]["newTag"] != version:
        wrong.append(f"kustomization.yaml: not the tag {version}")
    containerfile = text_of(FOLDER, "Containerfile")
    if f"aclguard:{version}" not in containerfile:
        wrong.append(f"Containerfile: not the tag {version}")
    if "ARG PROGRAM=build/static/aclguard\n" not in containerfile:
        wrong.append("Containerfile: not what `make static' makes")
    return wrong


def main():
    tap = Tap()
    from kubernetes.client import models    # pylint: disable=import-outside-toplevel
    tap.result("the fields are Kubernetes' own", wrong_fields(models))
    tap.result("kustomization.yaml lists what there is", wrong_resources())
    tap.result("names that refer to each other agree", wrong_names())
    tap.result("the ports agree", wrong_ports())
    tap.result("the arguments exist", wrong_options())
    tap.result("the capabilities are those of the systemd unit", wrong_capabilities())
    tap.result("the image is of this version", wrong_image())
    if shutil.which("yamllint"):
        tap.result("yamllint takes all YAML", complaints(
            "yamllint", "-c", "tests/deploy/yamllint.yml", "deploy", "tests/deploy"))
    else:
        tap.skip("yamllint takes all YAML", "no yamllint")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
