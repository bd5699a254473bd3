"""Compares the headers of libdispatch and of the Blocks runtime with Apple's, and prints every difference.

    LIBCLANG_FILE=.../libclang.so check_dispatch.py FOLDER -- CLANG-ARGUMENTS...

For each function, variable, type, constant and macro that dispatch/dispatch.h and Block.h in FOLDER declare, in C, C++ and
Objective-C: Apple's headers of these names, which the arguments find, have it too, with the same type or value.

Not compared: first versions, nullability, whether a function throws, macros' text where it is no number.
Exit status: 0 without a difference, 1 with one, 2 when the headers cannot be read.
"""

import os
import sys

import clang.cindex as cindex

ENUM, ENUM_CONSTANT, FUNCTION, VARIABLE, TYPEDEF, LINKAGE, MACRO = 5, 7, 8, 9, 20, 23, 501
KINDS = {ENUM_CONSTANT: "constants", FUNCTION: "functions", VARIABLE: "variables", TYPEDEF: "types", MACRO: "macros"}
LANGUAGES = {"c": "c", "c++": "cpp", "objective-c": "m"}
INCLUDES = "#include <Block.h>\n#include <dispatch/dispatch.h>\n"

# What hostmetal spells in another way on purpose: ours, Apple's, why.
SPELLED = [
    ("unsigned int", "qos_class_t", "the enumeration comes from sys/qos.h, which is no part of libdispatch"),
    ("dispatch_queue_s", "dispatch_queue_global_s", "a global queue is declared as what it inherits"),
    ("OS_dispatch_queue", "OS_dispatch_queue_global", "a global queue is declared as what it inherits"),
    ("void *[]", "void *[32]", "the size of a class's object is the runtime's affair"),
]


def parse(index, arguments, language, text):
    end = LANGUAGES[language]
    files = [(f"probe.{end}", text), ("/virtual/Foundation/NSObject.h", "#import <objc/NSObject.h>\n")]
    unit = index.parse(f"probe.{end}", ["-x", language, "-I/virtual", *arguments], unsaved_files=files, options=1)
    errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    return unit, errors


def declared(unit, folder=None):
    """Cursors by kind and name; of one folder, or of all headers."""
    found = {}

    def walk(parent):
        for cursor in parent.get_children():
            kind = cursor._kind_id
            if kind == LINKAGE:
                walk(cursor)
                continue
            file = cursor.location.file
            if file is None or folder and not file.name.startswith(folder):
                continue
            if kind == ENUM:
                found.update({(ENUM_CONSTANT, child.spelling): child for child in cursor.get_children()})
            elif kind in KINDS:
                found[kind, cursor.spelling] = cursor

    walk(unit.cursor)
    return found


def what_it_is(cursor):
    """A declaration's type, a constant's value, the parameters of a macro that has some."""
    kind = cursor._kind_id
    if kind == ENUM_CONSTANT:
        return str(cursor.enum_value)
    if kind == MACRO:
        tokens = list(cursor.get_tokens())
        if len(tokens) < 2 or tokens[1].spelling != "(" or tokens[1].extent.start.offset != tokens[0].extent.end.offset:
            return ""
        words = [token.spelling for token in tokens]
        return "".join(words[1:words.index(")") + 1])
    declared_type = cursor.underlying_typedef_type if kind == TYPEDEF else cursor.type
    return declared_type.get_canonical().spelling.replace(" noexcept", "")


def same(ours, apples):
    for mine, theirs, _ in SPELLED:
        apples = apples.replace(theirs, mine)
    return ours == apples


def values(index, arguments, language, names):
    """The macros' numbers; what is no number is left out."""
    lines = [f"enum {{ probe_{name} = (long long)({name}) }};" for name in names]
    unit, errors = parse(index, arguments, language, INCLUDES + "\n".join(lines) + "\n")
    wrong = {error.location.line for error in errors}
    first = INCLUDES.count("\n") + 1
    numbers = {name: cursor.enum_value for (_, name), cursor in declared(unit).items() if name.startswith("probe_")}
    return {name: numbers[f"probe_{name}"] for line, name in enumerate(names, first) if line not in wrong}


def main():
    split = sys.argv.index("--")
    folder, arguments = os.path.join(sys.argv[1], ""), sys.argv[split + 1:]
    cindex.Config.set_library_file(os.environ["LIBCLANG_FILE"])
    index = cindex.Index.create()
    differences, counts = [], {}
    for language in LANGUAGES:
        ours, our_errors = parse(index, [f"-I{folder}", *arguments], language, INCLUDES)
        apples, apple_errors = parse(index, arguments, language, INCLUDES)
        for error in our_errors + apple_errors:
            print(error, file=sys.stderr)
        if our_errors or apple_errors:
            return 2
        theirs = declared(apples)
        numbers = []
        for (kind, name), cursor in declared(ours, folder).items():
            if kind == MACRO and (name.endswith("_") or name.startswith("HOSTMETAL_")):  # hostmetal's own
                continue
            counts[KINDS[kind]] = counts.get(KINDS[kind], 0) + 1
            apple = theirs.get((kind, name))
            if apple is None:
                differences.append(f"{name} ({language}): Apple's headers have no such declaration")
                continue
            mine, other = what_it_is(cursor), what_it_is(apple)
            if not same(mine, other):
                differences.append(f"{name} ({language}): is {mine}, Apple's is {other}")
            if kind == MACRO and not mine:
                numbers.append(name)
        our_numbers = values(index, [f"-I{folder}", *arguments], language, numbers)
        apple_numbers = values(index, arguments, language, numbers)
        for name in sorted(our_numbers.keys() & apple_numbers.keys()):
            if our_numbers[name] != apple_numbers[name]:
                differences.append(f"{name} ({language}): value is {our_numbers[name]}, Apple's is {apple_numbers[name]}")
        counts["numbers"] = counts.get("numbers", 0) + len(our_numbers.keys() & apple_numbers.keys())
    for difference in differences:
        print(difference)
    print("compared " + ", ".join(f"{count} {what}" for what, count in counts.items()) + f" in {len(LANGUAGES)} languages; {len(differences)} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
