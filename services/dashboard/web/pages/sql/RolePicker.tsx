import { useState } from "react";
import { useMay, useOperation } from "../../api/hooks.ts";
import { SearchField } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import type { ViewAsInput } from "../../generated/operations.ts";
import { sqlTexts as texts } from "./texts.ts";

export type RoleId = "own" | "anon" | "user";

export interface Role {
  id: RoleId;
  user: { id: string; label: string } | null;
}

/** Return the caller that a role stands for; null for the administrator's own. */
export function viewAsOf({ id, user }: Role): ViewAsInput | null {
  if (id === "own") return null;
  return id === "anon" ? { role: "anon" } : { role: "authenticated", user_id: user?.id ?? null };
}

/** Choose whose rights a text has: one's own, a visitor's, or those of a user with its claims. */
export function RolePicker({ role, onChange }: { role: Role; onChange: (role: Role) => void }) {
  const isDeveloper = useMay("sql.run");
  const choices = [
    {
      id: "own" as const,
      label: isDeveloper ? texts.ownRole : texts.readerRole,
      hint: isDeveloper ? texts.ownRoleHint : texts.readerRoleHint,
    },
    { id: "anon" as const, label: texts.anon, hint: texts.anonHint },
    { id: "user" as const, label: texts.user, hint: texts.userHint },
  ];
  return (
    <>
      <Select
        label={texts.role}
        choices={choices}
        value={role.id}
        onChange={(id: RoleId) => onChange({ ...role, id })}
        hidesLabel
        size="small"
      />
      {role.id === "user" && <UserPicker user={role.user} onChange={(user) => onChange({ id: "user", user })} />}
    </>
  );
}

const noUser = "none";

/** Choose a user: the last 20 that match what is typed. */
export function UserPicker({ user, onChange }: { user: Role["user"]; onChange: (user: Role["user"]) => void }) {
  const [contains, setContains] = useState("");
  const search = contains.trim().length >= 2 ? { contains: contains.trim() } : {};
  const users = useOperation("users.search", { ...search, limit: 20 }, { keepsPrevious: true });
  const choices = (users.data?.rows ?? []).map((row) => ({
    id: row.id,
    label: row.email ?? row.phone ?? row.name ?? row.id,
    hint: row.id,
  }));
  const shown = user && !choices.some((choice) => choice.id === user.id)
    ? [{ id: user.id, label: user.label, hint: user.id }, ...choices]
    : choices;
  const pick = (id: string) => {
    const chosen = shown.find((choice) => choice.id === id);
    onChange(chosen ? { id, label: chosen.label } : null);
  };
  return (
    <>
      <Select
        label={texts.chooseUser}
        choices={[{ id: noUser, label: texts.noUser, hint: "" }, ...shown]}
        value={user?.id ?? noUser}
        onChange={pick}
        hidesLabel
        size="small"
      />
      <SearchField label={texts.findUser} value={contains} onChange={setContains} />
    </>
  );
}
