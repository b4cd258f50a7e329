import { useState } from "react";
import { useChange, useMe, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { AdministratorToken, Right } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { rightChoices } from "./Administrators.tsx";
import Programs from "./Programs.tsx";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.tokens;
const dayS = 86_400;
const order = ["reader", "developer", "owner"];

export default function Tokens() {
  const all = useOperation("tokens.list", {});
  const [isAdding, setAdding] = useState(false);
  const [secret, setSecret] = useState("");
  const remove = useChange("tokens.remove", { invalidates: ["tokens."], doneText: texts.removed });
  const onRemove = async (token: AdministratorToken) => {
    if (await confirm({ title: texts.remove, body: texts.removeText, names: [token.name], action: texts.remove })) {
      remove.mutate({ id: token.id });
    }
  };
  const add = <Button size="small" icon="plus" onPress={() => setAdding(true)}>{texts.add}</Button>;
  const columns: readonly Column<AdministratorToken>[] = [
    ...fixedColumns,
    {
      id: "remove",
      title: "",
      name: texts.remove,
      cell: (token) => (
        <IconButton
          icon="trash"
          size="small"
          label={`${texts.remove}: ${token.name}`}
          onPress={() => void onRemove(token)}
        />
      ),
      width: "3rem",
    },
  ];
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
          <Card title={settingsTexts.tabs.tokens} actions={add} isFlush>
            <p className="soft settings-lead">{texts.lead}</p>
            <DataTable label={settingsTexts.tabs.tokens} columns={columns} rows={rows} keyOf={({ id }) => id} />
          </Card>
        )}
      </QueryView>
      <Programs />
      {isAdding && <Add onClose={() => setAdding(false)} onSecret={setSecret} />}
      <Dialog title={texts.secretTitle} isOpen={secret !== ""} onClose={() => setSecret("")}>
        <Note kind="warn">{texts.secretText}</Note>
        <CodeBlock label={texts.secretTitle} code={secret} />
      </Dialog>
    </>
  );
}

function Add({ onClose, onSecret }: { onClose: () => void; onSecret: (secret: string) => void }) {
  const me = useMe();
  const [name, setName] = useState("");
  const [rights, setRights] = useState<Right>("reader");
  const [mayWrite, setMayWrite] = useState(false);
  const [days, setDays] = useState("30");
  const isForever = days.trim() === "";
  const lasts = Number(days);
  const error = !isForever && !(lasts > 0) ? texts.badDays : undefined;
  const create = useChange("tokens.create", {
    invalidates: ["tokens."],
    showsError: true,
    onDone: ({ secret }) => {
      onClose();
      onSecret(secret);
    },
  });
  return (
    <Dialog
      title={texts.add}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() =>
        error === undefined &&
        create.mutate({ name, rights, may_write: mayWrite, lasts_s: isForever ? null : lasts * dayS })}
      error={create.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isPending={create.isPending}>{texts.add}</Button>
        </>
      }
    >
      <Field label={texts.name} value={name} onChange={setName} autoComplete="off" hasFocus />
      <Select
        label={texts.rights}
        choices={rightChoices.filter(({ id }) => order.indexOf(id) <= order.indexOf(me.rights))}
        value={rights}
        onChange={setRights}
      />
      <Checkbox isSelected={mayWrite} onChange={setMayWrite}>{texts.writes}</Checkbox>
      <Field
        label={texts.days}
        value={days}
        onChange={setDays}
        inputMode="decimal"
        hint={texts.daysHint}
        error={error}
      />
    </Dialog>
  );
}

const fixedColumns: readonly Column<AdministratorToken>[] = [
  { id: "name", title: texts.name, cell: ({ name }) => <span className="cut">{name}</span> },
  { id: "hint", title: texts.hint, cell: ({ hint }) => <code>…{hint}</code>, width: "7rem", isMinor: true },
  {
    id: "rights",
    title: texts.rights,
    cell: ({ rights, may_write }) => (
      <span>
        {settingsTexts.administrators.rightsNames[rights]}{" "}
        <Badge tone={may_write ? "warn" : "neutral"}>{may_write ? texts.write : texts.read}</Badge>
      </span>
    ),
    width: "minmax(9rem, 1fr)",
  },
  { id: "used", title: texts.used, cell: ({ used_at }) => <Time value={used_at} />, isMinor: true },
  {
    id: "ends",
    title: texts.ends,
    cell: ({ expires_at }) =>
      expires_at === null ? <span className="faint">{texts.forever}</span> : <Time value={expires_at} />,
    isMinor: true,
  },
];
