import { Badge, type Tone } from "../../components/basics.tsx";
import type { ProjectUserSummary } from "../../generated/operations.ts";
import { usersTexts } from "./texts.ts";

type Named = { id: string; email: string | null; phone: string | null };

/** Return what a user is called: the address, else the number, else the id. */
export function nameOf({ id, email, phone }: Named): string {
  return email || phone || id;
}

type Marked =
  & Pick<ProjectUserSummary, "banned_until" | "deleted_at" | "is_anonymous" | "is_sso_user" | "confirmed_at">
  & {
    factors: number;
  };

/** Return whether a ban is in force. */
export function isBanned(bannedUntil: string | null): boolean {
  return bannedUntil !== null && new Date(bannedUntil).getTime() > Date.now();
}

/** What is special about a user, as short marks. */
export function UserMarks({ user }: { user: Marked }) {
  const marks: [keyof typeof usersTexts.marks, Tone, boolean][] = [
    ["deleted", "bad", user.deleted_at !== null],
    ["banned", "bad", isBanned(user.banned_until)],
    ["anonymous", "neutral", user.is_anonymous],
    ["unconfirmed", "warn", user.confirmed_at === null && !user.is_anonymous],
    ["sso", "accent", user.is_sso_user],
    ["factors", "good", user.factors > 0],
  ];
  return marks.filter(([, , isShown]) => isShown).map(([mark, tone]) => (
    <Badge key={mark} tone={tone}>{usersTexts.marks[mark]}</Badge>
  ));
}
