import { useState } from "react";
import { pathOf, useGo } from "../../address.tsx";
import { run } from "../../api/client.ts";
import { useChange } from "../../api/hooks.ts";
import { isStopped } from "../../api/errors.ts";
import { PlanLead } from "../../components/ChangeDialog.tsx";
import { CodeBlock } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { Note } from "../../components/states.tsx";
import { TableField } from "../../components/TableField.tsx";
import { TypeField } from "../../components/TypeField.tsx";
import { toast } from "../../components/toasts.ts";
import type { ChangePlan, CreateTableInput } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { readReference, referenceTo } from "./references.ts";
import { tablesTexts as texts } from "./texts.ts";

interface ColumnDraft {
  id: number;
  name: string;
  type: string;
  preset: string;
  isNullable: boolean;
  isKey: boolean;
  /** The column refers to the user of auth who owns the row. */
  isOwner?: boolean;
  /** The table whose rows the column refers to, as `schema.table`; empty until it is chosen. */
  target?: string;
}

/** Creates a table: its columns in a form, then the SQL, then the migration. Then `onCreated` follows, or its rows are opened. */
export function CreateTable({ schema, onClose, onCreated }: {
  schema: string;
  onClose: () => void;
  onCreated?: (table: string) => void;
}) {
  const go = useGo();
  const [name, setName] = useState("");
  const [columns, setColumns] = useState<readonly ColumnDraft[]>([
    { id: 1, name: "id", type: "bigint", preset: "", isNullable: false, isKey: true },
    { id: 2, name: "created_at", type: "timestamptz", preset: "now()", isNullable: false, isKey: false },
    emptyColumn(3),
  ]);
  const [hasRowSecurity, setRowSecurity] = useState(true);
  /** What was typed; until then the migration follows the name of the table. */
  const [typedMigration, setMigration] = useState<string | null>(null);
  const migration = typedMigration ?? `create_${name.trim().replace(/\W+/g, "_").toLowerCase()}`;
  const [plan, setPlan] = useState<ChangePlan | null>(null);
  const [error, setError] = useState<unknown>(null);
  const used = columns.filter((column) => !isUntouched(column));
  const isComplete = name.trim() !== "" && used.length > 0 &&
    used.every((column) => column.name.trim() !== "" && column.type.trim() !== "" && column.target !== "");
  const change: CreateTableInput = {
    change: "create_table",
    schema,
    table: name.trim(),
    columns: used.map((column) => ({
      name: column.name.trim(),
      type: column.type.trim(),
      is_nullable: column.isNullable && !column.isKey,
      ...(isNumbered(column) ? { identity: "by default" as const } : {}),
      ...(column.preset.trim() ? { default: column.preset.trim() } : {}),
      ...(column.isOwner
        ? { references: { target_schema: "auth", target_table: "users", on_delete: "cascade" as const } }
        : column.target
        ? { references: referenceTo(column.target) }
        : {}),
    })),
    primary_key: used.filter((column) => column.isKey).map((column) => column.name.trim()),
    row_security: hasRowSecurity,
  };
  const review = async () => {
    if (!isComplete) return setError(new Error(texts.create.needsName));
    setError(null);
    try {
      setPlan(await run("schema.plan", { changes: [change] }));
    } catch (reason) {
      if (!isStopped(reason)) setError(reason);
    }
  };
  const apply = useChange("schema.apply", {
    invalidates: ["catalog.", "policies."],
    showsError: true,
    onDone: ({ migration: { file } }) => {
      toast.done(
        file.is_written ? texts.create.created(change.table, file.path) : texts.create.createdUnsaved(change.table),
      );
      onClose();
      if (onCreated) onCreated(change.table);
      else go(pathOf("tables", schema, change.table));
    },
  });
  const set = (id: number, part: Partial<ColumnDraft>) =>
    setColumns(columns.map((column) => column.id === id ? { ...column, ...part } : column));
  const add = (column: Partial<ColumnDraft> = {}) =>
    setColumns([...columns, { ...emptyColumn(Math.max(0, ...columns.map(({ id }) => id)) + 1), ...column }]);
  const addReference = () => add({ type: "", target: "" });
  /** A column that refers to a table has the type of its key, and is named after it unless it has a name. */
  const chooseTarget = async (column: ColumnDraft, target: string) => {
    set(column.id, { target });
    const reference = await readReference(target);
    if (!reference) return;
    setColumns((present) =>
      present.map((other) =>
        other.id === column.id && other.target === target
          ? { ...other, type: reference.type, name: other.name.trim() || reference.name }
          : other
      )
    );
  };
  /** The owner stands before the column that is typed next. */
  const addOwner = () =>
    setColumns([...used, {
      ...emptyColumn(Math.max(0, ...columns.map(({ id }) => id)) + 1),
      name: "user_id",
      type: "uuid",
      preset: "auth.uid()",
      isNullable: false,
      isOwner: true,
    }, ...columns.filter(isUntouched)]);

  if (plan) {
    return (
      <Dialog
        title={texts.create.title}
        isOpen
        size="large"
        isDismissable={false}
        isDirty
        onClose={onClose}
        error={apply.error}
        onSubmit={() => apply.mutate({ name: migration, changes: [change] })}
        footer={
          <>
            <Button onPress={() => setPlan(null)}>{texts.create.back}</Button>
            <Button type="submit" variant="primary" isPending={apply.isPending}>{texts.create.apply}</Button>
          </>
        }
      >
        <PlanLead obstacle={plan.file_obstacle} />
        <CodeBlock label={texts.create.sql} code={plan.text} />
        {plan.warnings.map((warning, index) => (
          <Note key={index} kind={warning.level === "notice" ? "info" : "warn"}>{warning.message}</Note>
        ))}
        <Field label={texts.create.migrationName} value={migration} onChange={setMigration} isCode />
      </Dialog>
    );
  }
  return (
    <Dialog
      title={texts.create.title}
      isOpen
      size="large"
      isDismissable={false}
      onClose={onClose}
      error={error}
      onSubmit={() => void review()}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary">{texts.create.review}</Button>
        </>
      }
    >
      <Field label={texts.create.name} value={name} onChange={setName} isCode hasFocus autoComplete="off" />
      <h3>{texts.create.columns}</h3>
      <div className="tables-new-columns">
        {columns.map((column) => (
          <fieldset key={column.id} className="tables-new-column" aria-label={column.name || texts.create.column}>
            <Field
              label={texts.create.column}
              value={column.name}
              onChange={(text) =>
                set(column.id, { name: text })}
              autoComplete="off"
              isCode
            />
            <TypeField
              label={texts.create.type}
              schema={schema}
              value={column.type}
              onChange={(type) =>
                set(column.id, { type })}
            />
            {column.target === undefined
              ? (
                <Field
                  label={texts.create.default}
                  value={column.preset}
                  onChange={(preset) => set(column.id, { preset })}
                  placeholder={isNumbered(column) ? texts.create.identity : ""}
                  autoComplete="off"
                  isCode
                />
              )
              : (
                <TableField
                  label={texts.create.refersTo}
                  schema={schema}
                  value={column.target}
                  onChange={(target) => void chooseTarget(column, target)}
                />
              )}
            <div className="tables-new-marks">
              <Checkbox
                isSelected={column.isKey}
                onChange={(isKey) =>
                  set(column.id, { isKey })}
              >
                {texts.create.primaryKey}
              </Checkbox>
              <Checkbox
                isSelected={column.isNullable && !column.isKey}
                isDisabled={column.isKey}
                onChange={(isNullable) => set(column.id, { isNullable })}
              >
                {texts.create.nullable}
              </Checkbox>
            </div>
            {column.isOwner && <p className="hint tables-new-owner">{texts.create.ownerHint}</p>}
            <IconButton
              icon="trash"
              size="small"
              label={texts.create.removeColumn(column.name)}
              onPress={() => setColumns(columns.filter(({ id }) => id !== column.id))}
            />
          </fieldset>
        ))}
      </div>
      <div className="tables-new-actions">
        <Button size="small" icon="plus" onPress={() => add()}>{texts.create.addColumn}</Button>
        <Button size="small" icon="external" onPress={addReference}>{texts.create.addReference}</Button>
        {!columns.some(({ isOwner }) => isOwner) && (
          <Button size="small" icon="users" onPress={addOwner}>{texts.create.addOwner}</Button>
        )}
      </div>
      <Checkbox isSelected={hasRowSecurity} onChange={setRowSecurity}>{texts.create.rowSecurity}</Checkbox>
    </Dialog>
  );
}

function emptyColumn(id: number): ColumnDraft {
  return { id, name: "", type: "text", preset: "", isNullable: true, isKey: false };
}

/** A column without a name of which nothing was changed is not made. */
function isUntouched({ name, type, preset, isNullable, isKey, target }: ColumnDraft): boolean {
  return name.trim() === "" && type === "text" && preset === "" && isNullable && !isKey && target === undefined;
}

/** A whole number that is the key, without a default, is numbered by the database. */
function isNumbered(column: ColumnDraft): boolean {
  return column.isKey && column.preset.trim() === "" &&
    /^(bigint|integer|smallint|int[248]?)$/.test(column.type.trim());
}
