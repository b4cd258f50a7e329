"""Code with which clients connect, one piece for each client. Pure: the address and the publishable key are all that is in it."""

import json

from msgspec import Struct


class ClientSnippet(Struct, frozen=True):
    """How one client connects: `install` is a command or a line of a manifest, `code` the smallest program."""

    client: str
    install: str
    code: str


_SNIPPETS = (
    (
        "JavaScript",
        "npm install @supabase/supabase-js",
        "import { createClient } from '@supabase/supabase-js'\n\n"
        "const supabase = createClient({url}, {key})\n"
        "const { data, error } = await supabase.from('todos').select()",
    ),
    (
        "Python",
        "pip install supabase",
        "from supabase import create_client\n\n"
        "supabase = create_client({url}, {key})\n"
        'rows = supabase.table("todos").select("*").execute().data',
    ),
    (
        "Dart",
        "flutter pub add supabase_flutter",
        "await Supabase.initialize(url: {url}, anonKey: {key});\n"
        "final rows = await Supabase.instance.client.from('todos').select();",
    ),
    (
        "Swift",
        '.package(url: "https://github.com/supabase/supabase-swift.git", from: "2.0.0")',
        "let supabase = SupabaseClient(supabaseURL: URL(string: {url})!, supabaseKey: {key})\n"
        'let rows: [Todo] = try await supabase.from("todos").select().execute().value',
    ),
    (
        "Kotlin",
        'implementation("io.github.jan-tennert.supabase:postgrest-kt:3.1.4")',
        "val supabase = createSupabaseClient({url}, {key}) { install(Postgrest) }\n"
        'val rows = supabase.from("todos").select()',
    ),
    (
        "curl",
        "",
        "curl {rest} -H {header}",
    ),
    (
        ".env",
        "",
        "SUPABASE_URL={plain_url}\nSUPABASE_PUBLISHABLE_KEY={plain_key}",
    ),
)


def client_snippets(url: str, key: str) -> list[ClientSnippet]:
    """Return the snippets for an address and a publishable key."""
    values = {
        "{url}": json.dumps(url),
        "{key}": json.dumps(key),
        "{rest}": json.dumps(f"{url}/rest/v1/todos?select=*"),
        "{header}": json.dumps(f"apikey: {key}"),
        "{plain_url}": url,
        "{plain_key}": key,
    }
    snippets = []
    for client, install, code in _SNIPPETS:
        for name, value in values.items():
            code = code.replace(name, value)
        snippets.append(ClientSnippet(client, install, code))
    return snippets
