import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Select } from "../../components/Select.tsx";
import type { ProjectUser } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { useUserChange } from "./change.ts";
import { nameOf } from "./names.tsx";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.ban;
const choices = Object.entries(texts.choices).map(([id, label]) => ({ id, label }));

/** Shut a user out for a time. */
export function BanUser({ user, onClose }: { user: ProjectUser; onClose: () => void }) {
  const [duration, setDuration] = useState("24h");
  const ban = useUserChange("users.ban", user.id, {
    doneText: usersTexts.actions.banned,
    showsError: true,
    onDone: onClose,
  });
  return (
    <Dialog
      title={`${texts.title}: ${nameOf(user)}`}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => ban.mutate({ id: user.id, duration })}
      error={ban.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="danger" isPending={ban.isPending}>{texts.action}</Button>
        </>
      }
    >
      <p className="soft">{texts.text}</p>
      <Select label={texts.duration} choices={choices} value={duration} onChange={setDuration} />
    </Dialog>
  );
}
