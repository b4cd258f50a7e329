"""A schema of two tables, written by hand, for planning without a database."""

from workers.graphql.model import (
    Entity,
    EntityColumn,
    EnumType,
    RelationField,
    RoleSchema,
    RootField,
    RootKind,
    ValueType,
)

ACCOUNT, BLOG = ("public", "account"), ("public", "blog")
INT, TEXT = ValueType("Int", "integer"), ValueType("String", "text")
MOOD = EnumType("Mood", ("public", "mood"), {"VERY_GOOD": "very-good"})

account = Entity(
    "Account",
    ACCOUNT,
    "r",
    {
        "id": EntityColumn("id", "id", INT, is_nullable=False),
        "email": EntityColumn(
            "email", "email", ValueType("String", "character varying", max_length=5), True, True, True, True
        ),
        "score": EntityColumn("score", "score", ValueType("BigFloat", "numeric", is_text=True), True),
        "tags": EntityColumn("tags", "tags", ValueType("String", "text[]", is_list=True), True),
        "data": EntityColumn("data", "data", ValueType("JSON", "jsonb", is_text=True), True),
        "mood": EntityColumn("mood", "mood", ValueType("Mood", '"mood"', enum=MOOD), True),
        "hidden": EntityColumn("hidden", "hidden", TEXT, True, is_selectable=False, is_insertable=True),
    },
    ("id",),
    relations={
        "blogCollection": RelationField(
            "blogCollection", BLOG, (("id", "owner_id"),), True, is_outgoing=False
        )
    },
    has_key_lookup=True,
)
blog = Entity(
    "Blog",
    BLOG,
    "r",
    {
        "id": EntityColumn("id", "id", INT, is_nullable=False),
        "ownerId": EntityColumn("ownerId", "owner_id", INT, is_nullable=False),
    },
    ("id",),
    relations={"owner": RelationField("owner", ACCOUNT, (("owner_id", "id"),), is_many=False)},
)
schema = RoleSchema(
    "anyone",
    1,
    {ACCOUNT: account, BLOG: blog},
    query={
        "accountCollection": RootField("accountCollection", RootKind.COLLECTION, ACCOUNT),
        "blogCollection": RootField("blogCollection", RootKind.COLLECTION, BLOG),
        "accountByPk": RootField("accountByPk", RootKind.BY_KEY, ACCOUNT),
        "account": RootField("account", RootKind.BY_KEY, ACCOUNT, is_alias=True),
        "node": RootField("node", RootKind.NODE),
    },
    mutation={
        "insertIntoAccountCollection": RootField("insertIntoAccountCollection", RootKind.INSERT, ACCOUNT),
        "updateAccountCollection": RootField("updateAccountCollection", RootKind.UPDATE, ACCOUNT),
        "deleteFromAccountCollection": RootField("deleteFromAccountCollection", RootKind.DELETE, ACCOUNT),
    },
)
