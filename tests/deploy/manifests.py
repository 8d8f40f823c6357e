# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Reading the manifests for Kubernetes."""
import functools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from checks import ROOT, text_of        # noqa: E402    it says where yaml may be

import yaml                             # noqa: E402

FOLDER = "deploy/kubernetes"


def files():
    return sorted(name for name in os.listdir(os.path.join(ROOT, FOLDER))
                  if name.endswith(".yaml"))


@functools.cache
def documents():
    """[(file, document)] of all manifests."""
    return [(name, document) for name in files()
            for document in yaml.safe_load_all(text_of(FOLDER, name))]


def of_kind(kind):
    found, = [document for _, document in documents() if document["kind"] == kind]
    return found


def pod():
    return of_kind("DaemonSet")["spec"]["template"]


def container():
    found, = pod()["spec"]["containers"]
    return found


def capabilities():
    return ["CAP_" + name for name in container()["securityContext"]["capabilities"]["add"]]


def probes():
    return {name: container()[name]["httpGet"]
            for name in ("startupProbe", "readinessProbe", "livenessProbe")}
