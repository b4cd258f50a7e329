/** Requests to a table or a function in the words of each client. Pure. */

import type { AppRequest } from "../../api/gateway.ts";
import { dartLiteral, pythonLiteral, sqlLiteral } from "../../literals.ts";
import { quotedName } from "../../sqlName.ts";
import type { RestColumn, RestItem, RestTable } from "./openapi.ts";

export type Spelling = "curl" | "javascript" | "python" | "dart" | "sql";

export interface Example {
  id: "read" | "filter" | "row" | "insert" | "upsert" | "change" | "delete" | "call";
  request: AppRequest;
  /** Without the lines that make the client. */
  javascript: string;
  python: string;
  dart: string;
  /** A whole statement. */
  sql: string;
}

/** Return the requests that the caller may make. */
export function examplesOf(item: RestItem, schema: string): readonly Example[] {
  if (item.kind === "function") return [callOf(item.name, item.arguments, schema)];
  const may = (method: string) => item.methods.includes(method);
  return [
    ...(may("get") ? readsOf(item, schema) : []),
    ...(may("post") ? insertsOf(item, schema) : []),
    ...(may("patch") ? [changeOf(item, schema)] : []),
    ...(may("delete") ? [deleteOf(item, schema)] : []),
  ];
}

/** Return the code of an example. `url` is the gateway, `key` the publishable key. */
export function codeOf(example: Example, spelling: Spelling, url: string, key: string): string {
  if (spelling === "curl") return curlOf(example.request, url, key);
  if (spelling === "sql") return `${example.sql};`;
  const text = JSON.stringify;
  if (spelling === "dart") {
    return [
      "import 'package:supabase/supabase.dart';",
      "",
      `final supabase = SupabaseClient(${dartLiteral(url)}, ${dartLiteral(key)});`,
      `final data = await ${example.dart};`,
    ].join("\n");
  }
  return spelling === "javascript"
    ? [
      `import { createClient } from "@supabase/supabase-js";`,
      "",
      `const supabase = createClient(${text(url)}, ${text(key)});`,
      `const { data, error } = await ${example.javascript};`,
    ].join("\n")
    : [
      "from supabase import create_client",
      "",
      `supabase = create_client(${text(url)}, ${text(key)})`,
      `answer = ${example.python}.execute()`,
    ].join("\n");
}

