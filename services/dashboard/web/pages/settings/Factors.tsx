import { useState } from "react";
import { run } from "../../api/client.ts";
import { isStopped } from "../../api/errors.ts";
import { useChange, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock, CopyButton, KeyValue } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { toast } from "../../components/toasts.ts";
import type { FactorAdded, OwnFactors, TotpEnrolment } from "../../generated/operations.ts";
import { canUsePasskeys, createPasskey } from "../../shell/passkeys.ts";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.account;
const invalidates = ["factors.", "account.", "administrators."] as const;

/** One's own second factors: an authenticator app, passkeys, recovery codes. */
export function Factors() {
  const own = useOperation("factors.list", {});
  const [codes, setCodes] = useState<readonly string[]>([]);
  const [enrolment, setEnrolment] = useState<TotpEnrolment | null>(null);
  const added = ({ recovery_codes }: FactorAdded) => setCodes(recovery_codes);
  return (
    <Card title={texts.factors}>
      <QueryView query={own}>
        {(factors) => <FactorList factors={factors} onEnrol={setEnrolment} onAdded={added} />}
      </QueryView>
      {enrolment && <ConfirmApp enrolment={enrolment} onClose={() => setEnrolment(null)} onAdded={added} />}
      <Dialog
        title={texts.codesTitle}
        isOpen={codes.length > 0}
        onClose={() => setCodes([])}
        size="small"
        isDismissable={false}
      >
        <Note kind="warn">{texts.codesText}</Note>
        <CodeBlock label={texts.codesTitle} code={codes.join("\n")} />
      </Dialog>
    </Card>
  );
}

function FactorList({ factors, onEnrol, onAdded }: {
  factors: OwnFactors;
  onEnrol: (enrolment: TotpEnrolment) => void;
  onAdded: (added: FactorAdded) => void;
}) {
  const enrol = useChange("factors.enrol_totp", { onDone: onEnrol });
  const removeApp = useChange("factors.remove_totp", { invalidates, doneText: texts.removed });
  const renew = useChange("factors.renew_recovery_codes", { invalidates, onDone: onAdded });
  const addPasskey = useChange("factors.add_passkey", { invalidates, onDone: onAdded });
  const removePasskey = useChange("factors.remove_passkey", { invalidates, doneText: texts.removed });
  const onAddPasskey = async () => {
    try {
      const created = await createPasskey(await run("factors.passkey_options", {}));
      addPasskey.mutate(created);
    } catch (error) {
      if (!isStopped(error)) toast.error(error);
    }
  };
  const onRemovePasskey = async (id: string, name: string) => {
    const { removePasskey: title, removePasskeyText: body } = texts;
    if (await confirm({ title, body, names: [name], action: title })) removePasskey.mutate({ id });
  };
  const onRemoveApp = async () => {
    const { removeApp: title, removeAppText: body } = texts;
    if (await confirm({ title, body, action: title })) removeApp.mutate({});
  };
  const onRenew = async () => {
    const { renew: title, renewText: body } = texts;
    if (await confirm({ title, body, action: title, isDanger: false })) renew.mutate({});
  };
  const hasFactor = factors.totp || factors.passkeys.length > 0;
  return (
    <>
      <KeyValue
        entries={[
          [
            texts.app,
            <span key="app" className="settings-row">
              <Badge tone={factors.totp ? "good" : "neutral"}>{factors.totp ? texts.appOn : texts.appOff}</Badge>
              <Button size="small" onPress={() => enrol.mutate({})}>{texts.setUpApp}</Button>
              {factors.totp && (
                <Button
                  size="small"
                  variant="quiet"
                  isPending={removeApp.isPending}
                  onPress={() => void onRemoveApp()}
                >
                  {texts.removeApp}
                </Button>
              )}
            </span>,
          ],
          [
            texts.passkeys,
            <div key="passkeys" className="settings-list">
              {factors.passkeys.map(({ id, name, rp_id, used_at }) => (
                <span key={id} className="settings-row">
                  {name} <span className="faint">{rp_id}</span> <span className="faint">{texts.used}</span>{" "}
                  <Time value={used_at} />
                  <IconButton
                    icon="trash"
                    size="small"
                    label={`${settingsTexts.administrators.remove}: ${name}`}
                    onPress={() => void onRemovePasskey(id, name)}
                  />
                </span>
              ))}
              {factors.passkeys.length === 0 && <span className="faint">{texts.noPasskeys}</span>}
              {canUsePasskeys()
                ? (
                  <span>
                    <Button size="small" onPress={() => void onAddPasskey()}>{texts.addPasskey}</Button>
                  </span>
                )
                : <span className="hint">{texts.needsName}</span>}
            </div>,
          ],
          ...hasFactor
            ? [
              [
                texts.codesTitle,
                <span key="codes" className="settings-row">
                  {texts.codes(factors.recovery_codes)}
                  <Button size="small" isPending={renew.isPending} onPress={() => void onRenew()}>{texts.renew}</Button>
                </span>,
              ] as const,
            ]
            : [],
        ]}
      />
    </>
  );
}

function ConfirmApp({ enrolment, onClose, onAdded }: {
  enrolment: TotpEnrolment;
  onClose: () => void;
  onAdded: (added: FactorAdded) => void;
}) {
  const [code, setCode] = useState("");
  const activate = useChange("factors.confirm_totp", {
    invalidates,
    showsError: true,
    onDone: (added) => {
      onClose();
      onAdded(added);
    },
  });
  return (
    <Dialog
      title={texts.setUpApp}
      isOpen
      size="small"
      onClose={onClose}
      onSubmit={() => activate.mutate({ code: code.replace(/\s/g, "") })}
      error={activate.error}
      footer={<Button type="submit" variant="primary" isPending={activate.isPending}>{texts.setUpApp}</Button>}
    >
      <p>{texts.scan}</p>
      <img
        className="settings-qr"
        alt=""
        src={`data:image/svg+xml;utf8,${encodeURIComponent(enrolment.qr_code)}`}
      />
      <p className="soft">{texts.orSecret}</p>
      <p className="settings-key">
        <code>{enrolment.secret}</code> <CopyButton text={enrolment.secret} />
      </p>
      <Field
        label={texts.code}
        value={code}
        onChange={setCode}
        inputMode="numeric"
        autoComplete="one-time-code"
        isCode
        hasFocus
      />
    </Dialog>
  );
}
