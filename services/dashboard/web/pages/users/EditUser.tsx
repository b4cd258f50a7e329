import { useState } from "react";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import type { ProjectUser, ProjectUserChangeInput } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { useUserChange } from "./change.ts";
import { usersTexts } from "./texts.ts";

const texts = usersTexts.edit;

/** Change address, number, role and confirmations; what stays as it was is not sent. */
export function EditUser({ user, onClose }: { user: ProjectUser; onClose: () => void }) {
  const [email, setEmail] = useState(user.email ?? "");
  const [phone, setPhone] = useState(user.phone ?? "");
  const [role, setRole] = useState(user.role ?? "");
  const [confirmsEmail, setConfirmsEmail] = useState(false);
  const [confirmsPhone, setConfirmsPhone] = useState(false);
  const change = useUserChange("users.change", user.id, { doneText: texts.done, showsError: true, onDone: onClose });
  const changes: Omit<ProjectUserChangeInput, "id"> = {
    ...(email.trim() === (user.email ?? "") ? {} : { email: email.trim() }),
    ...(phone.trim() === (user.phone ?? "") ? {} : { phone: phone.trim() }),
    ...(role.trim() === (user.role ?? "") ? {} : { role: role.trim() }),
    ...(confirmsEmail ? { email_confirm: true } : {}),
    ...(confirmsPhone ? { phone_confirm: true } : {}),
  };
  const isChanged = Object.keys(changes).length > 0;
  return (
    <Dialog
      title={texts.title}
      isOpen
      size="small"
      onClose={onClose}
      isDismissable={false}
      onSubmit={() => isChanged && change.mutate({ id: user.id, ...changes })}
      error={change.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!isChanged} isPending={change.isPending}>
            {texts.action}
          </Button>
        </>
      }
    >
      <Field
        label={usersTexts.overview.email}
        type="email"
        value={email}
        onChange={setEmail}
        autoComplete="off"
        hasFocus
      />
      {(user.email_confirmed_at === null || email.trim() !== user.email) && email.trim() !== "" && (
        <Checkbox isSelected={confirmsEmail} onChange={setConfirmsEmail}>{texts.confirmEmail}</Checkbox>
      )}
      <Field
        label={usersTexts.overview.phone}
        value={phone}
        onChange={setPhone}
        hint={usersTexts.create.phoneHint}
        autoComplete="off"
      />
      {user.phone_confirmed_at === null && phone.trim() !== "" && (
        <Checkbox isSelected={confirmsPhone} onChange={setConfirmsPhone}>{texts.confirmPhone}</Checkbox>
      )}
      <Field label={usersTexts.overview.role} value={role} onChange={setRole} isCode autoComplete="off" />
    </Dialog>
  );
}
