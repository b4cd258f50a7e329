import { Button } from "../../components/Button.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { Menu, type MenuEntry } from "../../components/Menu.tsx";
import { toast } from "../../components/toasts.ts";
import { Note } from "../../components/states.tsx";
import { run } from "../../api/client.ts";
import { isStopped } from "../../api/errors.ts";
import type { MessageToUserInput, ProjectUser, ReferringRows } from "../../generated/operations.ts";
import { useUserChange } from "./change.ts";
import { isBanned, nameOf } from "./names.tsx";
import { usersTexts } from "./texts.ts";
import type { UserDialog } from "./UserDetail.tsx";

const texts = usersTexts.actions;

/** What an administrator may do with a user, in a bar above the detail. */
export function UserActions(
  { user, onOpen, onDeleted }: { user: ProjectUser; onOpen: (dialog: UserDialog) => void; onDeleted: () => void },
) {
  const { id } = user;
  const send = useUserChange("users.send", id, { doneText: texts.sent });
  const unban = useUserChange("users.unban", id, { doneText: texts.unbanned });
  const signOut = useUserChange("users.sign_out", id, { doneText: texts.signedOut });
  const onDelete = useDelete(user, onDeleted);
  const onSignOut = async () => {
    const isConfirmed = await confirm({
      title: texts.signOut,
      body: texts.signOutText,
      names: [nameOf(user)],
      action: texts.signOut,
    });
    if (isConfirmed) signOut.mutate({ id });
  };
  const message = (kind: MessageToUserInput["message"], label: string, canSend: boolean): MenuEntry => ({
    id: kind,
    label,
    isDisabled: !canSend,
    onAction: () => send.mutate({ id, message: kind }),
  });
  const hasEmail = Boolean(user.email);
  const isPending = !user.email_confirmed_at || Boolean(user.new_email);
  return (
    <div className="users-actions" role="group" aria-label={texts.more}>
      <Button size="small" icon="edit" onPress={() => onOpen("edit")}>{usersTexts.edit.open}</Button>
      <Menu
        label={texts.send}
        button={<Button size="small" icon="send" isPending={send.isPending}>{texts.send}</Button>}
        entries={[
          message("recovery", texts.recovery, hasEmail),
          message("magic_link", texts.magicLink, hasEmail),
          message("confirmation", texts.confirmation, hasEmail && isPending),
          message("otp", texts.otp, Boolean(user.phone)),
        ]}
      />
      <Button size="small" icon="user" onPress={() => onOpen("actAs")}>{texts.actAs}</Button>
      <Menu
        label={texts.more}
        button={<Button size="small" icon="more">{texts.moreShort}</Button>}
        entries={[
          { id: "password", label: usersTexts.password.title, icon: "key", onAction: () => onOpen("password") },
          { id: "signOut", label: texts.signOut, icon: "signOut", onAction: () => void onSignOut() },
          isBanned(user.banned_until)
            ? { id: "unban", label: texts.unban, icon: "check", onAction: () => unban.mutate({ id }) }
            : { id: "ban", label: texts.ban, icon: "lock", onAction: () => onOpen("ban") },
          { id: "softly", label: texts.deleteSoftly, icon: "archive", isDanger: true, onAction: () => onDelete(true) },
          { id: "delete", label: texts.delete, icon: "trash", isDanger: true, onAction: () => onDelete(false) },
        ]}
      />
    </div>
  );
}

/** Return what deletes the user after the name was typed; the question names the rows that refer to the user. */
function useDelete(user: ProjectUser, onDeleted: () => void): (softly: boolean) => void {
  const name = nameOf(user);
  const remove = useUserChange("users.delete", user.id, { doneText: texts.deleted(name), onDone: onDeleted });
  const request = async (softly: boolean) => {
    try {
      const references = softly ? [] : await run("users.references", { id: user.id });
      const concerned = references.filter(({ rows }) => rows !== 0);
      const isConfirmed = await confirm({
        title: softly ? texts.deleteSoftly : texts.delete,
        body: (
          <>
            <p>{softly ? texts.deleteSoftlyText : texts.deleteText}</p>
            {concerned.some(({ action }) => action === "prevent") && <Note kind="warn">{texts.prevented}</Note>}
          </>
        ),
        names: [name, ...concerned.map(describe)],
        typeName: name,
        action: softly ? texts.deleteSoftly : texts.delete,
      });
      if (isConfirmed) remove.mutate({ id: user.id, softly });
    } catch (error) {
      if (!isStopped(error)) toast.error(error);
    }
  };
  return (softly) => void request(softly);
}

function describe({ schema, table, columns, rows, action }: ReferringRows): string {
  const effect = usersTexts.effects[action] ?? action;
  return usersTexts.reference(`${schema}.${table}`, columns.join(", "), usersTexts.referenceRows(rows), effect);
}
