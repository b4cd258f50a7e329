import type { ReactNode } from "react";
import { CopyButton, KeyValue } from "../../components/basics.tsx";
import { Time } from "../../components/Time.tsx";
import type { ProjectUser } from "../../generated/operations.ts";
import { UserMarks } from "./names.tsx";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.overview;

/** Who a user is, and when what happened. */
export function Overview({ user }: { user: ProjectUser }) {
  const marked = {
    ...user,
    confirmed_at: user.email_confirmed_at ?? user.phone_confirmed_at,
    factors: user.factors.filter(({ status }) => status === "verified").length,
  };
  const entries: [string, ReactNode, boolean][] = [
    [
      texts.id,
      <span key="id" className="users-id">
        <code>{user.id}</code> <CopyButton text={user.id} />
      </span>,
      true,
    ],
    [texts.email, user.email, Boolean(user.email)],
    [texts.newEmail, user.new_email, Boolean(user.new_email)],
    [texts.phone, user.phone, Boolean(user.phone)],
    [texts.newPhone, user.new_phone, Boolean(user.new_phone)],
    [texts.role, <code key="role">{user.role}</code>, Boolean(user.role)],
    [texts.password, user.has_password ? texts.isSet : texts.notSet, true],
    [texts.created, <Time key="created" value={user.created_at} />, true],
    [texts.changed, <Time key="changed" value={user.updated_at} />, user.updated_at !== null],
    [texts.lastSignIn, <Time key="seen" value={user.last_sign_in_at} />, true],
    [texts.confirmed, <Time key="confirmed" value={user.email_confirmed_at} />, Boolean(user.email)],
    [texts.phoneConfirmed, <Time key="phone" value={user.phone_confirmed_at} />, Boolean(user.phone)],
    [texts.invited, <Time key="invited" value={user.invited_at} />, user.invited_at !== null],
    [texts.bannedUntil, <Time key="banned" value={user.banned_until} />, user.banned_until !== null],
    [texts.deleted, <Time key="deleted" value={user.deleted_at} />, user.deleted_at !== null],
  ];
  return (
    <>
      <p className="users-marks">
        <UserMarks user={marked} />
      </p>
      <KeyValue entries={entries.filter(([, , isShown]) => isShown).map(([name, value]) => [name, value] as const)} />
    </>
  );
}
