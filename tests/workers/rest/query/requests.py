"""Requests of every kind against the hand-made catalog; the statements of all of them are tried."""

from typing import NamedTuple


class RestArguments(NamedTuple):
    """What a client sends: the arguments of `ask`."""

    method: str
    target: str
    body: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.method} {self.target}" + "".join(f" {name}:{value}" for name, value in self.headers)


def _sent(method: str, target: str, body: str | None = None, **headers: str) -> RestArguments:
    return RestArguments(method, target, body, tuple(headers.items()))


_SELECTS = (
    "/clients", "/clients?select=*", "/clients?select=id,name", "/clients?select=key:id::text,name",
    "/projects?select=meta->a->>b,meta->0->>-1,tags->0,period->>x,y:meta->>z::int",
    "/projects?select=shout,id&shout=like.A*&order=shout.desc",
    "/items", "/items?select=tint,tint::text,t:tint", '/odd "table?select="we""ird","select","a.b"'.replace('""', '\\"'),
    "/clients?select=\"name\",'x':name".replace("'", '"'),
)  # fmt: skip
_FILTERS = tuple(
    f"/projects?{each}"
    for each in (
        "id=eq.1", "id=neq.1", "id=gt.1", "id=gte.1", "id=lt.9", "id=lte.9", "name=like.*a*", "name=ilike.A*",
        "name=match.^a", "name=imatch.^A", "id=in.(1,2)", "id=in.()", 'name=in.("a,b",c)', "name=is.null", "name=not.is.not_null",
        "name=isdistinct.x", "tags=cs.{1}", "tags=cd.{1,2}", "tags=ov.{1}", "period=sl.[1,2)", "period=sr.[1,2)",
        "period=nxr.[1,2)", "period=nxl.[1,2)", "period=adj.[1,2)", "words=fts.cat", "words=fts(german).cat",
        "name=plfts.the cat", "name=phfts(english).the cat", "meta=wfts.cat", "meta->a=fts.x", "id=eq(any).{1,2}",
        "name=like(all).{a*,*b}", "id=not.eq.1", "meta->a=gt.1", "meta->>a=eq.x", "tags->0=eq.1", "born=gte.2020-01-01",
        "or=(id.eq.1,and(name.eq.x,not.name.is.null),not.or(id.gt.2,id.lt.1))", "not.and=(id.eq.1,name.eq.\"x,y\")",
        "id=gt(col).client_id", "name=eq(col).meta->>a", "id::text=like.1*", "meta->>a::int=gt.1",
        "and=(clients(name.eq.x))", "and=(not.tasks(users(name.eq.x),id.gt.1))", "or=(lead(name.eq.x),open_tasks(id.eq.1))",
        "order=id.desc.nullslast,name.nullsfirst,meta->>a", "limit=5&offset=10", "limit=0", "offset=3",
        "select=client_id&distinct=true", "select=client_id,name&distinct=client_id&order=name,client_id.desc",
        "select=client_id,count()&having=count().gt.1", "select=client_id&having=or(id.sum().gt.1,not.name.count(distinct).eq.2)",
    )
)  # fmt: skip
_EMBEDS = (
    "/projects?select=*,clients(*)", "/clients?select=name,projects(*,tasks(*))", "/orders?select=id,billing(street),s:shipping(street)",
    "/projects?select=name,lead(name),open_tasks(id,name)", "/branches?select=name,parent(name),branches(name,branches(id))",
    "/users?select=name,tasks(name),badges(label)", "/badges?select=users(name,badges(*))", "/tasks?select=users!users_tasks(name)",
    "/projects?select=*,clients!inner(name)&clients.name=eq.x", "/clients?select=*,projects!inner(tasks!inner(id))&projects.tasks.id=eq.1",
    "/clients?select=name,projects()&projects=is.null", "/projects?select=name,clients(),tasks()&or=(clients.not.is.null,tasks.is.null)",
    "/projects?select=name,clients(name)&order=clients(name).desc,id", "/projects?select=name,...clients(name)&order=clients(name)",
    "/tasks?select=projects(name,clients(name))&order=projects(name)", "/projects?select=clients()&order=clients(id)",
    "/clients?select=name,projects(*)&projects.order=id.desc&projects.limit=2&projects.offset=1&projects.or=(id.eq.1,id.eq.2)",
    "/projects?select=name,...clients(client:name,id)", "/clients?select=name,...projects(name,id)&projects.order=name",
    "/clients?select=name,...projects(name,...tasks(id,users(name)))", "/tasks?select=...projects(...clients(name),shout,tasks(id))",
    "/clients?select=...projects(*)", "/clients?select=...projects()", "/users?select=...tasks(name)", "/project_list?select=*,clients(name)",
    "/clients?select=a:projects(id),b:projects(name),projects(clients(id))", "/items?select=*&order=tint&tint=in.(red,blue)",
    "/clients?select=name,projects(client_id)&projects.distinct=true", "/clients?select=projects(clients(projects(clients(projects(id)))))",
)  # fmt: skip
_AGGREGATES = (
    "/orders?select=count()", "/orders?select=total.sum(),total.avg(),total.min(),total.max(),total.count()",
    "/orders?select=billing_id,n:count()::text,total::int.sum()::text", "/orders?select=*,count()",
    "/projects?select=client_id,meta->>n::int.sum()", "/clients?select=name,projects(id.sum())", "/clients?select=name,projects(client_id,count())",
    "/projects?select=...clients(name),id.max()", "/projects?select=...clients(total:id.sum())", "/projects?select=...clients(n:count(),name)",
    "/tasks?select=count(),projects(name)", "/orders?select=billing_id.count(distinct)", "/tasks?select=...projects(...clients(id.sum())),count()",
    "/tasks?select=...projects(clients(name),id.count())", "/tasks?select=...projects(open_tasks(id),...clients(name)),count()",
    "/clients?select=...projects(id,tasks(name)),count()", "/tasks?select=...projects(...tasks(name),lead(name)),id.max()",
)  # fmt: skip
_CALLS = (
    _sent("GET", "/rpc/add?a=1"), _sent("GET", "/rpc/add?a=1&b=2"), _sent("POST", "/rpc/add", '{"a":1}'),
    _sent("POST", "/rpc/add", "a=1&b=2", content_type="application/x-www-form-urlencoded"),
    _sent("GET", "/rpc/sentence?glue=,&words=a&words=b"), _sent("POST", "/rpc/sentence", '{"glue":",","words":["a"]}'),
    _sent("GET", "/rpc/over?a=1&b=x"), _sent("POST", "/rpc/mixed", '{"other":1}'), _sent("POST", "/rpc/takes_text", "x", content_type="text/plain"),
    _sent("POST", "/rpc/takes_bytes", "x", content_type="application/octet-stream"), _sent("POST", "/rpc/nothing"), _sent("GET", "/rpc/letters?limit=1"),
    _sent("GET", "/rpc/letters", prefer="count=exact"), _sent("GET", "/rpc/letters", accept="text/csv"),
    _sent("GET", "/rpc/all_projects?select=name,clients(name),shout&id=gt.1&order=clients(name)&limit=2", prefer="count=exact"),
    _sent("GET", "/rpc/all_projects?select=lead(name)", accept="text/csv"), _sent("GET", "/rpc/one_project?wanted=1&select=name"),
    _sent("POST", "/rpc/pairs?select=a::text&b=eq.x&order=a", '{"n":1}'), _sent("GET", "/rpc/page", accept="text/html"), _sent("POST", "/rpc/apart"),
    _sent("GET", "/rpc/all_projects?select=client_id,count()"), _sent("HEAD", "/rpc/all_projects", prefer="count=estimated"),
)  # fmt: skip
_FULL = "return=representation"
_WRITES = (
    _sent("POST", "/clients", '{"id":1,"name":"x"}'), _sent("POST", "/clients", '[{"id":1,"name":"x"}]', prefer=_FULL),
    _sent("POST", "/clients", "{}"), _sent("POST", "/clients", "[{},{}]"), _sent("POST", "/clients", "[]", prefer=_FULL),
    _sent("POST", "/clients", "id,name\n1,x\n", content_type="text/csv", prefer="return=headers-only,count=exact"),
    _sent("POST", "/clients", "id=1&name=x", content_type="application/x-www-form-urlencoded"),
    _sent("POST", "/items?columns=name,size", '[{"name":"x"}]', prefer="missing=default"), _sent("POST", "/items", '{"tint":"red"}', prefer="missing=default," + _FULL),
    _sent("POST", "/items?columns=id,name,size", '[{"name":"x"}]', prefer=f"missing=default,{_FULL}"),
    _sent("POST", "/clients", '{"id":1,"name":"x"}', prefer="resolution=merge-duplicates"), _sent("POST", "/clients", "{}", prefer="resolution=merge-duplicates"),
    _sent("POST", "/clients", '{"id":1,"name":"x"}', prefer=f"resolution=ignore-duplicates,{_FULL}"),
    _sent("POST", "/users_tasks?on_conflict=user_id,task_id", '[{"user_id":1,"task_id":1}]', prefer="resolution=merge-duplicates"),
    _sent("POST", "/users_tasks", '{"user_id":1,"task_id":1}', prefer="return=headers-only"),
    _sent("POST", "/projects?select=name,clients(name),tasks(name),shout&tasks.name=eq.x", '{"id":1}', prefer=_FULL),
    _sent("PATCH", "/clients?id=eq.1", '{"name":"x"}'), _sent("PATCH", "/clients?or=(id.eq.1,name.is.null)", '[{"name":"x"}]', prefer=f"{_FULL},count=exact"),
    _sent("PATCH", "/clients?id=eq.1", "{}", prefer=_FULL), _sent("PATCH", "/clients", "[]"), _sent("PATCH", "/items?columns=size", '{"size":1}', prefer="missing=default"),
    _sent("PATCH", "/clients?key=id", '[{"id":1,"name":"x"}]', prefer=_FULL), _sent("PATCH", "/items?tint=eq.red", '{"tint":"blue"}'),
    _sent("PATCH", "/projects?and=(clients(name.eq.x))", '{"name":"x"}'), _sent("PATCH", "/projects?shout=eq.X&select=lead(name)&order=id", '{"name":"x"}', prefer=_FULL),
    _sent("PUT", "/clients?id=eq.1", '{"id":1,"name":"x"}'), _sent("PUT", "/users_tasks?user_id=eq.1&task_id=eq.1", '[{"user_id":1,"task_id":1}]', prefer=_FULL),
    _sent("DELETE", "/clients?id=in.(1,2)"), _sent("DELETE", "/projects?select=name,clients(name)&id=eq.1&order=name", prefer=_FULL),
    _sent("DELETE", "/tasks?projects(name.eq.x)=1&or=(projects(name.eq.x))".replace("projects(name.eq.x)=1&", "")), _sent("DELETE", "/lines", prefer="count=exact"),
    _sent("POST", '/odd "table', '{"we\\"ird":1,"a.b":"x"}', prefer=_FULL), _sent("DELETE", "/clients", accept="text/csv", prefer=_FULL),
)  # fmt: skip
_OBJECT = "application/vnd.pgrst.object+json"
_OUTPUTS = (
    _sent("GET", "/clients", prefer="count=exact"), _sent("GET", "/clients?limit=1", prefer="count=exact"), _sent("GET", "/clients?name=eq.x", prefer="count=planned"),
    _sent("GET", "/clients?name=eq.x", prefer="count=estimated"), _sent("HEAD", "/clients?select=projects!inner(*)", prefer="count=exact"),
    _sent("GET", "/projects?select=name,clients()&clients=is.null&limit=1", prefer="count=exact"),
    _sent("GET", "/orders?select=billing_id,count()&limit=1", prefer="count=exact"), _sent("GET", "/projects?select=client_id&distinct=true&limit=1", prefer="count=exact"),
    _sent("GET", "/clients", accept="text/csv"), _sent("GET", "/clients?select=name,projects(id)", accept="text/csv"), _sent("GET", "/clients?id=eq.1", accept=_OBJECT),
    _sent("GET", "/clients", accept=f"{_OBJECT};nulls=stripped"), _sent("GET", "/clients", accept="application/vnd.pgrst.array+json;nulls=stripped"),
    _sent("GET", "/clients", accept="application/x-lines"), _sent("GET", "/clients", accept="application/vnd.pgrst.plan+json; options=verbose|buffers"),
    _sent("GET", "/clients?name=eq.x", accept='application/vnd.pgrst.plan; for="text/csv"'), _sent("DELETE", "/clients?id=eq.1", accept="application/vnd.pgrst.plan"),
)  # fmt: skip

REQUESTS: tuple[RestArguments, ...] = (
    *(_sent("GET", target) for target in (*_SELECTS, *_FILTERS, *_EMBEDS, *_AGGREGATES)),
    *_CALLS,
    *_WRITES,
    *_OUTPUTS,
)
