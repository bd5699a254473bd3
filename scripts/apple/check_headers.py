"""Compares declarations of Objective-C headers with PyObjC's metadata of Apple's SDK, and prints every difference.

    LIBCLANG_FILE=.../libclang.so check_headers.py METADATA FOLDER [--partial | --absent LIST DOCUMENTATION] -- CLANG-ARGUMENTS... HEADER

Looks at what HEADER declares in files under FOLDER: for each protocol, class, category method, property, enumeration and
its constants, structure, block type, constant and function, that Apple has it, with the same types, values, attributes,
inheritance and first macOS version. With --partial (the Foundation stub, which is no full copy) inheritance, versions and
attributes of properties are left out, and types and constants that the metadata does not hold are only listed. With --absent what
Apple declares and HEADER does not must be what LIST says (absent.py), under headings that DOCUMENTATION has rows for.

Not compared: whether a pointer may be nil (the metadata leaves it out for most), values of string constants, macros.
Exit status: 0 without a difference, 1 with one, 2 when the headers cannot be read.
"""

import json
import os
import re
import sys
from collections import Counter
from ctypes import POINTER, Structure, byref, c_int, c_uint

import absent
import clang.cindex as cindex
from clang.cindex import CursorKind as Kind

# Conformances of Apple's that hostmetal leaves out on purpose.
LEFT_OUT = {
    ("MPSKernel", "NSSecureCoding"): "kernels are made, not kept in files",
    ("MTLComputePipelineState", "MTLAllocation"): "the engine does not know a pipeline's size",
    ("MTLSharedEventHandle", "NSSecureCoding"): "there is no XPC to send it through",
    ("MTLSharedTextureHandle", "NSSecureCoding"): "there is no XPC to send it through",
}

# Constants with a value in the header are not in PyObjC's metadata: type and value as in objc2-metal 0.3.2, which is made from the SDK too.
STATIC = {
    "MTLAttributeStrideStatic": ("const NSUInteger", "NSUIntegerMax"),
    "MTLBufferLayoutStrideDynamic": ("const NSUInteger", "NSUIntegerMax"),
}

READONLY, GETTER, RETAIN, COPY, NONATOMIC, STRONG, CLASS = 1, 2, 0x10, 0x20, 0x40, 0x400, 0x1000
# Cursor kinds by number: the bindings' enumeration raises for some that libclang knows.
INTERFACE, CATEGORY, PROTOCOL, PROPERTY, INSTANCE_METHOD, CLASS_METHOD = 11, 12, 13, 14, 16, 17
SUPER_CLASS_REF, PROTOCOL_REF, CLASS_REF, TYPE_REF, RETURNS_RETAINED, IVAR = 40, 41, 42, 43, 420, 15
STRUCT, ENUM, ENUM_CONSTANT, FUNCTION, VARIABLE, TYPEDEF, PARAMETER = 2, 5, 7, 8, 9, 20, 10
TYPE_PARAMETER, ATTRIBUTES, PREPROCESSING, MACRO = 27, 400, 500, 501


class Version(Structure):
    _fields_ = [("major", c_int), ("minor", c_int), ("subminor", c_int)]

    def text(self):
        if self.major < 0:
            return None
        parts = [self.major, max(self.minor, 0)] + ([self.subminor] if self.subminor > 0 else [])
        return ".".join(map(str, parts))


class PlatformAvailability(Structure):
    _fields_ = [("platform", cindex._CXString), ("introduced", Version), ("deprecated", Version), ("obsoleted", Version),
                ("unavailable", c_int), ("message", cindex._CXString)]


def library(lib):
    """Declares the functions that the bindings leave out."""
    lib.clang_getCursorPlatformAvailability.argtypes = [cindex.Cursor, POINTER(c_int), POINTER(cindex._CXString),
        POINTER(c_int), POINTER(cindex._CXString), POINTER(PlatformAvailability), c_int]
    lib.clang_getCursorPlatformAvailability.restype = c_int
    lib.clang_Cursor_getObjCPropertyAttributes.argtypes = [cindex.Cursor, c_uint]
    lib.clang_Cursor_getObjCPropertyAttributes.restype = c_uint
    for name in ("clang_Cursor_getObjCPropertyGetterName", "clang_Cursor_getObjCPropertySetterName"):
        getattr(lib, name).argtypes = [cindex.Cursor]
        getattr(lib, name).restype = cindex._CXString
    lib.clang_Type_getObjCEncoding.argtypes = [cindex.Type]
    lib.clang_Type_getObjCEncoding.restype = cindex._CXString
    lib.clang_Cursor_isObjCOptional.argtypes = [cindex.Cursor]
    lib.clang_Cursor_isObjCOptional.restype = c_uint
    return lib


def string(lib, value):
    return lib.clang_getCString(value) or ""


