import { useState } from "react";
import { dashboardUrl } from "../../api/address.ts";
import { useChange, useMay, useMe, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Menu } from "../../components/Menu.tsx";
import { Select } from "../../components/Select.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { texts as shellTexts } from "../../texts.ts";
import type { Administrator, Right } from "../../generated/operations.ts";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.administrators;
const invalidates = ["administrators.", "audit."] as const;

/** The choices of rights, each with what it allows. */
export const rightChoices = (["owner", "developer", "reader"] as const).map((id) => ({
  id,
  label: texts.rightsNames[id],
  hint: texts.rightsHints[id],
}));

/** A choice of rights or of a role, which limits a developer. */
type Choice = Right | `role:${string}`;

/** The choices of rights, and the roles. */
function useChoices(): readonly { id: Choice; label: string; hint: string }[] {
  const roles = useOperation("roles.list", {});
  const limited = (roles.data ?? []).map(({ name }) => ({
    id: `role:${name}` as const,
    label: name,
    hint: texts.roleHint,
  }));
  return [...rightChoices, ...limited];
}

function rightsOf(choice: Choice): { rights: Right; role: string | null } {
  return choice.startsWith("role:")
    ? { rights: "developer", role: choice.slice(5) }
    : { rights: choice as Right, role: null };
}

export default function Administrators() {
  const all = useOperation("administrators.list", {});
  const mayChange = useMay("administrators.change");
  const [isAdding, setAdding] = useState(false);
  const [changed, setChanged] = useState<Administrator | null>(null);
  const [link, setLink] = useState("");
  return (
    <QueryView query={all}>
      {(rows) => (
        <>
          <Card
            title={settingsTexts.tabs.administrators}
            isFlush
            actions={mayChange && <Button size="small" icon="plus" onPress={() => setAdding(true)}>{texts.add}</Button>}
          >
            <DataTable
              label={settingsTexts.tabs.administrators}
              columns={useColumns(mayChange, setChanged, setLink)}
              rows={rows}
              keyOf={({ id }) => id}
            />
          </Card>
          {isAdding && <Add onClose={() => setAdding(false)} onLink={setLink} />}
          {changed && <ChangeRights administrator={changed} onClose={() => setChanged(null)} />}
          <Dialog title={texts.linkTitle} isOpen={link !== ""} onClose={() => setLink("")}>
            <Note kind="warn">{texts.linkText}</Note>
            <CodeBlock label={texts.linkTitle} code={`${dashboardUrl}sign-in#${link}`} />
          </Dialog>
        </>
      )}
    </QueryView>
  );
}

function Add({ onClose, onLink }: { onClose: () => void; onLink: (link: string) => void }) {
  const [email, setEmail] = useState("");
  const [rights, setRights] = useState<Choice>("developer");
  const choices = useChoices();
  const add = useChange("administrators.add", {
    invalidates,
    showsError: true,
    onDone: ({ link }) => {
      onClose();
      onLink(link);
    },
  });
  return (
    <Dialog
      title={texts.add}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => add.mutate({ email, ...rightsOf(rights) })}
      error={add.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isPending={add.isPending}>{texts.add}</Button>
        </>
      }
    >
      <Field label={texts.email} type="email" value={email} onChange={setEmail} autoComplete="off" hasFocus />
      <Select label={texts.rights} choices={choices} value={rights} onChange={setRights} />
    </Dialog>
  );
}

function ChangeRights({ administrator, onClose }: { administrator: Administrator; onClose: () => void }) {
  const { role } = administrator;
  const [rights, setRights] = useState<Choice>(role === null ? administrator.rights : `role:${role}`);
  const choices = useChoices();
  const [email, setEmail] = useState(administrator.email);
  const change = useChange("administrators.change", {
    invalidates: [...invalidates, "account."],
    showsError: true,
    doneText: texts.changed,
    onDone: onClose,
  });
  const isReady = email.includes("@");
  return (
    <Dialog
      title={administrator.email}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() =>
        isReady && change.mutate({
          id: administrator.id,
          ...rightsOf(rights),
          disabled: administrator.disabled_at !== null,
          email: email.trim() === administrator.email ? null : email.trim(),
        })}
      error={change.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isPending={change.isPending} isDisabled={!isReady}>
            {texts.change}
          </Button>
        </>
      }
    >
      <Field
        label={texts.email}
        type="email"
        value={email}
        onChange={setEmail}
        autoComplete="off"
        hint={texts.emailHint}
      />
      <Select label={texts.rights} choices={choices} value={rights} onChange={setRights} />
    </Dialog>
  );
}

function useColumns(
  mayChange: boolean,
  onChange: (administrator: Administrator) => void,
  onLink: (link: string) => void,
): readonly Column<Administrator>[] {
  const me = useMe();
  const change = useChange("administrators.change", { invalidates, doneText: texts.changed });
  const reset = useChange("administrators.reset", { invalidates, onDone: ({ link }) => onLink(link) });
  const remove = useChange("administrators.remove", { invalidates, doneText: texts.removed });
  const onRemove = async ({ id, email }: Administrator) => {
    const isConfirmed = await confirm({
      title: texts.remove,
      body: texts.removeText,
      names: [email],
      typeName: email,
      action: texts.remove,
    });
    if (isConfirmed) remove.mutate({ id });
  };
  const menu = (row: Administrator) => (
    <Menu
      label={row.email}
      button={<IconButton icon="more" size="small" label={`${shellTexts.actions.more}: ${row.email}`} />}
      entries={[
        { id: "change", label: texts.change, icon: "edit", onAction: () => onChange(row) },
        { id: "link", label: texts.link, icon: "key", onAction: () => reset.mutate({ id: row.id }) },
        {
          id: "factors",
          label: texts.linkFactors,
          icon: "lock",
          onAction: () => reset.mutate({ id: row.id, factors: true }),
        },
        {
          id: "disable",
          label: row.disabled_at === null ? texts.disable : texts.enable,
          icon: "pause",
          onAction: () => change.mutate({ id: row.id, rights: row.rights, disabled: row.disabled_at === null }),
        },
        { id: "remove", label: texts.remove, icon: "trash", isDanger: true, onAction: () => void onRemove(row) },
      ]}
    />
  );
  const columns: Column<Administrator>[] = [
    {
      id: "email",
      title: texts.email,
      cell: (row) => (
        <span className="cut">
          {row.email} {row.id === me.administrator_id && <Badge tone="accent">{texts.you}</Badge>}
          {row.disabled_at !== null && <Badge tone="warn">{texts.disabled}</Badge>}
        </span>
      ),
      width: "minmax(10rem, 2fr)",
    },
    {
      id: "rights",
      title: texts.rights,
      cell: ({ rights, role }) => <span className="cut">{role ?? texts.rightsNames[rights]}</span>,
      width: "7rem",
    },
    { id: "ways", title: texts.ways, cell: (row) => <span className="cut">{waysOf(row)}</span>, isMinor: true },
    { id: "seen", title: texts.seen, cell: ({ signed_in_at }) => <Time value={signed_in_at} />, isMinor: true },
  ];
  return mayChange
    ? [...columns, { id: "menu", title: "", name: shellTexts.actions.more, cell: menu, width: "3rem" }]
    : columns;
}

function waysOf({ has_password, has_totp, passkeys }: Administrator): string {
  const ways = [
    ...has_password ? [texts.password] : [],
    ...has_totp ? [texts.app] : [],
    ...passkeys > 0 ? [texts.passkeys(passkeys)] : [],
  ];
  return ways.join(", ") || texts.onlyLink;
}
