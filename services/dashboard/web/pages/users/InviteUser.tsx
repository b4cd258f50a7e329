import { useState } from "react";
import { useChange } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { texts as shellTexts } from "../../texts.ts";
import { useListUpdates } from "./list.ts";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.invite;

/** Create a user and send the invitation. */
export function InviteUser({ onClose }: { onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [redirect, setRedirect] = useState("");
  const { restart } = useListUpdates();
  const invite = useChange("users.invite", {
    showsError: true,
    doneText: texts.done(email.trim()),
    onDone: () => {
      void restart();
      onClose();
    },
  });
  return (
    <Dialog
      title={texts.title}
      isOpen
      size="small"
      onClose={onClose}
      isDismissable={false}
      onSubmit={() => invite.mutate({ email: email.trim(), redirect_to: redirect.trim() })}
      error={invite.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isPending={invite.isPending} isDisabled={email.trim() === ""}>
            {texts.action}
          </Button>
        </>
      }
    >
      <p className="soft">{texts.lead}</p>
      <Field
        label={usersTexts.create.email}
        type="email"
        value={email}
        onChange={setEmail}
        autoComplete="off"
        hasFocus
      />
      <Field
        label={texts.redirect}
        type="url"
        value={redirect}
        onChange={setRedirect}
        hint={texts.redirectHint}
        autoComplete="off"
      />
    </Dialog>
  );
}
