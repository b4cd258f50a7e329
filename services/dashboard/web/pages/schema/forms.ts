/** What the forms of the page ask for, and the changes of the schema that they make of it. Pure. */

import type { Change } from "../../components/ChangeDialog.tsx";
import type { ColumnInfo, FunctionInfo, RelationInfo } from "../../generated/operations.ts";
import { quotedName, splitName } from "../../sqlName.ts";
import { schemaTexts } from "./texts.ts";

const texts = schemaTexts.forms;
const labels = texts.labels;

export type FormValue = string | boolean | readonly string[];

export type Values = { readonly [name: string]: FormValue };

export interface FormField {
  name: string;
  label: string;
  /** `sql`: an editor; `type`: a name of a type, completed; `table`: `schema.table`, completed; `columns`: chosen from a table's. */
  kind: "text" | "code" | "lines" | "sql" | "flag" | "choice" | "type" | "table" | "columns";
  /** Schema and name of the table whose columns are chosen; without it, of the one in the field `target`. */
  of?: readonly [string, string];
  choices?: readonly string[];
  hint?: string;
  isRequired?: boolean;
}

export interface ChangeForm {
  title: string;
  fields: readonly FormField[];
  initial: Values;
  migration: (values: Values) => string;
  changes: (values: Values) => Change[];
}

/** Changes that wait for their SQL to be looked at. */
export interface PendingChange {
  title: string;
  name: string;
  changes: readonly Change[];
  typeName?: string;
}

const deletions = ["no action", "restrict", "cascade", "set null", "set default"] as const;
const name: FormField = { name: "name", label: labels.name, kind: "code", isRequired: true };
const target: readonly FormField[] = [
  { name: "target", label: labels.table, kind: "table", isRequired: true },
  { name: "targetColumns", label: labels.targetColumns, kind: "columns", hint: texts.targetColumnsHint },
  { name: "onDelete", label: labels.onDelete, kind: "choice", choices: deletions },
];

/** Return the name of a migration from words: letters, digits and `_`. */
export function migrationName(...words: readonly string[]): string {
  return words.join("_").replace(/[^\p{L}\p{N}]+/gu, "_").replace(/^_+|_+$/g, "").toLowerCase();
}

/** A table by its name. */
type TablePlace = Pick<RelationInfo, "schema" | "name">;

export function addColumn({ schema, name: table }: TablePlace): ChangeForm {
  return {
    title: texts.addColumn(table),
    fields: [
      name,
      { name: "type", label: labels.type, kind: "type", isRequired: true },
      { name: "default", label: labels.default, kind: "code" },
      { name: "nullable", label: labels.nullable, kind: "flag" },
      { name: "unique", label: labels.isUnique, kind: "flag" },
      { name: "references", label: labels.references, kind: "table" },
    ],
    initial: { type: "text", nullable: true },
    migration: (values) => migrationName("add", text(values["name"]), "to", table),
    changes: (values) => [{
      change: "add_column",
      schema,
      table,
      column: {
        name: text(values["name"]),
        type: text(values["type"]),
        is_nullable: values["nullable"] === true,
        is_unique: values["unique"] === true,
        ...(text(values["default"]) ? { default: text(values["default"]) } : {}),
        ...(text(values["references"]) ? { references: tableName(text(values["references"])) } : {}),
      },
    }],
  };
}

export function editColumn({ schema, name: table }: RelationInfo, column: ColumnInfo): ChangeForm {
  return {
    title: texts.editColumn(column.name),
    fields: [
      { name: "type", label: labels.type, kind: "type", isRequired: true },
      { name: "using", label: labels.using, kind: "code", hint: texts.usingHint },
      { name: "default", label: labels.default, kind: "code" },
      { name: "nullable", label: labels.nullable, kind: "flag" },
    ],
    initial: { type: column.type, default: column.default ?? "", nullable: column.is_nullable },
    migration: () => migrationName("change", column.name, "of", table),
    changes: (values) => {
      const type = text(values["type"]);
      const preset = text(values["default"]);
      return [{
        change: "alter_column",
        schema,
        table,
        column: column.name,
        ...(type === column.type ? {} : { type }),
        ...(text(values["using"]) ? { using: text(values["using"]) } : {}),
        ...(preset === (column.default ?? "") ? {} : { default: preset }),
        ...(values["nullable"] === column.is_nullable ? {} : { is_nullable: values["nullable"] === true }),
      }];
    },
  };
}

/** Return the form of a new name; `change` makes the change of it. */
export function rename(old: string, change: (to: string) => Change): ChangeForm {
  return {
    title: texts.rename(old),
    fields: [{ ...name, name: "to", label: labels.newName }],
    initial: { to: old },
    migration: (values) => migrationName("rename", old, "to", text(values["to"])),
    changes: (values) => [change(text(values["to"]))],
  };
}

/** Return the form of a comment; an empty one removes it. */
export function comment(old: string, present: string | null, change: (comment: string | null) => Change): ChangeForm {
  return {
    title: texts.comment(old),
    fields: [{ name: "comment", label: labels.comment, kind: "lines" }],
    initial: { comment: present ?? "" },
    migration: () => migrationName("comment_on", old),
    changes: (values) => [change(text(values["comment"]) || null)],
  };
}