QUALIFIERS = re.compile(r"\b(_Nonnull|_Nullable|_Nullable_result|_Null_unspecified|__strong|__autoreleasing|__unsafe_unretained"
                        r"|__kindof|oneway)\b")


def plain(text):
    """A type without nullability and ownership, `const` behind what it qualifies, blanks only where C needs them."""
    text = QUALIFIERS.sub(" ", text or "void")
    text = re.sub(r"\bconst ((?:(?:struct|unsigned|long|signed) )*[\w]+(?:<[^*]*?>+)?)(?=\s*(\*|\[|$|,|\)))", r"\1 const", text.strip())
    text = re.sub(r"\bstruct ", "", text)
    text = re.sub(r"\[\d*\]$", "*", text)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ?([^\w ]) ?", r"\1", text).strip()


class Check:
    def __init__(self, metadata, folder, partial, lib):
        self.sdk, self.folder, self.partial, self.lib = metadata, folder, partial, lib
        self.differences, self.counts, self.unknown = [], Counter(), []
        # Names; of members TYPE.NAME.
        self.declared = set()
        self.blocks = {name: text for name, text in metadata["typedefs"].items() if "(^)" in text}

    # ------------------------------------------------------------ what all kinds need

    def differ(self, what, text):
        self.differences.append(f"{what}: {text}")

    def same(self, what, part, ours, apples):
        if ours != apples:
            self.differ(what, f"{part} is {ours}, Apple's is {apples}")

    def missing(self, what):
        if self.partial:
            self.unknown.append(what)
        else:
            self.differ(what, "Apple's SDK has no such declaration")

    def versions(self, cursor):
        """(introduced, deprecated) on macOS, of the declaration itself."""
        always, gone, count = c_int(), c_int(), 8
        messages = cindex._CXString(), cindex._CXString()
        platforms = (PlatformAvailability * count)()
        found = self.lib.clang_getCursorPlatformAvailability(cursor, byref(always), byref(messages[0]), byref(gone),
                                                             byref(messages[1]), platforms, count)
        for platform in platforms[:min(found, count)]:
            if string(self.lib, platform.platform) == "macos":
                return platform.introduced.text(), platform.deprecated.text()
        return None, None

    def check_versions(self, what, cursor, owner, apples):
        if self.partial:
            return
        introduced, deprecated = self.versions(cursor)
        if introduced is None and owner is not None:
            introduced = self.versions(owner)[0]
        self.same(what, "first version", introduced, apples.get("introduced"))
        self.same(what, "deprecation", deprecated, apples.get("deprecated"))

    def type(self, text):
        """A type's plain spelling with names of block types written out."""
        text = plain(text)
        return plain(self.blocks[text]) if text in self.blocks else text

    def same_type(self, what, part, ours, apples):
        ours, apples = self.type(ours), self.type(apples)
        # The metadata spells what a Foundation method returns as `id` or `instancetype` and drops parameters of generics.
        if self.partial:
            generic = re.compile(r"<.*>")
            ours, apples = generic.sub("", ours), generic.sub("", apples)
            loose = {"id", "instancetype", "ObjectType", "KeyType"}
            if ours in loose and apples in loose:
                return
        self.same(what, part, ours, apples)

    # ------------------------------------------------------------ kinds

    def container(self, cursor, apples, bases):
        name = cursor.spelling
        if apples is None:
            return self.missing(name)
        self.counts["protocols" if cursor._kind_id == PROTOCOL else "classes"] += 1
        ours = [child.spelling for child in cursor.get_children() if child._kind_id in (PROTOCOL_REF, SUPER_CLASS_REF)]
        if not self.partial:
            for base in set(ours) - set(bases):
                self.differ(name, f"inherits {base}, Apple's does not")
            for base in set(bases) - set(ours):
                if (name, base) not in LEFT_OUT:
                    self.differ(name, f"does not inherit {base}, Apple's does")
        methods = {(bool(m.get("class_method")), m["selector"]): m for m in apples["methods"]}
        properties = {p["name"]: p for p in apples["properties"]}
        children = list(cursor.get_children())
        places = {(c.location.line, c.location.column): c for c in children if c._kind_id == PROPERTY}
        for child in children:
            kind = child._kind_id
            self.declared.add(f"{name}.{child.spelling}")
            if kind == PROPERTY:
                self.property(cursor, child, properties, methods)
            elif kind in (INSTANCE_METHOD, CLASS_METHOD):
                # Accessors that a property implies are checked with it.
                if (child.location.line, child.location.column) not in places:
                    self.method(cursor, child, methods)
            elif kind not in (PROTOCOL_REF, SUPER_CLASS_REF, CLASS_REF, TYPE_REF, IVAR, TYPE_PARAMETER) and kind < ATTRIBUTES:
                self.differ(name, f"holds `{child.spelling}`, a kind of declaration (number {kind}) that is not checked")

    def method(self, owner, cursor, methods):
        is_class = cursor._kind_id == CLASS_METHOD
        what = f"{'+' if is_class else '-'}[{owner.spelling} {cursor.spelling}]"
        apples = methods.get((is_class, cursor.spelling))
        if apples is None:
            return self.differ(what, "Apple's SDK has no such method")
        self.counts["methods"] += 1
        ours = [child.type.spelling for child in cursor.get_children() if child._kind_id == PARAMETER]
        theirs = [argument.get("type_name") or "void" for argument in apples["args"]]
        if len(ours) != len(theirs):
            return self.differ(what, f"takes {len(ours)} arguments, Apple's takes {len(theirs)}")
        for position, (mine, apple) in enumerate(zip(ours, theirs), 1):
            self.same_type(what, f"argument {position}", mine, apple)
        self.same_type(what, "result", cursor.result_type.spelling, apples["retval"].get("type_name"))
        if owner._kind_id == PROTOCOL and not self.partial:
            self.same(what, "required", not self.lib.clang_Cursor_isObjCOptional(cursor), apples.get("required", True))
        self.check_versions(what, cursor, owner, apples)

    def property(self, owner, cursor, properties, methods):
        what = f"{owner.spelling}.{cursor.spelling}"
        apples = properties.get(cursor.spelling)
        bits = self.lib.clang_Cursor_getObjCPropertyAttributes(cursor, 0)
        getter = string(self.lib, self.lib.clang_Cursor_getObjCPropertyGetterName(cursor))
        accessor = methods.get((bool(bits & CLASS), getter))
        if apples is None:
            return self.differ(what, "Apple's SDK has no such property")
        self.counts["properties"] += 1
        self.same_type(what, "type", cursor.type.spelling, apples["type_name"])
        if self.partial:
            return
        attributes = apples.get("attributes") or []
        named = {a[0]: a[1] for a in attributes if isinstance(a, list)}
        words = {a for a in attributes if isinstance(a, str)}
        self.same(what, "getter", getter, named.get("getter", cursor.spelling))
        for part, ours, theirs in (("readonly", bits & READONLY, "readonly" in words), ("copy", bits & COPY, "copy" in words),
                                   ("nonatomic", bits & NONATOMIC, "nonatomic" in words), ("class", bits & CLASS, "class" in words),
                                   ("strong", bits & (STRONG | RETAIN), words & {"strong", "retain"})):
            self.same(what, part, bool(ours), bool(theirs))
        if accessor is None:
            return self.differ(what, f"Apple's SDK has no getter {getter}")
        self.check_versions(what, cursor, owner, accessor)

    def enumeration(self, cursor):
        constants = [child for child in cursor.get_children() if child._kind_id == ENUM_CONSTANT]
        name = cursor.spelling if re.fullmatch(r"\w+", cursor.spelling) else None
        if name:
            apples = self.sdk["enum_type"].get(name)
            if apples is None:
                self.missing(f"enum {name}")
            else:
                self.counts["enumerations"] += 1
                encoding = {"unsigned long": "Q", "long": "q", "unsigned int": "I", "int": "i", "unsigned char": "C"}
                mine = cursor.enum_type.get_canonical().spelling
                self.same(f"enum {name}", "type", encoding.get(mine, mine), apples["type"])
        for constant in constants:
            self.declared.add(constant.spelling)
            apples = self.sdk["enum"].get(constant.spelling)
            if apples is None:
                self.missing(constant.spelling)
                continue
            self.counts["constants"] += 1
            numbers = 2 ** (8 * cursor.enum_type.get_size())
            self.same(constant.spelling, "value", constant.enum_value % numbers, int(apples["value"]) % numbers)
            if name:
                self.same(constant.spelling, "enumeration", name, apples.get("enum"))

    def layout(self, target):
        """The type's encoding, with the names that structures without a tag have by their typedefs."""
        record = target.get_canonical()
        if record.kind != cindex.TypeKind.RECORD:
            return string(self.lib, self.lib.clang_Type_getObjCEncoding(record))
        declaration = record.get_declaration()
        fields = "".join(self.layout(child.type) for child in declaration.get_children())
        tag = string(self.lib, self.lib.clang_Type_getObjCEncoding(record)).split("=")[0].strip("{}")
        return "{" + (plain(target.spelling) if tag == "?" else tag) + "=" + fields + "}"

    def structure(self, name, fields, encoding):
        apples = self.sdk["structs"].get(name)
        if apples is None:
            return self.missing(f"struct {name}")
        self.counts["structures"] += 1
        self.same(f"struct {name}", "fields", fields, apples["fieldnames"])
        self.same(f"struct {name}", "layout", encoding, apples["typestr"])

    def typedef(self, cursor):
        name, target = cursor.spelling, cursor.underlying_typedef_type
        record = target.get_canonical().get_declaration()
        if record._kind_id == STRUCT and target.get_canonical().kind == cindex.TypeKind.RECORD:
            fields = [child.spelling for child in record.get_children()]
            return self.structure(name, fields, self.layout(cursor.type))
        if name in self.sdk["enum_type"]:
            return None
        apples = self.sdk["typedefs"].get(name)
        if apples is None:
            # The metadata holds no name of an object pointer that is passed by reference; methods' arguments show it.
            if not name.startswith("MTLAutoreleased"):
                self.missing(f"typedef {name}")
            return None
        self.counts["types"] += 1
        self.same(f"typedef {name}", "type", plain(target.spelling), plain(apples))

    def variable(self, cursor):
        apples = self.sdk["externs"].get(cursor.spelling)
        if cursor.spelling in STATIC:
            tokens = [token.spelling for token in cursor.get_tokens()]
            self.counts["constants"] += 1
            return self.same(cursor.spelling, "type and value", (cursor.type.spelling, tokens[-1]), STATIC[cursor.spelling])
        if apples is None:
            return self.missing(cursor.spelling)
        self.counts["string constants"] += 1
        self.same_type(cursor.spelling, "type", cursor.type.spelling, apples["type_name"])
        self.check_versions(cursor.spelling, cursor, None, apples)

    def function(self, cursor):
        what = f"{cursor.spelling}()"
        apples = self.sdk["functions"].get(cursor.spelling)
        if apples is None:
            return self.missing(what)
        self.counts["functions"] += 1
        ours = [argument.type.spelling for argument in cursor.get_arguments()]
        theirs = [argument["type_name"] for argument in apples["args"] if argument.get("type_name")]
        self.same(what, "arguments", [self.type(t) for t in ours], [self.type(t) for t in theirs])
        if not self.partial:
            # PyObjC's `Z` is BOOL, which is `bool` on arm64.
            self.same(what, "result", self.layout(cursor.result_type), apples["retval"]["typestr"].replace("Z", "B"))
            retained = any(child._kind_id == RETURNS_RETAINED for child in cursor.get_children())
            self.same(what, "result is retained", retained, bool(apples["retval"].get("already_cfretained")))
        self.check_versions(what, cursor, None, apples)

    # ------------------------------------------------------------ the walk

    def walk(self, unit):
        for cursor in unit.cursor.get_children():
            file = cursor.location.file
            if file is None or not file.name.startswith(self.folder):
                continue
            kind, name = cursor._kind_id, cursor.spelling
            if kind < PREPROCESSING and kind != CLASS_REF and (kind != PROTOCOL or cursor.is_definition()) or kind == MACRO:
                self.declared.add(name)
            if kind == PROTOCOL and cursor.is_definition():
                apples = self.sdk["formal_protocols"].get(name)
                self.container(cursor, apples, (apples or {}).get("implements") or [])
            elif kind == INTERFACE:
                apples = self.sdk["classes"].get(name)
                bases = [*(apples.get("protocols") or []), apples.get("super")] if apples else []
                self.container(cursor, apples, bases)
            elif kind == ENUM and cursor.is_definition():
                self.enumeration(cursor)
            elif kind == TYPEDEF:
                self.typedef(cursor)
            elif kind == FUNCTION:
                self.function(cursor)
            elif kind == VARIABLE:
                self.variable(cursor)
            elif kind < PREPROCESSING and kind not in (PROTOCOL, PROTOCOL_REF, CLASS_REF, STRUCT, ENUM):  # forward declarations; structures come with typedefs
                self.differ(name or f"kind {kind}", f"a kind of declaration (number {kind}) that is not checked")


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.loads("".join(line for line in file if not line.lstrip().startswith("//")))["definitions"]


def main():
    split = sys.argv.index("--")
    own, arguments = sys.argv[1:split], sys.argv[split + 1:]
    cindex.Config.set_library_file(os.environ["LIBCLANG_FILE"])
    index = cindex.Index.create()
    lib = library(cindex.conf.lib)
    unit = index.parse(arguments[-1], arguments[:-1], options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    for error in errors:
        print(error, file=sys.stderr)
    if errors:
        return 2
    check = Check(read(own[0]), own[1], "--partial" in own, lib)
    check.walk(unit)
    if "--absent" in own:
        check.differences.extend(absent.differences(check.sdk, check.declared, *own[own.index("--absent") + 1:]))
    for difference in check.differences:
        print(difference)
    counts = ", ".join(f"{count} {what}" for what, count in check.counts.items())
    print(f"compared {counts or 'nothing'}; {len(check.differences)} differences"
          + (f"; not in the metadata: {', '.join(check.unknown)}" if check.unknown else ""))
    if not check.counts:
        return 2
    return 1 if check.differences else 0


if __name__ == "__main__":
    sys.exit(main())
