/** Changes of rows with undo, and what to do when somebody saved a newer version. */

import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { type Arguments, run } from "../../api/client.ts";
import { ApiError, isStopped } from "../../api/errors.ts";
import { invalidate } from "../../api/hooks.ts";
import { toast } from "../../components/toasts.ts";
import type { DescribedTable, JsonValue, RowOfPage, StoredRow, TableColumn } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import type { RowWindow } from "./rowWindow.ts";
import { tablesTexts as texts } from "./texts.ts";
import { type Values, valuesOf } from "./values.ts";

/** A row as its editor saw it. `seen` lacks the columns that were shortened. */
export interface SeenRow {
  key: RowOfPage["key"];
  version: string | null;
  seen: Values;
}

/** Return a row of a page as its editor saw it. */
export function seenRowOf(columns: readonly TableColumn[], row: RowOfPage): SeenRow {
  const values = Object.entries(valuesOf(columns, row));
  return {
    key: row.key,
    version: row.version,
    seen: Object.fromEntries(values.filter((_, index) => !row.shortened.includes(index))),
  };
}

/** A change that was refused, with the row as it is now; null if it is gone. */
export interface Conflict {
  row: SeenRow;
  mine: Values;
  present: StoredRow | null;
}

type Undo = () => Promise<void>;

const mostUndo = 100;

export function useEdits(table: DescribedTable | null, rowWindow: RowWindow) {
  const client = useQueryClient();
  const undos = useRef<Undo[]>([]);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const name = { schema: table?.schema ?? "", table: table?.name ?? "" };
  const readAgain = () => invalidate(client, ["rows."]);

  const remember = (text: string, undo: Undo | null) => {
    if (undo) undos.current = [...undos.current, undo].slice(-mostUndo);
    toast.done(text, undo ? { action: { label: shellTexts.actions.undo, run: () => void undoThis(undo) } } : {});
  };
  const undoThis = async (undo: Undo) => {
    if (!undos.current.includes(undo)) return toast.info(texts.edit.nothingToUndo);
    undos.current = undos.current.filter((other) => other !== undo);
    try {
      await undo();
      toast.done(texts.edit.undone);
    } catch (error) {
      if (!isStopped(error)) toast.error(error);
    }
  };

  /** Write values over a row that nobody else changed; throws, or returns false on a conflict, which is then shown. */
  const write = async (row: SeenRow, values: Values, defaults: readonly string[] = []): Promise<boolean> => {
    try {
      const result = await run("rows.update", {
        ...name,
        updates: [{
          key: row.key,
          values: { ...values },
          defaults: [...defaults],
          ...(row.version === null ? { old: { ...row.seen } } : { version: row.version }),
        }],
      });
      const [before, after] = [result.before[0]!, result.after[0]!];
      rowWindow.replaceRows([{ from: row.key, to: after }]);
      await invalidate(client, ["rows.read"]);
      const changed = [...Object.keys(values), ...defaults];
      remember(changed.length === 1 ? texts.edit.saved(changed[0]!) : texts.edit.savedRow, async () => {
        const undone = await run("rows.update", {
          ...name,
          updates: [{
            key: after.key,
            values: Object.fromEntries(changed.map((column) => [column, before.values[column] ?? null])),
            version: after.version,
          }],
        });
        rowWindow.replaceRows([{ from: after.key, to: undone.after[0]! }]);
        await invalidate(client, ["rows.read"]);
      });
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "conflict") throw error;
      setConflict({ row, mine: values, present: (error.body["present"] as StoredRow | null) ?? null });
      return false;
    }
  };

  /** Write the same values over rows: as `writeRows`. */
  const writeAll = (rows: readonly SeenRow[], values: Values) => writeRows(rows.map((row) => ({ row, values })));

  /** Write values of the same columns over rows, in one transaction; throws where one of them was changed meanwhile. */
  const writeRows = async (changes: readonly { readonly row: SeenRow; readonly values: Values }[]) => {
    const columns = Object.keys(changes[0]?.values ?? {});
    const update = async (updates: Arguments<"rows.update">["updates"]) => {
      const result = await run("rows.update", { ...name, updates });
      await readAgain();
      return result;
    };
    const { before, after } = await update(changes.map(({ row, values }) => ({
      key: row.key,
      values: { ...values },
      ...(row.version === null ? { old: { ...row.seen } } : { version: row.version }),
    })));
    remember(texts.bulk.done(after.length, columns.join(", ")), async () => {
      await update(after.map((row, index) => ({
        key: row.key,
        values: Object.fromEntries(columns.map((column) => [column, before[index]!.values[column] ?? null])),
        version: row.version,
      })));
    });
  };

  const insert = async (rows: readonly { readonly [column: string]: JsonValue }[]) => {
    const { rows: stored } = await run("rows.insert", { ...name, rows: rows.map((row) => ({ ...row })) });
    await readAgain();
    const mayUndo = (table?.key.length ?? 0) > 0;
    remember(
      texts.edit.inserted(stored.length),
      mayUndo
        ? async () => {
          const deletions = stored.map(({ key, version }) => ({ key, version }));
          await run("rows.delete", { ...name, expected: stored.length, rows: deletions });
          await readAgain();
        }
        : null,
    );
  };

  const remove = async (rows: readonly SeenRow[]) => {
    const deletions = rows.map(({ key, version }) => ({ key, version }));
    const { before } = await run("rows.delete", { ...name, expected: rows.length, rows: deletions });
    await readAgain();
    const stored = new Set(table?.columns.filter(({ generated }) => generated === null).map((column) => column.name));
    remember(texts.edit.deleted(before.length), async () => {
      const values = before.map((row) =>
        Object.fromEntries(Object.entries(row.values).filter(([column]) => stored.has(column)))
      );
      // Without it, a row that numbers itself would be refused, or come back under another number.
      const overrides = table?.columns.some(({ identity }) => identity === "always") ?? false;
      await run("rows.insert", { ...name, rows: values, overrides_identity: overrides });
      await readAgain();
    });
  };

  return {
    write,
    writeAll,
    writeRows,
    insert,
    remove,
    undoLast: () => {
      const last = undos.current.at(-1);
      return last ? undoThis(last) : toast.info(texts.edit.nothingToUndo);
    },
    conflict,
    closeConflict: () => setConflict(null),
    readAgain,
  };
}

export type Edits = ReturnType<typeof useEdits>;

/** Report an error of an edit in a handler, unless the administrator stopped it. */
export function reportError(error: unknown): void {
  if (!isStopped(error)) toast.error(error);
}
