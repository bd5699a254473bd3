#!/usr/bin/env python3
"""Writes metal_extended_vector and metal_packed_vector: the parts of metal_stdlib that are repetition (fields, constructors from
every split into parts, swizzles, operators). `generate.py` rewrites the files beside it; `generate.py --check` fails if they differ."""
import itertools
import os
import sys

SCALARS = "bool char uchar short ushort int uint long ulong half float bfloat".split()
NAMES, COLORS = "xyzw", "rgba"
HERE = os.path.dirname(os.path.abspath(__file__))


def each(n, form, sep=", "):
    """The form for x, y, ... : `{c}` is the component's name, `{i}` its index."""
    return sep.join(form.format(c=NAMES[i], i=i) for i in range(n))


def splits(n):
    """Ways to write n as a sum of parts 1 to 4."""
    if n == 0:
        yield []
    for part in range(1, min(n, 4) + 1):
        for rest in splits(n - part):
            yield [part] + rest


def constructors(n):
    """Every split but the trivial ones (all scalars, one vector of the same type) takes vectors as parts. Templates, so that a scalar is
    not converted to a vector part: float4(v.xy, 1) is an error."""
    for parts in splits(n):
        if len(parts) == 1 or all(p == 1 for p in parts):
            continue
        values, tests = [], []
        for k, part in enumerate(parts):
            tests.append(f"hostmetal::is_part<T, A{k}, {part}>")
            values += [f"T(a{k})"] if part == 1 else [f"a{k}.{NAMES[j]}" for j in range(part)]
        inits = ", ".join(f"{NAMES[i]}({v})" for i, v in enumerate(values))
        types = ", ".join(f"class A{k}" for k in range(len(parts)))
        # Templates that differ in a default argument only would be one: the split is a parameter too.
        split = "".join(map(str, parts))
        yield f"  template <{types}, int Split = {split}, enable_if_t<Split == {split} && {' && '.join(tests)}, int> = 0>"
        params = ", ".join(f"A{k} a{k}" for k in range(len(parts)))
        yield f"  METAL_FUNC constexpr {{name}}({params}) : {inits} {{{{}}}}"


def scalar_conversions(name, n):
    """From one scalar of another type: implicit where the scalars convert so, else explicit (float to bfloat)."""
    for explicit, test in (("", "__is_convertible(S, T)"), ("explicit ", "!__is_convertible(S, T)")):
        yield f"  template <class S, class = enable_if_t<is_arithmetic_v<S> && !is_same_v<S, T> && {test}>{', class = void' if explicit else ''}>"
        yield f"  METAL_FUNC constexpr {explicit}{name}(S all) : {each(n, '{c}(T(all))')} {{}}"


def volatiles(name, n):
    """From and to volatile objects, vectors and packed vectors: templates, so that they are no copy constructor, and for volatile
    objects only. What an operator of them does, it does with their values."""
    for explicit, test in (("", "is_same_v"), ("explicit ", "!is_same_v")):
        yield f"  template <class V, class = enable_if_t<hostmetal::is_volatile_vector<V, {n}> && {test}<make_scalar_t<hostmetal::loaded_t<V>>, T>>{', class = void' if explicit else ''}>"
        yield f"  METAL_FUNC constexpr {explicit}{name}(V &v) : {each(n, '{c}(T(v.{c}))')} {{}}"
    yield f"  METAL_FUNC constexpr void operator=(hostmetal::stored<vec<T, {n}>> v) volatile {{ {each(n, '{c} = v.value.{c};', ' ')} }}"
    for op in "+ - * / % & | ^ << >>".split():
        yield f"  template <class U> METAL_FUNC constexpr void operator{op}=(U b) volatile {{ *this = vec<T, {n}>(*this) {op} b; }}"
    for op in "++ --".split():
        yield (f"  METAL_FUNC constexpr {name} operator{op}() volatile {{ {name} v = *this; *this = {op}v; return v; }}"
               f" METAL_FUNC constexpr {name} operator{op}(int) volatile {{ {name} v = *this, old = v; *this = {op}v; return old; }}")


