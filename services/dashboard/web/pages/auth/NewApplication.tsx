import { useState } from "react";
import { useChange } from "../../api/hooks.ts";
import { CodeBlock, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { Note } from "../../components/states.tsx";
import { texts as shared } from "../../texts.ts";
import type { ProjectOAuthClient } from "../../generated/operations.ts";
import { applicationTexts } from "./applicationTexts.ts";
import { linesOf, wrongAddress } from "./lines.ts";

const texts = applicationTexts.clients;
const types = (["confidential", "public"] as const).map((id) => ({
  id,
  label: texts.typeNames[id],
  hint: texts.typeHints[id],
}));

/** Register an application; what it gets is shown once. */
export function NewApplication(
  { onClose, onAdded }: { onClose: () => void; onAdded: (client: ProjectOAuthClient) => void },
) {
  const [name, setName] = useState("");
  const [redirects, setRedirects] = useState("");
  const [type, setType] = useState<"confidential" | "public">("confidential");
  const create = useChange("oauth_clients.create", {
    invalidates: ["oauth_clients."],
    showsError: true,
    onDone: (client) => {
      onClose();
      onAdded(client);
    },
  });
  const lines = linesOf(redirects);
  const wrong = wrongAddress(lines);
  const isReady = name.trim() !== "" && lines.length > 0 && wrong === undefined;
  return (
    <Dialog
      title={texts.add}
      isOpen
      onClose={onClose}
      isDismissable={false}
      onSubmit={() =>
        isReady && create.mutate({ client_name: name.trim(), redirect_uris: [...lines], client_type: type })}
      error={create.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isPending={create.isPending} isDisabled={!isReady}>
            {texts.add}
          </Button>
        </>
      }
    >
      <Field label={texts.name} value={name} onChange={setName} autoComplete="off" hasFocus />
      <RedirectsField value={redirects} onChange={setRedirects} />
      <Select label={texts.type} choices={types} value={type} onChange={setType} />
    </Dialog>
  );
}

/** The redirect addresses of an application, one a line. */
export function RedirectsField(
  { value, onChange, isReadOnly }: { value: string; onChange: (value: string) => void; isReadOnly?: boolean },
) {
  const wrong = wrongAddress(linesOf(value));
  return (
    <Field
      label={texts.redirects}
      hint={texts.redirectsHint}
      value={value}
      onChange={onChange}
      lines={3}
      isCode
      isReadOnly={isReadOnly ?? false}
      error={wrong === undefined ? undefined : texts.badRedirect(wrong)}
    />
  );
}

/** The id of an application and its new secret, which is not shown again. */
export function ApplicationSecret({ client, onClose }: { client: ProjectOAuthClient; onClose: () => void }) {
  return (
    <Dialog title={client.client_name} isOpen onClose={onClose} isDismissable={false}>
      {client.client_secret !== null && <Note kind="warn">{texts.secretText}</Note>}
      <KeyValue entries={[[texts.type, texts.types[client.client_type] ?? client.client_type]]} />
      <div>
        <h3>{texts.id}</h3>
        <CodeBlock label={texts.id} code={client.client_id} />
      </div>
      {client.client_secret !== null && (
        <div>
          <h3>{texts.secret}</h3>
          <CodeBlock label={texts.secret} code={client.client_secret} />
        </div>
      )}
    </Dialog>
  );
}
