import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import type { ProjectUser } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { useUserChange } from "./change.ts";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.password;

/** Set the password of a user, after a confirmation. */
export function SetPassword({ user, onClose }: { user: ProjectUser; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const change = useUserChange("users.set_password", user.id, {
    doneText: texts.done,
    showsError: true,
    onDone: onClose,
  });
  return (
    <Dialog
      title={texts.title}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => password && change.mutate({ id: user.id, password })}
      error={change.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={password === ""} isPending={change.isPending}>
            {texts.action}
          </Button>
        </>
      }
    >
      <Field
        label={texts.field}
        type="password"
        value={password}
        onChange={setPassword}
        autoComplete="new-password"
        hasFocus
      />
    </Dialog>
  );
}