def increments(name, n):
    for op in "++ --".split():
        yield (f"  METAL_FUNC constexpr {name} &operator{op}() {{ {each(n, op + '{c};', ' ')} return *this; }}"
               f" METAL_FUNC constexpr {name} operator{op}(int) {{ {name} old = *this; {op}*this; return old; }}")


def elements(n):
    """A value that is no object, as a swizzle is, has elements to read but none to write. Those of a volatile object are volatile."""
    limit = f'__attribute__((diagnose_if(i < 0 || i >= {n}, "the vector has no such element", "warning")))'
    for result, of in (("T &", "&"), ("const T &", "const &"), ("T ", "&&"), ("volatile T &", "volatile &"), ("const volatile T &", "const volatile &")):
        yield f"  METAL_FUNC constexpr {result}operator[](int i) {of} {limit} {{ return (&x)[i]; }}"


def swizzles(n):
    """Properties for .r .g .b .a and for every swizzle of 2 to 4 components; writable when no component repeats. Those of volatile
    objects are accesses of volatile components."""
    for i in range(n):
        c, r = NAMES[i], COLORS[i]
        yield (f"  METAL_FUNC constexpr T __get_{c}() const {{ return {c}; }} METAL_FUNC constexpr void __put_{c}(T v) {{ {c} = v; }}"
               f" METAL_FUNC constexpr T __get_{c}() const volatile {{ return {c}; }} METAL_FUNC constexpr void __put_{c}(T v) volatile {{ {c} = v; }}"
               f" __declspec(property(get = __get_{c}, put = __put_{c})) T {r};")
    for length in (2, 3, 4):
        for index in itertools.product(range(n), repeat=length):
            name = "".join(NAMES[i] for i in index)
            color = "".join(COLORS[i] for i in index)
            values = ", ".join(NAMES[i] for i in index)
            line = "".join(f"  METAL_FUNC constexpr vec<T, {length}> __get_{name}() {of} {{ return vec<T, {length}>({values}); }}"
                           for of in ("const", "const volatile"))
            access = f"get = __get_{name}"
            if len(set(index)) == length:
                puts = " ".join(f"{NAMES[i]} = v.{NAMES[k]};" for k, i in enumerate(index))
                line += "".join(f" METAL_FUNC constexpr void __put_{name}(vec<T, {length}> v) {of}{{ {puts} }}" for of in ("", "volatile "))
                access += f", put = __put_{name}"
            yield line + "".join(f" __declspec(property({access})) vec<T, {length}> {s};" for s in (name, color))


