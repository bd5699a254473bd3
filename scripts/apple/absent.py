"""Holds absent.txt, the names of Apple's that hostmetal's headers do not declare, to what is so.

A protocol or class that is not declared stands for its members, an enumeration for its constants, a property for its accessors.
"""

import re


def accessors(properties):
    """Selectors that are there because a property is."""
    for each in properties:
        name = each["name"]
        named = {a[0]: a[1] for a in each.get("attributes") or [] if isinstance(a, list)}
        yield named.get("getter", name)
        yield named.get("setter", f"set{name[0].upper()}{name[1:]}:")


def missing(sdk, declared):
    """What Apple declares and `declared` lacks."""
    names = set()
    for kind in ("classes", "formal_protocols"):
        for owner, apples in sdk[kind].items():
            if owner not in declared:
                names.add(owner)
                continue
            implied = set(accessors(apples["properties"]))
            members = {p["name"] for p in apples["properties"]} | {m["selector"] for m in apples["methods"]} - implied
            names |= {f"{owner}.{member}" for member in members}
    for kind in ("enum_type", "structs", "typedefs", "externs", "functions"):
        names |= set(sdk[kind])
    names |= {name for name, constant in sdk["enum"].items() if constant.get("enum") in declared | {None}}
    return names - declared


def read(path):
    """Headings, and each entry with the expression for it."""
    headings, entries = [], []
    with open(path, encoding="utf-8") as file:
        for line in map(str.strip, file):
            if line.startswith("= "):
                headings.append(line[2:])
            elif line and not line.startswith("#"):
                entries.append((line, re.compile(".*".join(map(re.escape, line.split("*"))))))
    return headings, entries


def differences(sdk, declared, path, documentation):
    """What is wrong with the list at `path`, as texts."""
    absent = missing(sdk, declared)
    headings, entries = read(path)
    listed = set()
    for text, expression in entries:
        found = {name for name in absent if expression.fullmatch(name)}
        if not found:
            yield f"{path}: `{text}` is no name of Apple's that is not declared"
        for name in found & listed:
            yield f"{path}: {name} is listed twice, once by `{text}`"
        for name in sorted(declared):
            if expression.fullmatch(name):
                yield f"{path}: {name} is declared, but `{text}` says that it is not"
        listed |= found
    for name in sorted(absent - listed):
        yield f"{name}: Apple declares it; it is neither declared here nor listed in {path}"
    with open(documentation, encoding="utf-8") as file:
        rows = file.read()
    for heading in headings:
        if f"\n| {heading} |" not in rows:
            yield f"{documentation}: no row tells of `{heading}`"
