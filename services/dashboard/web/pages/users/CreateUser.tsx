import { useRef, useState } from "react";
import { useChange } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { texts as shellTexts } from "../../texts.ts";
import { useListUpdates } from "./list.ts";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.create;

/** Create a user without sending anything, unless the address is to be confirmed by the user. */
export function CreateUser({ onClose }: { onClose: () => void }) {
  const [email, setEmail] = useState("");
  const [phone, setPhone] = useState("");
  const [password, setPassword] = useState("");
  const [isConfirmed, setConfirmed] = useState(true);
  const [isTried, setTried] = useState(false);
  const isAddingMore = useRef(false);
  /** Counts the users that were created here: the form of the next one begins with the focus in its first field. */
  const [form, setForm] = useState(0);
  const { restart } = useListUpdates();
  const isEmpty = email.trim() === "" && phone.trim() === "";
  const create = useChange("users.create", {
    showsError: true,
    doneText: texts.done(email.trim() || phone.trim()),
    onDone: () => {
      void restart();
      if (!isAddingMore.current) return onClose();
      setEmail("");
      setPhone("");
      setPassword("");
      setTried(false);
      setForm((number) => number + 1);
    },
  });
  const submit = (addsMore = false) => {
    isAddingMore.current = addsMore;
    setTried(true);
    if (isEmpty) return;
    create.mutate({
      ...(email.trim() ? { email: email.trim(), email_confirm: isConfirmed } : {}),
      ...(phone.trim() ? { phone: phone.trim(), phone_confirm: isConfirmed } : {}),
      ...(password ? { password } : {}),
    });
  };
  return (
    <Dialog
      title={texts.title}
      isOpen
      size="small"
      onClose={onClose}
      isDismissable={false}
      onSubmit={() => submit()}
      error={create.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button isPending={create.isPending} onPress={() => submit(true)}>{texts.actionMore}</Button>
          <Button type="submit" variant="primary" isPending={create.isPending}>{texts.action}</Button>
        </>
      }
    >
      <Field
        key={form}
        label={texts.email}
        type="email"
        value={email}
        onChange={setEmail}
        autoComplete="off"
        hasFocus
        error={isTried && isEmpty ? texts.needsOne : undefined}
      />
      <Field label={texts.phone} value={phone} onChange={setPhone} hint={texts.phoneHint} autoComplete="off" />
      <Field
        label={texts.password}
        type="password"
        value={password}
        onChange={setPassword}
        hint={texts.passwordHint}
        autoComplete="new-password"
      />
      <Checkbox isSelected={isConfirmed} onChange={setConfirmed}>{texts.confirmed}</Checkbox>
    </Dialog>
  );
}