export function addKey({ schema, name: table }: RelationInfo, kind: "primary" | "unique"): ChangeForm {
  return {
    title: kind === "primary" ? texts.addPrimary(table) : texts.addUnique(table),
    fields: [columnsOf(schema, table)],
    initial: {},
    migration: (values) => migrationName(kind, "key", table, ...namesOf(values["columns"])),
    changes: (values) => [{
      change: kind === "primary" ? "add_primary_key" : "add_unique",
      schema,
      table,
      columns: namesOf(values["columns"]),
    }],
  };
}

/** Return the form of a foreign key; `drawn` is one that was drawn from a column to a column of a table of the schema. */
export function addForeignKey(
  { schema, name: table }: TablePlace,
  drawn?: { column: string; table: string; target: string },
): ChangeForm {
  return {
    title: texts.addForeign(table),
    fields: [columnsOf(schema, table), ...target],
    initial: {
      onDelete: "no action",
      ...(drawn
        ? {
          columns: [drawn.column],
          target: `${quotedName(schema)}.${quotedName(drawn.table)}`,
          targetColumns: [drawn.target],
        }
        : {}),
    },
    migration: (values) => migrationName("foreign_key", table, ...namesOf(values["columns"])),
    changes: (values) => [{
      change: "add_foreign_key",
      schema,
      table,
      columns: namesOf(values["columns"]),
      references: {
        ...tableName(text(values["target"])),
        ...(namesOf(values["targetColumns"]).length ? { target_columns: namesOf(values["targetColumns"]) } : {}),
        on_delete: deletions.find((deletion) => deletion === values["onDelete"]) ?? "no action",
      },
    }],
  };
}

export function addCheck({ schema, name: table }: RelationInfo): ChangeForm {
  return {
    title: texts.addCheck(table),
    fields: [{ ...name, isRequired: false }, {
      name: "check",
      label: labels.expression,
      kind: "sql",
      isRequired: true,
    }],
    initial: {},
    migration: (values) => migrationName("check", table, text(values["name"])),
    changes: (values) => [{
      change: "add_check",
      schema,
      table,
      check: text(values["check"]),
      ...(text(values["name"]) ? { name: text(values["name"]) } : {}),
    }],
  };
}

export function addIndex({ schema, name: table }: RelationInfo): ChangeForm {
  const methods = ["btree", "gin", "gist", "brin", "hash", "spgist"] as const;
  return {
    title: texts.addIndex(table),
    fields: [
      { name: "columns", label: labels.columns, kind: "code", hint: texts.indexHint, isRequired: true },
      { name: "method", label: labels.method, kind: "choice", choices: methods },
      { name: "unique", label: labels.isUnique, kind: "flag" },
      { name: "where", label: labels.where, kind: "code" },
      { name: "concurrently", label: labels.concurrently, kind: "flag", hint: texts.concurrentlyHint },
    ],
    initial: { method: "btree" },
    migration: (values) => migrationName("index", table, text(values["columns"])),
    changes: (values) => [{
      change: "create_index",
      schema,
      table,
      parts: indexParts(text(values["columns"])),
      method: methods.find((method) => method === values["method"]) ?? "btree",
      is_unique: values["unique"] === true,
      concurrently: values["concurrently"] === true,
      ...(text(values["where"]) ? { where: text(values["where"]) } : {}),
    }],
  };
}

export function addTrigger({ schema, name: table }: RelationInfo): ChangeForm {
  const timings = ["before", "after", "instead of"] as const;
  const events = ["insert", "update", "delete", "truncate"] as const;
  return {
    title: texts.addTrigger(table),
    fields: [
      name,
      { name: "timing", label: labels.timing, kind: "choice", choices: timings },
      { name: "events", label: labels.events, kind: "code", hint: events.join(", "), isRequired: true },
      { name: "function", label: labels.function, kind: "code", isRequired: true },
      { name: "forEach", label: labels.forEach, kind: "choice", choices: ["row", "statement"] },
    ],
    initial: { timing: "before", events: "insert, update", forEach: "row" },
    migration: (values) => migrationName("trigger", text(values["name"]), "on", table),
    changes: (values) => {
      const [place, routine] = splitName(text(values["function"]));
      const wanted = names(values["events"]).map((event) => event.toLowerCase());
      return [{
        change: "create_trigger",
        schema,
        table,
        name: text(values["name"]),
        timing: timings.find((timing) => timing === values["timing"]) ?? "before",
        events: events.filter((event) => wanted.includes(event)),
        function: routine,
        function_schema: place,
        for_each: values["forEach"] === "statement" ? "statement" : "row",
      }];
    },
  };
}