def vector(n):
    align = 4 if n == 3 else n
    out = [f"template <class T> struct alignas({align} * sizeof(T)) vec<T, {n}> {{", "  typedef T value_type;",
           f"  T {each(n, '{c}')};", "  vec() = default;",
           f"  METAL_FUNC constexpr vec(T all) : {each(n, '{c}(all)')} {{}}",
           *scalar_conversions("vec", n),
           f"  METAL_FUNC constexpr vec({each(n, 'T a{c}')}) : {each(n, '{c}(a{c})')} {{}}",
           # In braces the components that are not given are zero, also where there is one: float4{1} is not float4(1).
           f"  METAL_FUNC constexpr vec(std::initializer_list<T> l) : {each(n, '{c}(l.__at({i}))')} {{}}",
           *volatiles("vec", n),
           "  template <class U, class = enable_if_t<!is_same_v<U, T>>>",
           f"  METAL_FUNC constexpr explicit vec(const vec<U, {n}> &v) : {each(n, '{c}(T(v.{c}))')} {{}}",
           "  template <class U, class = enable_if_t<!is_same_v<U, T>>>",
           f"  METAL_FUNC constexpr explicit vec(const packed_vec<U, {n}> &v) : {each(n, '{c}(T(v.{c}))')} {{}}"]
    out += [line.format(name="vec") for line in constructors(n)]
    out += elements(n)
    out += swizzles(n)
    for op in "+ - * / % & | ^".split():
        out.append(f"  METAL_FUNC friend constexpr vec operator{op}(const vec &a, const vec &b) {{ return vec({each(n, '(T)(a.{c} ' + op + ' b.{c})')}); }}")
    for op in "<< >>".split():
        # The amount is taken modulo the width of the element.
        body = each(n, "(T)(a.{c} " + op + " ((int)b.{c} & (int)(8 * sizeof(T) - 1)))")
        out.append(f"  template <class U> METAL_FUNC friend constexpr vec operator{op}(const vec &a, const vec<U, {n}> &b) {{ return vec({body}); }}")
        body = each(n, "(T)(a.{c} " + op + " amount)")
        out.append(f"  METAL_FUNC friend constexpr vec operator{op}(const vec &a, T b) {{ int amount = (int)b & (int)(8 * sizeof(T) - 1); return vec({body}); }}")
        out.append(f"  METAL_FUNC friend constexpr vec operator{op}(T a, const vec &b) {{ return vec(a) {op} b; }}")
    for op in "+ - * / % & | ^ << >>".split():
        out.append(f"  template <class U> METAL_FUNC constexpr vec &operator{op}=(const U &b) {{ return *this = *this {op} b; }}")
    for op in "== != < > <= >= && ||".split():
        out.append(f"  METAL_FUNC friend constexpr vec<bool, {n}> operator{op}(const vec &a, const vec &b) {{ return vec<bool, {n}>({each(n, '(a.{c} ' + op + ' b.{c})')}); }}")
    for op in "- ~".split():
        out.append(f"  METAL_FUNC friend constexpr vec operator{op}(const vec &a) {{ return vec({each(n, '(T)(' + op + 'a.{c})')}); }}")
    out += ["  METAL_FUNC friend constexpr vec operator+(const vec &a) { return a; }",
            f"  METAL_FUNC friend constexpr vec<bool, {n}> operator!(const vec &a) {{ return vec<bool, {n}>({each(n, '!a.{c}')}); }}"]
    out += increments("vec", n)
    out.append("};")
    args = [("a", "A"), ("b", "B"), ("d", "D")]
    for count in (1, 2, 3):
        types = ", ".join(f"class {t}" for _, t in args[:count])
        params = ", ".join(f"const vec<{t}, {n}> &{a}" for a, t in args[:count])
        call = each(n, "f(" + ", ".join(a + ".{c}" for a, _ in args[:count]) + ")")
        first = "f(" + ", ".join(a + ".x" for a, _ in args[:count]) + ")"
        out.append(f"template <class F, {types}> METAL_FUNC constexpr auto __map(F f, {params}) {{ return vec<decltype({first}), {n}>({call}); }}")
    out.append(f"template <class T, class F> METAL_FUNC constexpr T __fold(F f, const vec<T, {n}> &a) {{ return "
               + {2: "f(a.x, a.y)", 3: "f(f(a.x, a.y), a.z)", 4: "f(f(f(a.x, a.y), a.z), a.w)"}[n] + "; }")
    return out


