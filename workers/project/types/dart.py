"""Generates Dart: an enum for each enum, a class for the rows of each relation, and one for what is inserted or updated (pure).

Classes read and write the JSON of REST: `PublicPosts.fromJson(row)`, `PublicPostsInsert(title: 'Nile').toJson()`. A value that is null is
left out of what is written, unless `nulls` names its column. Moments are `DateTime`; what Dart has no type for is `dynamic`.
"""

import re
from collections.abc import Iterator

from workers.project.types.class_names import class_names
from workers.project.types.model import TypegenColumn, TypegenDatabase, TypegenRelation, TypegenType
from workers.project.types.schema_parts import COMPOSITE, TABLES, base_type, columns_of, schemas_of

_HEAD = """\
// Types of the database. Made by `headwater gen types dart`; do not edit.
// ignore_for_file: camel_case_types, constant_identifier_names, non_constant_identifier_names, prefer_const_constructors_in_immutables
"""
_KNOWN = {
    "bool": "bool",
    **dict.fromkeys(("int2", "int4", "int8", "oid"), "int"),
    **dict.fromkeys(("float4", "float8", "numeric"), "num"),
    **dict.fromkeys(("timestamp", "timestamptz", "date"), "DateTime"),
    **dict.fromkeys(
        ("text", "varchar", "bpchar", "citext", "uuid", "time", "timetz", "interval", "bytea", "name", "inet", "cidr", "vector"),
        "String",
    ),
}  # fmt: skip
_RESERVED = frozenset(
    """abstract as assert async await base break case catch class const continue covariant default deferred do dynamic else enum export
    extends extension external factory false final finally for get hide if implements import in interface is late library mixin new null
    of on operator part required rethrow return sealed set show static super switch sync this throw true try type typedef var void when
    while with yield index values value name hashCode runtimeType toString noSuchMethod toJson fromJson nulls json label each column""".split()  # noqa: SIM905 - ninety words are read more easily as a text
)
_NOT_IN_WORDS = re.compile(r"\W+", re.ASCII)


def dart(database: TypegenDatabase) -> str:
    """Return the whole file."""
    names = class_names(database)
    schemas = schemas_of(database)
    parts = [
        _enum(names[enum.schema, enum.name], enum)
        for schema in schemas
        for enum in schema.enums
        if enum.labels
    ]
    for schema in schemas:
        for relation in (*schema.composites, *schema.tables, *schema.views):
            parts += _relation(_Writer(database, names), relation)
    return "\n".join([_HEAD, *parts])


class _Writer:
    """Spells types, and expressions that read and write their values."""

    def __init__(self, database: TypegenDatabase, names: dict[tuple[str, str], str]) -> None:
        self._database, self._names = database, names

    def type_of(self, id: int) -> str:
        """Return the Dart type of a database type that is not null; `dynamic` for what has none."""
        kind = base_type(self._database, id)
        if kind is None:
            return "dynamic"
        if kind.kind == "a":
            return f"List<{nullable(self.type_of(kind.element))}>"
        if kind.kind == "e" and not kind.labels:
            return "dynamic"
        named = self._names.get((kind.schema, kind.name))
        if named and (kind.kind == "e" or kind.relation_kind):
            return named
        return "String" if kind.kind == "e" else _KNOWN.get(kind.name, "dynamic")

    def read(self, id: int, value: str) -> str:
        """Return the expression that makes a value of what JSON has."""
        kind, name = base_type(self._database, id), self.type_of(id)
        if kind is None or name == "dynamic":
            return value
        if kind.kind == "a":
            inner = self.read(kind.element, "each")
            return f"({value} as List<dynamic>).map((each) => {_or_null('each', inner)}).toList()"
        if name == "DateTime":
            return f"DateTime.parse({value} as String)"
        if name in _KNOWN.values():
            return f"{value} as {name}"
        return (
            f"{name}.fromJson({value} as String)"
            if kind.kind == "e"
            else f"{name}.fromJson({value} as Map<String, dynamic>)"
        )

    def write(self, id: int, value: str) -> str:
        """Return the expression that makes JSON of a value that is not null."""
        kind, name = base_type(self._database, id), self.type_of(id)
        if kind is None or name == "dynamic":
            return value
        if kind.kind == "a":
            inner = self.write(kind.element, "each")
            return (
                value
                if inner == "each"
                else f"{value}.map((each) => {_or_null('each', inner.replace('each.', 'each!.', 1))}).toList()"
            )
        if name == "DateTime":
            return f"{value}.toIso8601String()"
        return value if name in _KNOWN.values() else f"{value}.toJson()"


def nullable(kind: str) -> str:
    """Return a type that may be null; `dynamic` is one."""
    return kind if kind == "dynamic" else f"{kind}?"


