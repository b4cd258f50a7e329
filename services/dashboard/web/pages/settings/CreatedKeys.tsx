import { useState } from "react";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { CreatedKey } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.createdKeys;

/** Keys of applications and servers that are created and revoked while the platform runs. */
export default function CreatedKeys() {
  const all = useOperation("keys.created", {});
  const mayChange = useMay("keys.create");
  const [isAdding, setAdding] = useState(false);
  const [key, setKey] = useState("");
  const revoke = useChange("keys.revoke", { invalidates: ["keys."], doneText: texts.revoked });
  const onRevoke = async ({ name }: CreatedKey) => {
    if (await confirm({ title: texts.revoke, body: texts.revokeText, names: [name], action: texts.revoke })) {
      revoke.mutate({ name });
    }
  };
  const add = mayChange && <Button size="small" icon="plus" onPress={() => setAdding(true)}>{texts.create}</Button>;
  const columns: readonly Column<CreatedKey>[] = mayChange
    ? [...fixedColumns, {
      id: "revoke",
      title: "",
      name: texts.revoke,
      cell: (row) => (
        <IconButton
          icon="trash"
          size="small"
          label={`${texts.revoke}: ${row.name}`}
          onPress={() => void onRevoke(row)}
        />
      ),
      width: "3rem",
    }]
    : fixedColumns;
  return (
    <>
      <QueryView
        query={all}
        isEmpty={(rows) => rows.length === 0}
        empty={
          <Card>
            <EmptyState icon="key" title={texts.none} action={add}>{texts.lead}</EmptyState>
          </Card>
        }
      >
        {(rows) => (
          <Card title={texts.title} actions={add} isFlush>
            <p className="soft settings-lead">{texts.lead}</p>
            <DataTable label={texts.title} columns={columns} rows={rows} keyOf={({ name }) => name} />
          </Card>
        )}
      </QueryView>
      {isAdding && <Add onClose={() => setAdding(false)} onKey={setKey} />}
      <Dialog title={texts.createdTitle} isOpen={key !== ""} onClose={() => setKey("")}>
        <Note kind="warn">{texts.createdText}</Note>
        <CodeBlock label={texts.createdTitle} code={key} />
      </Dialog>
    </>
  );
}

function Add({ onClose, onKey }: { onClose: () => void; onKey: (key: string) => void }) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<"publishable" | "secret">("publishable");
  const create = useChange("keys.create", {
    invalidates: ["keys."],
    showsError: true,
    onDone: ({ key }) => {
      onClose();
      onKey(key);
    },
  });
  return (
    <Dialog
      title={texts.create}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => create.mutate({ name, kind })}
      error={create.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isPending={create.isPending}>{texts.create}</Button>
        </>
      }
    >
      <Field label={texts.name} value={name} onChange={setName} autoComplete="off" hint={texts.nameHint} hasFocus />
      <Select label={texts.kind} choices={kinds} value={kind} onChange={setKind} />
    </Dialog>
  );
}

const kinds = [{ id: "publishable", label: texts.publishable }, { id: "secret", label: texts.secret }] as const;

const fixedColumns: readonly Column<CreatedKey>[] = [
  { id: "name", title: texts.name, cell: ({ name }) => <span className="cut">{name}</span> },
  {
    id: "kind",
    title: texts.kind,
    cell: ({ kind }) => <Badge tone={kind === "secret" ? "warn" : "neutral"}>{kind}</Badge>,
    width: "8rem",
  },
  { id: "hint", title: texts.ends, cell: ({ hint }) => <code>…{hint}</code>, width: "7rem", isMinor: true },
  { id: "created", title: texts.created, cell: ({ created_on }) => created_on, width: "8rem", isMinor: true },
  {
    id: "used",
    title: texts.used,
    cell: ({ used_at, watched_since }) =>
      used_at === null
        ? (
          <span className="faint">
            {texts.notSince} <Time value={watched_since} />
          </span>
        )
        : <Time value={used_at} />,
    width: "minmax(9rem, 1fr)",
  },
];
