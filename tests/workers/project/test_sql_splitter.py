import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.project.sql_splitter import SplitError, place, split


def texts(sql):
    return [statement.text for statement in split(sql)]


@pytest.mark.parametrize(
    ("sql", "statements"),
    [
        ("", []),
        (" ; ;\n-- nothing\n;/* nothing */", []),
        ("select 1", ["select 1"]),
        ("select 1; select 2;", ["select 1", "select 2"]),
        ("select 'a;b'; select 2", ["select 'a;b'", "select 2"]),
        ("select 'it''s;'; select 2", ["select 'it''s;'", "select 2"]),
        (r"select E'\';'; select 2", [r"select E'\';'", "select 2"]),
        (r"select '\'; select 2", [r"select '\'", "select 2"]),
        ('select 1 as "a;""b"; select 2', ['select 1 as "a;""b"', "select 2"]),
        ("select $$;$$; select $a$ $$ ; $a$;", ["select $$;$$", "select $a$ $$ ; $a$"]),
        ("select $1; select a$b$; select 1", ["select $1", "select a$b$", "select 1"]),
        ("select 1 -- ;\n, 2; select 3", ["select 1 -- ;\n, 2", "select 3"]),
        ("select /* ; /* ; */ ; */ 1; select 2", ["select /* ; /* ; */ ; */ 1", "select 2"]),
        (
            "create rule r as on insert to t do (select 1; select 2); select 3",
            ["create rule r as on insert to t do (select 1; select 2)", "select 3"],
        ),
        (
            "create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end; select 3",
            [
                "create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end",
                "select 3",
            ],
        ),
        ("begin; select 1; end; select 2", ["begin", "select 1", "end", "select 2"]),
        ("do $$ begin null; end $$; select 1", ["do $$ begin null; end $$", "select 1"]),
        ("\\restrict abc\n\nselect 1;\n\\unrestrict abc\n", ["select 1"]),
        ("-- why\nselect 1;", ["-- why\nselect 1"]),
        ("select 'ä;€'; select \"ß;\"", ["select 'ä;€'", 'select "ß;"']),
    ],
)
def test_a_semicolon_ends_a_statement_where_it_is_none_of_a_quote_comment_or_body(sql, statements):
    assert texts(sql) == statements


def test_rows_of_a_copy_belong_to_it():
    found = split("copy public.t (a, b) from stdin;\n1\t2;\n\\N\t'\n\\.\nselect 1;\n")

    assert [(each.text, each.rows) for each in found] == [
        ("copy public.t (a, b) from stdin", "1\t2;\n\\N\t'\n"),
        ("select 1", None),
    ]


def test_a_copy_to_or_from_a_file_has_no_rows():
    assert [each.rows for each in split("copy t to stdout; copy t from '/x'; select 1")] == [None, None, None]


@pytest.mark.parametrize(
    ("sql", "message", "at"),
    [
        ("select 1; select 'a", "its closing ' is missing", 17),
        ('select "a', 'its closing " is missing', 7),
        ("select $x$ a", r"\$x\$ does not end", 7),
        ("select 1 /* a", "its closing \\*/ is missing", 9),
        ("copy t from stdin;\n1\n", "is missing", 0),
        ("create function f() returns int begin atomic select 1;", "has no `end`", 0),
        ("select 1;\n\\connect other\n", r"\\connect is a command of psql", 10),
        ("\\i other.sql", r"\\i is a command of psql", 0),
    ],
)
def test_what_cannot_be_split_is_refused_with_its_place(sql, message, at):
    with pytest.raises(SplitError, match=message) as refused:
        split(sql)

    assert refused.value.offset == at


def test_a_statement_knows_its_place():
    found = split("-- one\n\nselect 1;\n\n  -- two\n  select\n 2;")

    assert [(each.line, each.offset, each.head) for each in found] == [(1, 0, 8), (5, 21, 9)]
    assert place("ab\ncd", 4) == (2, 2)


_PIECES = st.sampled_from(
    ["select 1", "select 'a;''b'", "select $q$ ; ' $q$", 'insert into "x;y" values (1)', "select /* ; */ 2", "select E'\\';'",
     "create rule r as on insert to t do (select 1; select 2)", "do $$ begin null; end; $$"]
)  # fmt: skip
_GAPS = st.sampled_from(["", " ", "\n", "\n-- a ; comment\n", " /* ; */ "])


@given(st.lists(st.tuples(_GAPS, _PIECES)))
def test_statements_that_are_joined_come_apart_again(parts):
    text = "".join(f"{gap}{piece};" for gap, piece in parts)

    assert [each.text[each.head :] for each in split(text)] == [piece for _, piece in parts]


@given(st.text(alphabet="ab;'\"$\\/*-()\n eE.1 "))
def test_any_text_is_split_into_parts_of_itself_or_refused(text):
    refused_at = 0
    try:
        found = split(text)
    except SplitError as error:
        found, refused_at = [], error.offset

    assert 0 <= refused_at <= len(text)
    for each in found:
        assert text[each.offset : each.offset + len(each.text)] == each.text
        assert each.line == text.count("\n", 0, each.offset) + 1
