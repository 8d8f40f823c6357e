#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The dashboard is one that Grafana takes anywhere, and asks only for what there is."""
import json
import re
import shutil
import sys
import tempfile

from metrics import read_table, recorded, wrong_names
from checks import Tap, fails, text_of

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Grafana's own; and the datasource, which is tested for itself.
BUILT_IN = {"__value", "__url_time_range", "__all", "datasource"}


def load():
    return json.loads(text_of("deploy", "grafana", "aclguard.json"))


def expressions(board):
    """(panel's title, expression), and those of the variables."""
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for variable in board["templating"]["list"]:
        match = re.fullmatch(r"label_values\((.*), \w+\)", variable.get("definition", ""))
        if match:
            yield "$" + variable["name"], match[1]


def with_values(expression):
    """As Grafana sends it when all is selected."""
    return re.sub(r"\$\{?\w+\}?", ".*", expression)


def panels_of(board):
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def wrong_panels(board):
    wrong = []
    for panel in panels_of(board):
        title = panel["title"]
        if not panel.get("description", "").endswith("."):
            wrong.append(f"{title}: no description")
        if not panel["fieldConfig"]["defaults"].get("unit"):
            wrong.append(f"{title}: no unit")
        if not panel.get("targets"):
            wrong.append(f"{title}: asks for nothing")
    ids = [panel["id"] for panel in board["panels"]]
    return wrong + [f"id {n} twice" for n in set(ids) if ids.count(n) > 1]


def wrong_places(board):
    """Panels that lie on each other, or beyond the right edge."""
    taken, wrong = {}, []
    for panel in board["panels"]:
        at = panel["gridPos"]
        if at["x"] + at["w"] > 24:
            wrong.append(f"{panel['title']}: too far right")
        for x in range(at["x"], at["x"] + at["w"]):
            for y in range(at["y"], at["y"] + at["h"]):
                other = taken.setdefault((x, y), panel["title"])
                if other != panel["title"]:
                    wrong.append(f"{panel['title']} lies on {other}")
    return sorted(set(wrong))


def wrong_datasources(board):
    """Wherever a source of data is named, it is the variable."""
    wrong = []

    def walk(where, what):
        if isinstance(what, dict):
            if "datasource" in what and what["datasource"] != DATASOURCE:
                wrong.append(f"{where}: {what['datasource']}")
            for key, value in what.items():
                walk(f"{where}.{key}", value)
        elif isinstance(what, list):
            for n, value in enumerate(what):
                walk(f"{where}[{n}]", value)
    walk("", board)
    return wrong + [f"{panel['title']}: no datasource" for panel in panels_of(board)
                    if "datasource" not in panel]


def wrong_variables(board):
    there = {variable["name"] for variable in board["templating"]["list"]} | BUILT_IN
    text = json.dumps(board)
    used = set(re.findall(r"\$\{?(\w+)", text)) | set(re.findall(r"var-(\w+)=", text))
    return [f"there is no variable {name}" for name in sorted(used - there)] + \
           [f"variable {name} is not used" for name in sorted(there - used - BUILT_IN)]


def wrong_legends(board):
    """Labels that legends and columns speak of are labels of something."""
    every = set().union(*read_table().values())
    wrong = []
    for panel in panels_of(board):
        for target in panel["targets"]:
            for label in re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")):
                grouped = re.search(r"\bby \(([^)]*)\)", target["expr"])
                if label not in every or (grouped and label not in grouped[1]):
                    wrong.append(f"{panel['title']}: no label {label}")
        for step in panel.get("transformations", []):
            for label in step["options"]["renameByName"]:
                if label not in every | {"Value"}:
                    wrong.append(f"{panel['title']}: no column {label}")
    return wrong


def unparsable(board):
    """As rules, which promtool parses."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({"groups": [{"name": "dashboard", "rules": [
            {"record": f"n{n}", "expr": with_values(expression)}
            for n, (_, expression) in enumerate(expressions(board))]}]}, file)
        file.flush()
        return fails("promtool", "check", "rules", file.name)


def main():
    tap = Tap()
    board = load()
    tap.result("every panel has a title, a description, a unit", wrong_panels(board))
    tap.result("no panel lies on another", wrong_places(board))
    tap.result("the datasource is a variable", wrong_datasources(board))
    tap.result("variables are there, and used", wrong_variables(board))
    tap.result("what the expressions name exists",
               [line for title, expression in expressions(board)
                for line in wrong_names(title, expression)])
    tap.result("what the legends name exists", wrong_legends(board))
    asked = " ".join(expression for _, expression in expressions(board))
    tap.result("it uses the recording rules",
               [] if sum(name in asked for name in recorded()) > 10 else ["hardly any"])
    if shutil.which("promtool"):
        tap.result("Prometheus parses the expressions", unparsable(board))
    else:
        tap.skip("Prometheus parses the expressions", "no promtool")
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
