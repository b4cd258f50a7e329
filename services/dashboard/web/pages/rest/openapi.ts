/** What an OpenAPI document of `/rest/v1` says of tables and functions. Pure; unknown parts are left out. */

export interface RestColumn {
  name: string;
  type: string;
  isKey: boolean;
  /** It may not be null and has no default. (Keys that the database numbers look the same in the document.) */
  isRequired: boolean;
  /** `table.column` that it refers to. */
  reference: string | null;
  preset: string | null;
  comment: string;
}

export interface RestTable {
  kind: "table";
  name: string;
  comment: string;
  columns: readonly RestColumn[];
  /** Methods in lower case. */
  methods: readonly string[];
}

export interface RestFunction {
  kind: "function";
  name: string;
  comment: string;
  arguments: readonly RestColumn[];
  methods: readonly string[];
}

export type RestItem = RestTable | RestFunction;

type Json = { readonly [name: string]: unknown };

const keyMark = /Note:\s*This is a Primary Key\.<pk\/>/;
const referenceMark = /Note:\s*This is a Foreign Key to `([^`]*)`\.<fk [^>]*\/>/;

/** Return the tables and functions of a document, each sorted by name. */
export function itemsOf(document: unknown): readonly RestItem[] {
  const paths = object(object(document)["paths"]);
  const definitions = object(object(document)["definitions"]);
  const items = Object.entries(paths).flatMap(([path, methods]): RestItem[] => {
    if (path === "/") return [];
    const name = path.slice(1);
    return name.startsWith("rpc/")
      ? [functionOf(name.slice("rpc/".length), object(methods))]
      : [tableOf(name, object(methods), object(definitions[name]))];
  });
  return items.sort((a, b) => a.kind === b.kind ? a.name.localeCompare(b.name) : a.kind === "table" ? -1 : 1);
}

function tableOf(name: string, methods: Json, definition: Json): RestTable {
  const comment = text(definition["description"]) || text(object(methods["get"])["summary"]);
  return { kind: "table", name, comment, columns: columnsOf(definition), methods: Object.keys(methods) };
}

function functionOf(name: string, methods: Json): RestFunction {
  const post = object(methods["post"]);
  const parameters = list(post["parameters"]).map(object);
  const schema = object(parameters.find((parameter) => parameter["in"] === "body")?.["schema"]);
  return {
    kind: "function",
    name,
    comment: text(post["summary"]),
    arguments: columnsOf(schema),
    methods: Object.keys(methods),
  };
}

function columnsOf(schema: Json): readonly RestColumn[] {
  const required = list(schema["required"]);
  return Object.entries(object(schema["properties"])).map(([name, described]) => {
    const property = object(described);
    const description = text(property["description"]);
    const preset = property["default"];
    return {
      name,
      type: text(property["format"]) || text(property["type"]),
      isKey: keyMark.test(description),
      isRequired: required.includes(name) && preset === undefined,
      reference: referenceMark.exec(description)?.[1] ?? null,
      preset: preset === undefined ? null : typeof preset === "string" ? preset : JSON.stringify(preset),
      comment: description.replace(keyMark, "").replace(referenceMark, "").trim(),
    };
  });
}

function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Json : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
