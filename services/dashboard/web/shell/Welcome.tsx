import { useState } from "react";
import { useChange, useMe, useOperation } from "../api/hooks.ts";
import { Button } from "../components/Button.tsx";
import { Field } from "../components/Field.tsx";
import { Icon } from "../components/Icon.tsx";
import { ErrorNote } from "../components/states.tsx";
import { texts } from "../texts.ts";

/** After a sign-in by link: a password for the next time. Left out if the administrator has one. */
export function Welcome({ onDone }: { onDone: () => void }) {
  const me = useMe();
  const [password, setPassword] = useState("");
  const all = useOperation("administrators.list", {});
  const change = useChange("account.set_password", {
    doneText: texts.welcome.done,
    invalidates: ["administrators."],
    showsError: true,
    onDone,
  });
  const hasPassword = all.data?.find((row) => row.id === me.administrator_id)?.has_password;
  if (hasPassword) queueMicrotask(onDone);
  if (all.isPending || hasPassword) return null;
  return (
    <main className="sign-in">
      <form
        className="sign-in-card sign-in-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate({ password });
        }}
      >
        <span className="logo">
          <Icon name="wave" size={28} />
        </span>
        <h1>{texts.welcome.title}</h1>
        <p className="soft">{texts.welcome.text}</p>
        <input type="hidden" name="username" autoComplete="username" value={me.name} readOnly />
        <Field
          label={texts.welcome.password}
          type="password"
          autoComplete="new-password"
          hint={texts.welcome.hint}
          value={password}
          onChange={setPassword}
          hasFocus
        />
        <ErrorNote error={change.error} />
        <Button type="submit" variant="primary" isPending={change.isPending}>{texts.welcome.button}</Button>
        <Button variant="quiet" onPress={onDone}>{texts.welcome.later}</Button>
      </form>
    </main>
  );
}
