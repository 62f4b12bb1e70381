#!/usr/bin/env python3
"""Counts the figures of docs/decisions/0138-the-house-as-built.md in TREE, else in this tree: python3 tests/house.py [TREE]

It is a scanner and no parser: comments and the insides of strings are masked, then items are found by their words and
their ends by braces. What counts as a test is what tidy takes for one (tests.rs, *_tests.rs, folders tests and benches,
and here also `mod tests {`); everything else is the product.
"""
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
files = subprocess.run(["git", "ls-files", "*.rs"], cwd=root, capture_output=True, text=True, check=True).stdout.split()

MASKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|\b(?:b|c)?r(#*)".*?"\1|\b[bc]?"(?:\\.|[^"\\])*"|"(?:\\.|[^"\\])*"|b?\'(?:\\(?:u\{[^}]*\}|x..|.)|[^\\\'\n])\'',
    re.S,
)


def mask(text):
    """The code alone: as long as the text, with the same lines."""
    return MASKED.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def is_test(path):
    *folders, name = path.split("/")
    return name == "tests.rs" or name.endswith("_tests.rs") or "tests" in folders or "benches" in folders


def closing(code, at):
    """Where the brace that opens at `at` closes."""
    depth = 0
    for m in re.compile(r"[{}]").finditer(code, at):
        depth += 1 if m.group() == "{" else -1
        if depth == 0:
            return m.start()
    return len(code)


def crate_of(path):
    return path.split("/src/")[0] if "/src/" in path else path.rsplit("/", 1)[0]


def without_inner_tests(code):
    for m in re.finditer(r"#\[cfg\(test\)\]\s*mod \w+ \{", code):
        end = closing(code, m.end() - 1)
        code = code[: m.start()] + re.sub(r"[^\n]", " ", code[m.start() : end + 1]) + code[end + 1 :]
    return code


raw = {path: (root / path).read_text() for path in files}
product = {path: without_inner_tests(mask(text)) for path, text in raw.items() if not is_test(path)}


def lines_of(texts):
    return sum(text.count("\n") for text in texts)


# Functions: lines from `fn` to the brace that closes it, without doc comments and attributes.
FN = re.compile(r"\bfn\s+(?:r#)?(\w+)")
functions = []
for path, code in product.items():
    for m in FN.finditer(code):
        depth = 0
        for b in re.compile(r"[()\[\]{};]").finditer(code, m.end()):
            c = b.group()
            if c in "([":
                depth += 1
            elif c in ")]":
                depth -= 1
            elif depth == 0:
                if c == "{":
                    end = closing(code, b.start())
                    functions.append((code.count("\n", m.start(), end) + 1, m.group(1), path))
                break
functions.sort()


def part(p):
    return functions[min(len(functions) - 1, int(len(functions) * p))][0]


# Types: struct, enum, union, trait and type, but for the associated types inside of `impl` and `trait`.
TYPE = re.compile(r"\b(?:struct|enum|union|trait|type)\s+(?:r#)?([A-Z]\w*)")
types = []
for path, code in product.items():
    inside = []
    for m in re.finditer(r"(?m)^[ \t]*(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:impl|trait)\b[^;{]*\{", code):
        inside.append((m.end(), closing(code, m.end() - 1)))
    for m in TYPE.finditer(code):
        if m.group().startswith("type") and any(a <= m.start() < b for a, b in inside):
            continue
        types.append((m.group(1), crate_of(path), path))
by_name = Counter(name for name, _, _ in types)
by_crate = Counter((crate, name) for name, crate, _ in types)
shared_names = sum(n for n in by_name.values() if n > 1)
crate_shared = sum(n for n in by_crate.values() if n > 1)

# `pub` items: what says `pub` and neither `pub(crate)` nor `pub(super)`; fields are counted apart.
PUB = re.compile(r"(?m)^\s*pub\s+(?:(?:const|async|unsafe|extern)\s+)*(fn|struct|enum|union|trait|type|const|static|mod|use|macro)\b|^\s*pub\s+const\b")
pubs = Counter(crate_of(path) for path, code in product.items() for _ in PUB.finditer(code))
fields = sum(len(re.findall(r"(?m)^\s*pub\s+(?:r#)?[a-z_]\w*\s*:", code)) for code in product.values())

# Imports: each path in `use` counts for the deepest file of the crate that it names. `paths` finds those in code too, and `same_room`
# leaves out imports between a module and those inside of it.
def module_of(path):
    inside = path.split("/src/")[1] if "/src/" in path else path.rsplit("/", 1)[1]
    names = inside[:-3].split("/")
    return tuple(names[:-1] if names[-1] in ("lib", "main", "mod") else names)