def packed(n):
    out = [f"template <class T> struct packed_vec<T, {n}> {{", "  typedef T value_type;", f"  T {each(n, '{c}')};",
           "  packed_vec() = default;",
           f"  METAL_FUNC constexpr packed_vec(T all) : {each(n, '{c}(all)')} {{}}",
           *scalar_conversions("packed_vec", n),
           f"  METAL_FUNC constexpr packed_vec({each(n, 'T a{c}')}) : {each(n, '{c}(a{c})')} {{}}",
           f"  METAL_FUNC constexpr packed_vec(std::initializer_list<T> l) : {each(n, '{c}(l.__at({i}))')} {{}}",
           *volatiles("packed_vec", n),
           f"  METAL_FUNC constexpr packed_vec(const vec<T, {n}> &v) : {each(n, '{c}(v.{c})')} {{}}",
           "  template <class U, class = enable_if_t<!is_same_v<U, T>>>",
           f"  METAL_FUNC constexpr explicit packed_vec(const vec<U, {n}> &v) : {each(n, '{c}(T(v.{c}))')} {{}}",
           "  template <class U, class = enable_if_t<!is_same_v<U, T>>>",
           f"  METAL_FUNC constexpr explicit packed_vec(const packed_vec<U, {n}> &v) : {each(n, '{c}(T(v.{c}))')} {{}}"]
    out += [line.format(name="packed_vec") for line in constructors(n)]
    out += [f"  METAL_FUNC constexpr operator vec<T, {n}>() const {{ return vec<T, {n}>({each(n, '{c}')}); }}", *elements(n)]
    out += swizzles(n)
    full = f"vec<T, {n}>"
    for op in "+ - * / % & | ^ << >> == != < > <= >= && ||".split():
        for left, right in (("const packed_vec &", "const packed_vec &"), ("const packed_vec &", "T "), ("T ", "const packed_vec &"),
                            ("const packed_vec &", f"const {full} &"), (f"const {full} &", "const packed_vec &")):
            out.append(f"  METAL_FUNC friend constexpr auto operator{op}({left}a, {right}b) {{ return {full}(a) {op} {full}(b); }}")
    for op in "+ - * / % & | ^ << >>".split():
        out.append(f"  template <class U> METAL_FUNC constexpr packed_vec &operator{op}=(const U &b) {{ return *this = {full}(*this) {op} b; }}")
    for op in "- + ~ !".split():
        out.append(f"  METAL_FUNC friend constexpr auto operator{op}(const packed_vec &a) {{ return {op}{full}(a); }}")
    out += increments("packed_vec", n)
    out.append("};")
    return out


def header(title, guard, includes, body, tail):
    yield f"// {title}"
    yield "// Generated by generate.py; edit that."
    yield f"#if !defined({guard}) && defined(HOSTMETAL_DECLARATIONS)"
    yield f"#define {guard}"
    yield from (f'#include "{name}"' for name in includes)
    yield "namespace metal {"
    yield from body
    yield "} // namespace metal"
    yield from tail
    yield "#endif"


def typedefs(prefix, template):
    names = [(t, n) for t in SCALARS for n in (2, 3, 4)]
    inside = [f"typedef {template}<{t}, {n}> {prefix}{t}{n};" for t, n in names]
    outside = [f"using metal::{prefix}{t}{n};" for t, n in names] + [f"using metal::{template};"]
    return inside, outside


def files():
    inside, outside = typedefs("", "vec")
    body = sum((vector(n) for n in (2, 3, 4)), []) + inside
    yield "metal_extended_vector", header(
        "Vector types (MSL 2.2): plain structs of scalars, so that the optimiser splits them and vectorises across threads; swizzles are properties.",
        "HOSTMETAL_METAL_EXTENDED_VECTOR", ["metal_types"], body, outside)
    inside, outside = typedefs("packed_", "packed_vec")
    body = sum((packed(n) for n in (2, 3, 4)), []) + inside
    yield "metal_packed_vector", header(
        "Packed vector types (MSL 2.2.3): aligned to one element; arithmetic gives the full vector type.",
        "HOSTMETAL_METAL_PACKED_VECTOR", ["metal_extended_vector"], body, outside)


def main():
    stale = False
    for name, lines in files():
        text = "\n".join(lines) + "\n"
        path = os.path.join(HERE, name)
        if sys.argv[1:] == ["--check"]:
            with open(path) as f:
                if f.read() != text:
                    print(f"{name} is not what generate.py writes", file=sys.stderr)
                    stale = True
        else:
            with open(path, "w") as f:
                f.write(text)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