function curlOf(request: AppRequest, url: string, key: string): string {
  const headers = Object.entries({ apikey: key, ...request.headers });
  return [
    `curl ${quoted(url + request.path)}`,
    ...(request.method && request.method !== "GET" ? [`-X ${request.method}`] : []),
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(request.body === undefined ? [] : [`-d ${quoted(request.body)}`]),
  ].join(" \\\n  ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function readsOf(table: RestTable, schema: string): readonly Example[] {
  const headers = profile(schema, "Accept-Profile");
  const keys = table.columns.filter(({ isKey }) => isKey);
  const filtered = table.columns.find(({ isKey }) => !isKey) ?? table.columns[0];
  const path = tablePath(table.name);
  const examples: Example[] = [{
    id: "read",
    request: { path: `${path}?select=*&limit=10`, headers },
    javascript: `${client(schema)}.from(${text(table.name)}).select("*").limit(10)`,
    python: `${client(schema)}.table(${text(table.name)}).select("*").limit(10)`,
    dart: `${from(table.name, schema)}.select().limit(10)`,
    sql: `select * from ${inSql(table.name, schema)} limit 10`,
  }];
  if (filtered) {
    const value = sampleOf(filtered);
    examples.push({
      id: "filter",
      request: {
        path: `${path}?select=*&${encodeURIComponent(filtered.name)}=eq.${encodeURIComponent(plain(value))}`,
        headers,
      },
      javascript: `${client(schema)}.from(${text(table.name)}).select("*").eq(${text(filtered.name)}, ${text(value)})`,
      python: `${client(schema)}.table(${text(table.name)}).select("*").eq(${text(filtered.name)}, ${
        pythonLiteral(value)
      })`,
      dart: `${from(table.name, schema)}.select().eq(${dartLiteral(filtered.name)}, ${dartLiteral(value)})`,
      sql: `select * from ${inSql(table.name, schema)} where ${quotedName(filtered.name)} = ${sqlLiteral(value)}`,
    });
  }
  if (keys.length > 0) {
    examples.push({
      id: "row",
      request: {
        path: `${path}?${filters(keys)}`,
        headers: { ...headers, Accept: "application/vnd.pgrst.object+json" },
      },
      javascript: `${client(schema)}.from(${text(table.name)}).select("*")${calls(keys, text)}.single()`,
      python: `${client(schema)}.table(${text(table.name)}).select("*")${calls(keys, pythonLiteral)}.single()`,
      dart: `${from(table.name, schema)}.select()${calls(keys, dartLiteral)}.single()`,
      sql: `select * from ${inSql(table.name, schema)}${where(keys)}`,
    });
  }
  return examples;
}

function insertsOf(table: RestTable, schema: string): readonly Example[] {
  const row = rowOf(
    table.columns.filter((column) => !column.isKey || (column.isRequired && typeof sampleOf(column) !== "number")),
  );
  const whole = rowOf(table.columns.filter(({ isKey }) => isKey), row);
  const example = (id: Example["id"], body: object, prefer: string, verb: string): Example => ({
    id,
    request: {
      method: "POST",
      path: tablePath(table.name),
      headers: { "Content-Type": "application/json", Prefer: prefer, ...profile(schema, "Content-Profile") },
      body: JSON.stringify(body),
    },
    javascript: `${client(schema)}.from(${text(table.name)}).${verb}(${text(body)}).select()`,
    python: `${client(schema)}.table(${text(table.name)}).${verb}(${pythonLiteral(body)})`,
    dart: `${from(table.name, schema)}.${verb}(${dartLiteral(body)}).select()`,
    sql: insertOf(table, schema, body, verb === "upsert"),
  });
  const hasKey = table.columns.some(({ isKey }) => isKey);
  return [
    example("insert", row, "return=representation", "insert"),
    ...(hasKey ? [example("upsert", whole, "resolution=merge-duplicates,return=representation", "upsert")] : []),
  ];
}

function changeOf(table: RestTable, schema: string): Example {
  const filter = filteredBy(table);
  const row = rowOf(table.columns.filter(({ isKey }) => !isKey).slice(0, 1));
  return {
    id: "change",
    request: {
      method: "PATCH",
      path: `${tablePath(table.name)}?${filters(filter)}`,
      headers: {
        "Content-Type": "application/json",
        Prefer: "return=representation",
        ...profile(schema, "Content-Profile"),
      },
      body: JSON.stringify(row),
    },
    javascript: `${client(schema)}.from(${text(table.name)}).update(${text(row)})${calls(filter, text)}.select()`,
    python: `${client(schema)}.table(${text(table.name)}).update(${pythonLiteral(row)})${calls(filter, pythonLiteral)}`,
    dart: `${from(table.name, schema)}.update(${dartLiteral(row)})${calls(filter, dartLiteral)}.select()`,
    sql: `update ${inSql(table.name, schema)} set ${settings(row)}${where(filter)} returning *`,
  };
}

function deleteOf(table: RestTable, schema: string): Example {
  const filter = filteredBy(table);
  return {
    id: "delete",
    request: {
      method: "DELETE",
      path: `${tablePath(table.name)}?${filters(filter)}`,
      headers: profile(schema, "Content-Profile"),
    },
    javascript: `${client(schema)}.from(${text(table.name)}).delete()${calls(filter, text)}`,
    python: `${client(schema)}.table(${text(table.name)}).delete()${calls(filter, pythonLiteral)}`,
    dart: `${from(table.name, schema)}.delete()${calls(filter, dartLiteral)}`,
    sql: `delete from ${inSql(table.name, schema)}${where(filter)}`,
  };
}

function callOf(name: string, columns: readonly RestColumn[], schema: string): Example {
  const row = rowOf(columns.filter(({ isRequired }) => isRequired));
  return {
    id: "call",
    request: {
      method: "POST",
      path: functionPath(name),
      headers: { "Content-Type": "application/json", ...profile(schema, "Content-Profile") },
      body: JSON.stringify(row),
    },
    javascript: `${client(schema)}.rpc(${text(name)}, ${text(row)})`,
    python: `${client(schema)}.rpc(${text(name)}, ${pythonLiteral(row)})`,
    dart: `${client(schema)}.rpc(${dartLiteral(name)}, params: ${dartLiteral(row)})`,
    sql: `select * from ${inSql(name, schema)}(${
      Object.entries(row).map(([argument, value]) => `${quotedName(argument)} => ${sqlLiteral(value)}`).join(", ")
    })`,
  };
}

/** Return the path of a table or view. */
export function tablePath(name: string): string {
  return `/rest/v1/${encodeURIComponent(name)}`;
}

/** Return the path of a function. */
export function functionPath(name: string): string {
  return `/rest/v1/rpc/${encodeURIComponent(name)}`;
}

/** Return the headers that choose a schema; none for `public`, the first one. */
export function profile(schema: string, header: "Accept-Profile" | "Content-Profile"): { [name: string]: string } {
  return schema === "public" ? {} : { [header]: schema };
}

function filteredBy(table: RestTable): readonly RestColumn[] {
  const keys = table.columns.filter(({ isKey }) => isKey);
  return keys.length > 0 ? keys : table.columns.slice(0, 1);
}

function filters(columns: readonly RestColumn[]): string {
  return columns.map((column) => `${encodeURIComponent(column.name)}=eq.${encodeURIComponent(plain(sampleOf(column)))}`)
    .join("&");
}

function calls(columns: readonly RestColumn[], spell: (value: unknown) => string): string {
  return columns.map((column) => `.eq(${text(column.name)}, ${spell(sampleOf(column))})`).join("");
}

function rowOf(columns: readonly RestColumn[], row: { [name: string]: unknown } = {}): { [name: string]: unknown } {
  return { ...row, ...Object.fromEntries(columns.map((column) => [column.name, sampleOf(column)])) };
}

/** Return a value of the column's type to begin with. */
export function sampleOf(column: RestColumn): unknown {
  const type = column.type.toLowerCase();
  if (type.endsWith("[]") || type === "array") return [];
  if (/^(small|big)?int|^integer|^int\d|serial/.test(type)) return 1;
  if (/^(numeric|decimal|real|double|float|number|money)/.test(type)) return 1.5;
  if (type.startsWith("bool")) return true;
  if (type.startsWith("json") || type === "object") return {};
  if (type === "uuid") return "00000000-0000-0000-0000-000000000001";
  if (type === "date") return "2026-01-31";
  if (type.startsWith("timestamp")) return "2026-01-31T12:00:00Z";
  if (type.startsWith("time")) return "12:00:00";
  return "text";
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : Array.isArray(value) ? "{}" : JSON.stringify(value);
}

function text(value: unknown): string {
  return JSON.stringify(value);
}

function from(name: string, schema: string): string {
  return `${schema === "public" ? "supabase" : `supabase.schema(${dartLiteral(schema)})`}.from(${dartLiteral(name)})`;
}

function inSql(name: string, schema: string): string {
  return `${quotedName(schema)}.${quotedName(name)}`;
}

function where(columns: readonly RestColumn[]): string {
  const terms = columns.map((column) => `${quotedName(column.name)} = ${sqlLiteral(sampleOf(column))}`);
  return terms.length > 0 ? ` where ${terms.join(" and ")}` : "";
}

function settings(row: { [name: string]: unknown }): string {
  return Object.entries(row).map(([name, value]) => `${quotedName(name)} = ${sqlLiteral(value)}`).join(", ");
}

function insertOf(table: RestTable, schema: string, body: object, isUpsert: boolean): string {
  const names = Object.keys(body).map(quotedName);
  const keys = table.columns.filter(({ isKey }) => isKey).map(({ name }) => name);
  const others = Object.keys(body).filter((name) => !keys.includes(name));
  const updates = others.map((name) => `${quotedName(name)} = excluded.${quotedName(name)}`).join(", ");
  const conflict = isUpsert
    ? ` on conflict (${keys.map(quotedName).join(", ")}) do ${updates ? `update set ${updates}` : "nothing"}`
    : "";
  const values = names.length > 0
    ? `(${names.join(", ")}) values (${Object.values(body).map(sqlLiteral).join(", ")})`
    : "default values";
  return `insert into ${inSql(table.name, schema)} ${values}${conflict} returning *`;
}

function client(schema: string): string {
  return schema === "public" ? "supabase" : `supabase.schema(${text(schema)})`;
}
