import { useState } from "react";
import { useChange, useMe, useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Field } from "../../components/Field.tsx";
import { ErrorNote, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { AdministratorSession } from "../../generated/operations.ts";
import { Factors } from "./Factors.tsx";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.account;

/** One's own password, second factors and sessions. */
export default function Account() {
  return (
    <>
      <Password />
      <Factors />
      <Sessions />
    </>
  );
}

function Password() {
  const me = useMe();
  const [password, setPassword] = useState("");
  const change = useChange("account.set_password", {
    doneText: texts.passwordSet,
    invalidates: ["account.", "administrators."],
    showsError: true,
    onDone: () => setPassword(""),
  });
  return (
    <Card title={texts.password}>
      <form
        className="settings-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ password });
        }}
      >
        <input type="hidden" name="username" autoComplete="username" value={me.name} readOnly />
        <Field
          label={texts.newPassword}
          type="password"
          autoComplete="new-password"
          hint={texts.passwordHint}
          value={password}
          onChange={setPassword}
        />
        <ErrorNote error={change.error} />
        <Button type="submit" isPending={change.isPending} isDisabled={!password}>{texts.setPassword}</Button>
      </form>
    </Card>
  );
}

function Sessions() {
  const me = useMe();
  const sessions = useOperation("account.sessions", {});
  const end = useChange("account.end_session", { invalidates: ["account."], doneText: texts.ended });
  const endOthers = useChange("account.end_other_sessions", { invalidates: ["account."], doneText: texts.othersEnded });
  const isOwner = me.rights === "owner";
  const all = useOperation("administrators.list", {}, { isEnabled: isOwner });
  const emailOf = (id: string) => all.data?.find((row) => row.id === id)?.email ?? "";
  const columns: readonly Column<AdministratorSession>[] = [
    ...isOwner
      ? [{
        id: "who",
        title: texts.who,
        cell: ({ administrator_id }: AdministratorSession) => <span className="cut">{emailOf(administrator_id)}</span>,
      }]
      : [],
    ...sessionColumns,
    {
      id: "end",
      title: "",
      name: texts.end,
      cell: ({ id, is_current, address }) =>
        !is_current && (
          <IconButton
            icon="signOut"
            size="small"
            label={`${texts.end}: ${address}`}
            onPress={() => end.mutate({ id })}
          />
        ),
      width: "3rem",
    },
  ];
  return (
    <Card
      title={texts.sessions}
      isFlush
      actions={
        <Button size="small" isPending={endOthers.isPending} onPress={() => endOthers.mutate({})}>
          {texts.endOthers}
        </Button>
      }
    >
      {isOwner && <p className="soft settings-lead">{texts.allSessions}</p>}
      <QueryView query={sessions}>
        {(rows) => <DataTable label={texts.sessions} columns={columns} rows={rows} keyOf={({ id }) => id} />}
      </QueryView>
    </Card>
  );
}

const sessionColumns: readonly Column<AdministratorSession>[] = [
  {
    id: "from",
    title: texts.from,
    cell: ({ address, is_current }) => (
      <span className="cut">{address} {is_current && <Badge tone="accent">{texts.current}</Badge>}</span>
    ),
    width: "minmax(9rem, 1fr)",
  },
  {
    id: "browser",
    title: texts.browser,
    cell: ({ user_agent }) => <span className="cut soft" title={user_agent}>{user_agent}</span>,
    width: "minmax(6rem, 2fr)",
    isMinor: true,
  },
  { id: "by", title: texts.by, cell: ({ method }) => method, width: "6rem", isMinor: true },
  { id: "began", title: texts.began, cell: ({ created_at }) => <Time value={created_at} />, isMinor: true },
  { id: "used", title: texts.usedAt, cell: ({ used_at }) => <Time value={used_at} />, width: "8rem" },
];