def _or_null(value: str, expression: str) -> str:
    return expression if expression == value else f"{value} == null ? null : {expression}"


def _enum(name: str, kind: TypegenType) -> str:
    used: set[str] = set()
    values = ",\n".join(f"  {_word(label, used)}({_text(label)})" for label in kind.labels)
    return f"""\
enum {name} {{
{values};

  const {name}(this.label);

  /// The label as the database spells it.
  final String label;

  factory {name}.fromJson(String label) => values.firstWhere((each) => each.label == label);

  String toJson() => label;
}}
"""


def _relation(writer: _Writer, relation: TypegenRelation) -> Iterator[str]:
    name = writer._names[relation.schema, relation.name]
    columns = columns_of(relation)
    yield _row(writer, name, columns)
    is_table = relation.kind in TABLES
    if relation.kind == COMPOSITE:
        return
    written = [column for column in columns if not column.is_always_made and column.is_updatable]
    if is_table or relation.is_insertable:
        needed = {
            column.name for column in written if is_table and not (column.is_nullable or column.has_default)
        }
        yield _written(writer, f"{name}Insert", written, needed)
    if is_table or relation.is_updatable:
        yield _written(writer, f"{name}Update", written, set())


def _row(writer: _Writer, name: str, columns: list[TypegenColumn]) -> str:
    words = _words(columns)
    fields, parameters, read, write = [], [], [], []
    for column in columns:
        word, kind, key = words[column.name], writer.type_of(column.type), f"json[{_text(column.name)}]"
        is_nullable = column.is_nullable or kind == "dynamic"
        fields.append(f"  final {nullable(kind) if is_nullable else kind} {word};")
        parameters.append(f"{'' if is_nullable else 'required '}this.{word}")
        value = writer.read(column.type, key)
        read.append(f"        {word}: {_or_null(key, value) if is_nullable else value},")
        written = writer.write(column.type, f"{word}!" if is_nullable and kind != "dynamic" else word)
        is_plain = written.rstrip("!") == word
        shown = word if is_plain else _or_null(word, written) if is_nullable else written
        write.append(f"        {_text(column.name)}: {shown},")
    return "\n".join([
        f"class {name} {{",
        f"  const {name}({_braces(parameters)});",
        "",
        *fields,
        "",
        f"  factory {name}.fromJson(Map<String, dynamic> json) => {name}(",
        *read,
        "      );",
        "",
        "  Map<String, dynamic> toJson() => {",
        *write,
        "      };",
        "}",
        "",
    ])  # fmt: skip


def _written(writer: _Writer, name: str, columns: list[TypegenColumn], needed: set[str]) -> str:
    words = _words(columns)
    fields, parameters, write = [], [], []
    for column in columns:
        word, kind, is_needed = words[column.name], writer.type_of(column.type), column.name in needed
        fields.append(f"  final {kind if is_needed else nullable(kind)} {word};")
        parameters.append(f"{'required ' if is_needed else ''}this.{word}")
        is_optional = not is_needed
        shown = writer.write(column.type, f"{word}!" if is_optional and kind != "dynamic" else word)
        shown = word if shown == f"{word}!" else shown
        write.append(
            f"        {f'if ({word} != null) ' if is_optional else ''}{_text(column.name)}: {shown},"
        )
    return "\n".join([
        f"class {name} {{",
        f"  const {name}({_braces([*parameters, 'this.nulls = const []'])});",
        "",
        *fields,
        "",
        "  /// Columns that are set to null.",
        "  final List<String> nulls;",
        "",
        "  Map<String, dynamic> toJson() => {",
        "        for (final column in nulls) column: null,",
        *write,
        "      };",
        "}",
        "",
    ])  # fmt: skip


def _braces(parameters: list[str]) -> str:
    return "{" + ", ".join(parameters) + "}" if parameters else ""


def _words(columns: list[TypegenColumn]) -> dict[str, str]:
    used: set[str] = set()
    return {column.name: _word(column.name, used) for column in columns}


def _word(name: str, used: set[str]) -> str:
    """Return a valid name that is not in `used`, and add it there: `with space` -> `withSpace`."""
    parts = [part for part in _NOT_IN_WORDS.sub("_", name).split("_") if part]
    word = "".join(
        [
            *(part[:1].lower() + part[1:] for part in parts[:1]),
            *(part[:1].upper() + part[1:] for part in parts[1:]),
        ]
    )
    if not word or not word[0].isalpha() or word in _RESERVED:
        word = f"{word}_" if word[:1].isalpha() else f"v{word}"
    while word in used:
        word += "_"
    used.add(word)
    return word


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\$")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r") + "'"
