import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { run } from "../../api/client.ts";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, KeyValue, Pagination } from "../../components/basics.tsx";
import { IconButton } from "../../components/Button.tsx";
import { type Change, ChangeDialog } from "../../components/ChangeDialog.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Menu } from "../../components/Menu.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import type { RealtimeTable } from "../../generated/operations.ts";
import { realtimeTexts } from "./texts.ts";

const texts = realtimeTexts.tables;
const pageSize = 100;

/** Which tables send their changes, how much of old rows they send, and what is to be known about each. */
export function PublishedTables() {
  const [search, changeSearch] = useSearch();
  const schema = search["schema"] ?? "public";
  const [earlier, setEarlier] = useState<readonly (string | null)[]>([]);
  const [after, setAfter] = useState<string | null>(null);
  const schemas = useOperation("catalog.schemas", {}, { staleAfter: 60_000 });
  const tables = useOperation("realtime.tables", { schema, after, limit: pageSize }, { keepsPrevious: true });
  const mayChange = useMay("realtime.publish_table");
  const [change, setChange] = useState<{ title: string; name: string; changes: readonly Change[] } | null>(null);
  const identity = useChange("realtime.set_replica_identity", {
    invalidates: ["realtime."],
    doneText: texts.changed,
  });
  const choices = [...new Set([schema, ...(schemas.data ?? []).map(({ name }) => name)])];
  const setFull = async (table: RealtimeTable, isFull: boolean) => {
    const target = { schema: table.schema, table: table.name, is_full: isFull };
    const preview = await run("realtime.set_replica_identity", { ...target, is_preview: true }).catch(toast.error);
    if (!preview) return;
    const title = isFull ? texts.fullTitle(table.name) : texts.keyTitle(table.name);
    const body = isFull ? texts.fullText : texts.keyText;
    const action = isFull ? texts.full : texts.key;
    if (await confirm({ title, body, names: [preview.sql], action })) identity.mutate(target);
  };
  const open = tables.data?.rows.find(({ name }) => name === search["open"]);
  const publish = (table: RealtimeTable, published: boolean) =>
    setChange({
      title: published ? texts.publishTitle(table.name) : texts.stopTitle(table.name),
      name: (published ? texts.publishName : texts.stopName)(table.name.replace(/\W+/g, "_").toLowerCase()),
      changes: [{ change: "switch_publication", schema: table.schema, table: table.name, published }],
    });
  const columns: Column<RealtimeTable>[] = [
    { id: "table", title: texts.table, cell: ({ name }) => <code className="cut">{name}</code> },
    {
      id: "published",
      title: texts.published,
      width: "8rem",
      cell: ({ is_published: isPublished }) =>
        isPublished ? <Badge tone="good" icon="radio">{texts.published}</Badge> : <span className="faint">–</span>,
    },
    {
      id: "old",
      title: texts.old,
      width: "7rem",
      isMinor: true,
      cell: ({ replica_identity: kind }) => kind === "full" ? texts.oldFull : kind === "nothing" ? "–" : texts.oldKey,
    },
    {
      id: "readers",
      title: texts.readers,
      isMinor: true,
      cell: ({ readable_by: readers }) => readers.length > 0 ? readers.join(", ") : texts.nobody,
    },
    {
      id: "warnings",
      title: texts.warnings,
      width: "minmax(8rem, 3fr)",
      cell: ({ warnings }) => <span className="cut" title={warnings.join("\n")}>{warnings.join(" ")}</span>,
    },
    ...(mayChange
      ? [{
        id: "actions",
        title: "",
        name: texts.more,
        width: "3rem",
        cell: (table: RealtimeTable) => (
          <Menu
            label={texts.actions(table.name)}
            button={<IconButton icon="more" size="small" label={texts.actions(table.name)} />}
            entries={[
              table.is_published
                ? { id: "stop", label: texts.stop, icon: "stop" as const, onAction: () => publish(table, false) }
                : { id: "publish", label: texts.publish, icon: "radio" as const, onAction: () => publish(table, true) },
              table.replica_identity === "full"
                ? { id: "key", label: texts.key, onAction: () => void setFull(table, false) }
                : { id: "full", label: texts.full, onAction: () => void setFull(table, true) },
            ]}
          />
        ),
      }]
      : []),
  ];
  const show = (next: string | null, before: readonly (string | null)[]) => {
    setAfter(next);
    setEarlier(before);
  };
  return (
    <Card
      title={texts.table}
      isFlush
      actions={
        <Select
          label={texts.schema}
          hidesLabel
          size="small"
          choices={choices.map((id) => ({ id, label: id }))}
          value={schema}
          onChange={(chosen) => {
            show(null, []);
            changeSearch({ schema: chosen === "public" ? null : chosen });
          }}
        />
      }
    >
      <QueryView
        query={tables}
        isEmpty={({ rows }) => rows.length === 0 && after === null}
        empty={<EmptyState icon="table" title={texts.none}>{texts.noneText}</EmptyState>}
      >
        {({ rows, next }) => (
          <>
            <DataTable
              label={texts.table}
              columns={columns}
              rows={rows}
              keyOf={({ name }) => name}
              openKey={search["open"] ?? null}
              onOpen={({ name }) => changeSearch({ open: name }, false)}
              height={`${Math.min(rows.length, 20) * 33 + 36}px`}
            />
            {(next !== null || earlier.length > 0) && (
              <Pagination
                hasPrevious={earlier.length > 0}
                hasNext={next !== null}
                onPrevious={() => show(earlier.at(-1) ?? null, earlier.slice(0, -1))}
                onNext={() => show(next, [...earlier, after])}
              />
            )}
          </>
        )}
      </QueryView>
      {open && (
        <Dialog
          title={`${open.schema}.${open.name}`}
          isOpen
          size="side"
          onClose={() => changeSearch({ open: null })}
        >
          <KeyValue
            entries={[
              [texts.published, open.is_published ? texts.yes : texts.no],
              [texts.old, open.replica_identity],
              [texts.readers, open.readable_by.join(", ") || texts.nobody],
              [texts.columns, open.columns?.join(", ") ?? texts.allColumns],
              [texts.filter, open.filter ?? texts.allRows],
            ]}
          />
          {open.warnings.map((warning) => <Note key={warning} kind="warn">{warning}</Note>)}
        </Dialog>
      )}
      {change && (
        <ChangeDialog
          {...change}
          onClose={() => setChange(null)}
          onDone={() => {
            setChange(null);
            void tables.refetch();
          }}
        />
      )}
    </Card>
  );
}
