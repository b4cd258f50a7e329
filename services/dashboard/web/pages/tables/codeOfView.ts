/** The view of a table in Python, Dart and SQL. Pure. */

import { dartLiteral, pythonLiteral, sqlLiteral } from "../../literals.ts";
import { quotedName } from "../../sqlName.ts";
import type { DescribedTable, RestRequest } from "../../generated/operations.ts";
import { tablesTexts as texts } from "./texts.ts";
import { type FilterEntry, filterGroups, splitList, type ViewState } from "./viewState.ts";

const mostRows = 200;
/** Parameters of a REST request that are no filters. */
const notFilters = ["select", "order", "limit", "offset", "and"];

/** A filter of the REST request: a column with `operator.value`, or a tree of several (`or`). */
interface RestFilter {
  column: string;
  isTree: boolean;
  isNegated: boolean;
  op: string;
  value: string;
}

/** Return the view as a program of supabase (Python). */
export function asPython(
  table: DescribedTable,
  state: ViewState,
  rest: RestRequest,
  url: string,
  key: string,
): string {
  const text = pythonLiteral;
  const schema = rest.headers["Accept-Profile"];
  return [
    "from supabase import create_client",
    "",
    `client = create_client(${text(url)}, ${text(key)})`,
    "answer = (",
    `    client${schema ? `.schema(${text(schema)})` : ""}.table(${text(table.name)}).select("*")`,
    ...restFilters(rest).map(({ column, isTree, isNegated, op, value }) =>
      isTree
        ? `    .or_(${text(value)})`
        : `    ${isNegated ? ".not_" : ""}.filter(${text(column)}, ${text(op)}, ${text(value)})`
    ),
    ...state.sorts.map(({ column, isDescending }) =>
      `    .order(${text(column)}, desc=${isDescending ? "True" : "False"})`
    ),
    `    .limit(${mostRows}).execute()`,
    ")",
  ].join("\n");
}

/** Return the view as a program of supabase (Dart). */
export function asDart(table: DescribedTable, state: ViewState, rest: RestRequest, url: string, key: string): string {
  const text = dartLiteral;
  const schema = rest.headers["Accept-Profile"];
  return [
    "import 'package:supabase/supabase.dart';",
    "",
    `final client = SupabaseClient(${text(url)}, ${text(key)});`,
    "final data = await client",
    ...(schema ? [`    .schema(${text(schema)})`] : []),
    `    .from(${text(table.name)})`,
    "    .select()",
    ...restFilters(rest).map(({ column, isTree, isNegated, op, value }) =>
      isTree
        ? `    .or(${text(value)})`
        : `    .${isNegated ? "not" : "filter"}(${text(column)}, ${text(op)}, ${text(value)})`
    ),
    ...state.sorts.map(({ column, isDescending }) => `    .order(${text(column)}, ascending: ${!isDescending})`),
    `    .limit(${mostRows});`,
  ].join("\n");
}

/** Return the view as a statement; the caller of the view is not part of it. */
export function asSql(table: DescribedTable, { filters, sorts }: ViewState): string {
  const conditions = filterGroups(filters).map((group) => {
    const terms = group.map((place) => conditionOf(filters[place]!));
    return terms.length > 1 ? `(${terms.join(" or ")})` : terms[0]!;
  });
  const order = sorts.map(({ column, isDescending }) => `${quotedName(column)}${isDescending ? " desc" : ""}`);
  return [
    `select * from ${quotedName(table.schema)}.${quotedName(table.name)}`,
    ...(conditions.length > 0 ? [`where ${conditions.join("\n  and ")}`] : []),
    ...(order.length > 0 ? [`order by ${order.join(", ")}`] : []),
    `limit ${mostRows};`,
  ].join("\n");
}

const operators: { readonly [op: string]: string } = {
  eq: "=",
  neq: "<>",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
  like: "like",
  ilike: "ilike",
  match: "~",
  imatch: "~*",
  cs: "@>",
  cd: "<@",
  ov: "&&",
};

function conditionOf({ column, op, value }: FilterEntry): string {
  const isNegated = op.startsWith("not.");
  const name = isNegated ? op.slice(4) : op;
  const left = quotedName(column);
  // REST writes the wildcard of like as `*`.
  const operand = /^i?like$/.test(name) ? value.replaceAll("*", "%") : value;
  const condition = name === "in"
    ? `${left} in (${splitList(value).map(sqlLiteral).join(", ")})`
    : name === "is" && /^(null|true|false|unknown)$/i.test(value)
    ? `${left} is ${value.toLowerCase()}`
    : name === "fts"
    ? `${left} @@ to_tsquery(${sqlLiteral(value)})`
    : operators[name]
    ? `${left} ${operators[name]} ${sqlLiteral(operand)}`
    : `true /* ${texts.code.notInSql(`${column} ${op} ${value}`).replaceAll("*/", "* /")} */`;
  return isNegated ? `not (${condition})` : condition;
}

function restFilters(rest: RestRequest): readonly RestFilter[] {
  const at = rest.path.indexOf("?");
  const pairs = at < 0 ? [] : [...new URLSearchParams(rest.path.slice(at))];
  return pairs.filter(([name]) => !notFilters.includes(name)).map(([column, text]) => {
    if (column === "or") return { column, isTree: true, isNegated: false, op: "", value: text.slice(1, -1) };
    const isNegated = text.startsWith("not.");
    const plain = isNegated ? text.slice(4) : text;
    const dot = plain.indexOf(".");
    return { column, isTree: false, isNegated, op: plain.slice(0, dot), value: plain.slice(dot + 1) };
  });
}