export function createEnum(schema: string): ChangeForm {
  return {
    title: texts.createEnum,
    fields: [name, { name: "values", label: labels.values, kind: "lines", hint: texts.valuesHint, isRequired: true }],
    initial: {},
    migration: (values) => migrationName("create", text(values["name"])),
    changes: (values) => [{
      change: "create_enum",
      schema,
      name: text(values["name"]),
      values: text(values["values"]).split("\n").map((value) => value.trim()).filter(Boolean),
    }],
  };
}

export function addEnumValue(schema: string, type: string, present: readonly string[]): ChangeForm {
  return {
    title: texts.addValue(type),
    fields: [
      { name: "value", label: labels.value, kind: "text", isRequired: true },
      { name: "before", label: labels.before, kind: "choice", choices: ["", ...present] },
    ],
    initial: { before: "" },
    migration: (values) => migrationName("add", text(values["value"]), "to", type),
    changes: (values) => [{
      change: "add_enum_value",
      schema,
      name: type,
      value: text(values["value"]),
      ...(text(values["before"]) ? { before: text(values["before"]) } : {}),
    }],
  };
}

export function renameEnumValue(schema: string, type: string, present: readonly string[]): ChangeForm {
  return {
    title: texts.renameValue(type),
    fields: [
      { name: "value", label: labels.value, kind: "choice", choices: present },
      { name: "to", label: labels.newName, kind: "text", isRequired: true },
    ],
    initial: { value: present[0] ?? "" },
    migration: (values) => migrationName("rename", text(values["value"]), "of", type),
    changes: (values) => [{
      change: "rename_enum_value",
      schema,
      name: type,
      value: text(values["value"]),
      to: text(values["to"]),
    }],
  };
}

/** Return the form of a new view, or of the definition of one. */
export function view(schema: string, present: RelationInfo | null): ChangeForm {
  const isMaterialized = present?.kind === "materialized view";
  return {
    title: present ? texts.editView(present.name) : texts.createView,
    fields: [
      ...(present ? [] : [name]),
      { name: "query", label: labels.query, kind: "sql", isRequired: true },
      ...(present ? [] : [{ name: "materialized", label: labels.isMaterialized, kind: "flag" as const }]),
      { name: "invoker", label: labels.invoker, kind: "flag", hint: texts.invokerHint },
    ],
    initial: {
      query: present?.definition ?? "select ",
      materialized: isMaterialized,
      invoker: present ? present.options.some((option) => /^security_invoker=(true|on)$/.test(option)) : true,
    },
    migration: (values) => migrationName(present ? "change" : "create", present?.name ?? text(values["name"])),
    changes: (values) => [{
      change: "create_view",
      schema,
      name: present?.name ?? text(values["name"]),
      query: text(values["query"]).replace(/;\s*$/, ""),
      is_materialized: values["materialized"] === true,
      security_invoker: values["invoker"] === true && values["materialized"] !== true,
      replace: present !== null,
    }],
  };
}

/** Return the form of a new function, or of the definition of one. */
export function routine(schema: string, present: FunctionInfo | null): ChangeForm {
  const first = [
    `create function ${quotedName(schema)}.my_function(a integer)`,
    "returns integer",
    "language sql stable",
    "set search_path = ''",
    "as $$",
    "  select a + 1",
    "$$",
  ].join("\n");
  return {
    title: present ? texts.editFunction(present.name) : texts.createFunction,
    fields: [{ name: "definition", label: labels.definition, kind: "sql", isRequired: true }],
    initial: { definition: present?.definition?.trimEnd() ?? first },
    migration: () => migrationName(present ? "change" : "create", present?.name ?? "function"),
    changes: (values) => [{ change: "create_function", definition: text(values["definition"]).replace(/;\s*$/, "") }],
  };
}

export const createSchema: ChangeForm = {
  title: texts.createSchema,
  fields: [name],
  initial: {},
  migration: (values) => migrationName("create_schema", text(values["name"])),
  changes: (values) => [{ change: "create_schema", schema: text(values["name"]) }],
};

function tableName(text: string): { target_schema: string; target_table: string } {
  const [schema, table] = splitName(text);
  return { target_schema: schema, target_table: table };
}

function indexParts(text: string) {
  const parts = text.match(/\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)[^,]*|[^,]+/g) ?? [];
  return parts.map((part) => part.trim()).filter(Boolean).map((part) => {
    const isDescending = /\s+desc$/i.test(part);
    const bare = part.replace(/\s+(asc|desc)$/i, "");
    return bare.startsWith("(")
      ? { expression: bare.slice(1, -1), is_descending: isDescending }
      : { column: splitName(bare)[1], is_descending: isDescending };
  });
}

/** Return the columns that were chosen, in their order. */
export function namesOf(value: FormValue | undefined): string[] {
  return Array.isArray(value) ? [...value] : [];
}

function columnsOf(schema: string, table: string): FormField {
  return { name: "columns", label: labels.columns, kind: "columns", of: [schema, table], isRequired: true };
}

function names(value: FormValue | undefined): string[] {
  return text(value).split(",").map((part) => part.trim()).filter(Boolean).map((part) => splitName(part)[1]);
}

function text(value: FormValue | undefined): string {
  return typeof value === "string" ? value.trim() : "";
}