def leaves(prefix, tree):
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    names = tuple(name.strip() for name in head.split(" as ")[0].split("::") if name.strip())
    if not brace:
        return [prefix + names] if tree else []
    inside, found, depth, start = rest.rsplit("}", 1)[0], [], 0, 0
    for at, c in enumerate(inside):
        depth += (c == "{") - (c == "}")
        if c == "," and depth == 0:
            found += leaves(prefix + names, inside[start:at])
            start = at + 1
    return found + leaves(prefix + names, inside[start:])


def uses(code):
    for m in re.finditer(r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+)?use\s+([^;]*);", code):
        yield from leaves((), m.group(1))


def paths(code):
    yield from uses(code)
    for m in re.finditer(r"(?<!::)\b([a-z_]\w*(?:::\w+)+)", code):
        yield tuple(m.group(1).split("::"))


def resolve(own, path):
    at = {"crate": [], "super": list(own), "self": list(own)}.get(path[0])
    if at is None:
        return None
    for name in path:
        if name == "super":
            at[-1:] = []
        elif name not in ("crate", "self"):
            at.append(name)
    return tuple(at)


def circles(arrows):
    """The strongly connected parts of more than one (Kosaraju), the largest first."""
    order, seen = [], set()

    def visit(start, graph, out):
        stack = [(start, iter(graph.get(start, ())))]
        seen.add(start)
        while stack:
            node, rest = stack[-1]
            for other in rest:
                if other not in seen:
                    seen.add(other)
                    stack.append((other, iter(graph.get(other, ()))))
                    break
            else:
                stack.pop()
                out.append(node)

    for node in list(arrows):
        if node not in seen:
            visit(node, arrows, order)
    back = defaultdict(set)
    for a, others in arrows.items():
        for b in others:
            back[b].add(a)
    seen.clear()
    parts = []
    for node in reversed(order):
        if node not in seen:
            out = []
            visit(node, back, out)
            parts.append(sorted(out))
    return sorted((p for p in parts if len(p) > 1), key=len, reverse=True)


def arrows_of(crate, find, same_room):
    here = {module_of(path): path for path in product if "/src/" in path and crate_of(path) == crate}
    arrows = {path: set() for path in here.values()}
    for own, path in here.items():
        for names in find(product[path]):
            absolute = own + names if own + names[:1] in here else resolve(own, names)
            if absolute is None:
                continue
            known = next((absolute[:n] for n in range(len(absolute), -1, -1) if absolute[:n] in here), None)
            if known is None or known == own or (same_room and (own[: len(known)] == known or known[: len(own)] == own)):
                continue
            arrows[path].add(here[known])
    return arrows


def rooms_of(crate, arrows):
    rooms = defaultdict(set)
    for a, others in arrows.items():
        for b in others:
            x, y = (module_of(p)[:1] for p in (a, b))
            if x and y and x != y:
                rooms[x[0]].add(y[0])
                rooms.setdefault(y[0], set())
    return rooms


crates = sorted({crate_of(path) for path in product if "/src/" in path})


def percent(part_, whole):
    return f"{100 * part_ / whole:.1f} % ({part_:,} of {whole:,})"


lines = lines_of(raw[p] for p in product)
docs = sum(1 for p in product for line in raw[p].splitlines() if re.match(r"\s*//[/!]", line))
print(f"files: {len(files):,}, of which {len(product):,} are no tests")
print(f"lines: {lines_of(raw.values()):,}, of which {lines:,} are no tests")
print(f"functions: {len(functions):,}; lines: median {part(0.5)}, p90 {part(0.9)}, p99 {part(0.99)}, longest {functions[-1]}")
print("over 70 lines:", sum(1 for length, *_ in functions if length > 70))
print("functions of at most four letters:", percent(sum(1 for _, name, _ in functions if len(name) <= 4), len(functions)))
print("doc lines:", percent(docs, lines))
print("doc comments `See the module`:", sum(raw[p].count("/// See the module") for p in product))
print("types that share their name in the workspace:", percent(shared_names, len(types)))
print("types that share their name in their crate:", percent(crate_shared, len(types)))
print("names that several types of one crate have:", sum(1 for n in by_crate.values() if n > 1))
print("`pub` items:", f"{sum(pubs.values()):,}", dict(sorted(pubs.items())), "and fields", f"{fields:,}")
print("files outside tests that name the whole state `Shared`:", sum(1 for p in product if re.search(r"\bShared\b", product[p])))
total = 0
for crate in crates:
    tidy = circles(arrows_of(crate, uses, True))
    strict = circles(arrows_of(crate, paths, False))
    arrows = rooms_of(crate, arrows_of(crate, paths, False))
    total += sum(map(len, tidy))
    print(f"circles in {crate}: files {[len(c) for c in tidy]}; with parents and inline paths {[len(c) for c in strict]}; rooms {circles(arrows)}")
print("files in circles:", total)
