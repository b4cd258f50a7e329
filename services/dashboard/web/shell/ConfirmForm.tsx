import { useState } from "react";
import { post } from "../api/client.ts";
import { useMe, useOperation } from "../api/hooks.ts";
import { type PendingConfirmation, pendingConfirmation } from "../api/signals.ts";
import { Button } from "../components/Button.tsx";
import { CodeWords } from "../components/CodeWords.tsx";
import { Dialog } from "../components/Dialog.tsx";
import { Field } from "../components/Field.tsx";
import { Note } from "../components/states.tsx";
import { texts } from "../texts.ts";
import { useAttempt } from "./attempt.ts";
import { canUsePasskeys, usePasskeyOnce } from "./passkeys.ts";

/** The dialog by which the administrator confirms again, before an operation that shows secrets or destroys. */
export function ConfirmForm({ pending }: { pending: PendingConfirmation }) {
  const me = useMe();
  const all = useOperation("administrators.list", {});
  const mine = all.data?.find((row) => row.id === me.administrator_id);
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const attempt = useAttempt();
  const close = (isConfirmed: boolean) => {
    pendingConfirmation.set(null);
    pending.done(isConfirmed);
  };
  const prove = (body: () => Promise<unknown>) =>
    void attempt.run(async () => {
      await post("/confirm", await body());
      close(true);
    });
  const hasProof = !mine || mine.has_password || mine.has_totp || mine.passkeys > 0;
  return (
    <Dialog
      title={texts.confirm.title}
      isOpen
      size="small"
      isDirty={false}
      onClose={() => close(false)}
      onSubmit={() => prove(() => Promise.resolve(password ? { password } : { code: code.replace(/\s/g, "") }))}
      error={attempt.error}
      footer={
        <>
          <Button onPress={() => close(false)}>{texts.actions.cancel}</Button>
          {mine && mine.passkeys > 0 && canUsePasskeys() && (
            <Button
              icon="key"
              onPress={() => prove(async () => ({ passkey: await usePasskeyOnce() }))}
            >
              {texts.confirm.byPasskey}
            </Button>
          )}
          <Button type="submit" variant="primary" isPending={attempt.isRunning} isDisabled={!password && !code}>
            {texts.actions.confirm}
          </Button>
        </>
      }
    >
      <p className="soft">{texts.confirm.text(pending.operation)}</p>
      {hasProof
        ? (
          <>
            {(!mine || mine.has_password) && (
              <Field
                label={texts.confirm.byPassword}
                type="password"
                autoComplete="current-password"
                value={password}
                onChange={setPassword}
                hasFocus
              />
            )}
            {mine?.has_totp && (
              <Field
                label={texts.confirm.byCode}
                autoComplete="one-time-code"
                inputMode="numeric"
                value={code}
                onChange={setCode}
                isCode
              />
            )}
          </>
        )
        : (
          <Note kind="warn">
            <CodeWords text={texts.confirm.noProof} />
          </Note>
        )}
    </Dialog>
  );
}
