from workers.database.schema_cache.catalog_rows import ViewRow
from workers.database.schema_cache.view_columns import target_origins, trace_views


def entry(number, table, column, name="c", junk=False):
    return (
        f"{{TARGETENTRY :expr {{VAR :varno 1 :varattno {column}}} :resno {number} :resname {name} "
        f":ressortgroupref 0 :resorigtbl {table} :resorigcol {column} :resjunk {'true' if junk else 'false'}}}"
    )


def query(*entries, tables="<>", having="<>"):
    listed = " ".join(entries)
    return (
        f"{{QUERY :commandType 1 :rtable {tables} :targetList ({listed}) :havingQual {having} :stmt_len -1}}"
    )


def view(oid, *entries):
    return ViewRow(oid, f"({query(*entries)})")


def test_columns_of_the_outermost_query_have_their_origins():
    text = f"({query(entry(1, 900, 2), entry(2, 901, 1))})"

    assert target_origins(text) == {1: (900, 2), 2: (901, 1)}


def test_expressions_and_hidden_columns_have_no_origin():
    text = f"({query(entry(1, 0, 0), entry(2, 900, 1), entry(3, 900, 2, junk=True))})"

    assert target_origins(text) == {2: (900, 1)}


def test_entries_of_subqueries_are_not_the_views_own():
    inner = query(entry(1, 777, 1), entry(5, 777, 5))
    before = f"({{RANGETBLENTRY :subquery {inner}}})"
    after = f"{{SUBLINK :subselect {inner}}}"
    text = f"({query(entry(1, 900, 1), tables=before, having=after)})"

    assert target_origins(text) == {1: (900, 1)}


def test_braces_and_blanks_inside_names_do_not_confuse():
    names = [r"a\{b", r"\}\}\}", r"x\\", r"two\ words\nlines", r":resno", r"\{QUERY\ :targetList"]
    entries = [entry(number, 900, number, name) for number, name in enumerate(names, start=1)]

    assert target_origins(f"({query(*entries)})") == {number: (900, number) for number in range(1, 7)}


def test_views_over_views_are_followed_to_the_table():
    traced = trace_views([view(1, entry(1, 2, 7)), view(2, entry(7, 3, 4)), view(3, entry(4, 900, 9))])

    assert traced == {1: {1: (900, 9)}, 2: {7: (900, 9)}, 3: {4: (900, 9)}}


def test_a_view_out_of_reach_stands_for_a_table():
    assert trace_views([view(1, entry(1, 2, 7))]) == {1: {1: (2, 7)}}


def test_a_column_that_is_an_expression_further_down_has_no_origin():
    assert trace_views([view(1, entry(1, 2, 7)), view(2, entry(7, 0, 0))]) == {1: {}, 2: {}}


def test_views_that_select_from_themselves_end():
    traced = trace_views(
        [
            view(1, entry(1, 1, 1), entry(2, 2, 1)),
            view(2, entry(1, 1, 2), entry(2, 900, 1)),
            view(3, entry(1, 1, 1)),
        ]
    )

    assert traced == {1: {}, 2: {2: (900, 1)}, 3: {}}
