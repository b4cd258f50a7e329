import { useState } from "react";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { ApiError } from "../../api/errors.ts";
import { CopyButton, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { ErrorNote, Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { ProjectOAuthClient } from "../../generated/operations.ts";
import { applicationTexts } from "./applicationTexts.ts";
import { linesOf, wrongAddress } from "./lines.ts";
import { RedirectsField } from "./NewApplication.tsx";

const texts = applicationTexts.clients;
const invalidates = ["oauth_clients."] as const;

/** One application beside the list: its facts, its change, a new secret, its removal. */
export function ApplicationPanel({ id, onClose, onRenewed }: {
  id: string;
  onClose: () => void;
  onRenewed: (client: ProjectOAuthClient) => void;
}) {
  const client = useOperation("oauth_clients.read", { client_id: id });
  if (client.data) return <Panel client={client.data} onClose={onClose} onRenewed={onRenewed} />;
  const isGone = client.error instanceof ApiError && client.error.status === 404;
  return (
    <Dialog title={texts.list} isOpen size="side" onClose={onClose}>
      {isGone ? <Note kind="warn">{texts.gone}</Note> : <QueryView query={client}>{() => null}</QueryView>}
    </Dialog>
  );
}

function Panel({ client, onClose, onRenewed }: {
  client: ProjectOAuthClient;
  onClose: () => void;
  onRenewed: (client: ProjectOAuthClient) => void;
}) {
  const { client_id, client_name } = client;
  const mayChange = useMay("oauth_clients.change");
  const renew = useChange("oauth_clients.renew_secret", { invalidates, onDone: onRenewed });
  const remove = useChange("oauth_clients.remove", {
    doneText: texts.removed(client_name),
    onDone: onClose,
    invalidates: ["oauth_clients.list"],
  });
  const onRenew = async () => {
    const { renew: title, renewText: body } = texts;
    if (await confirm({ title, body, names: [client_name], action: title })) renew.mutate({ client_id });
  };
  const onRemove = async () => {
    const { remove: title, removeText: body } = texts;
    if (await confirm({ title, body, names: [client_name], typeName: client_name, action: title })) {
      remove.mutate({ client_id });
    }
  };
  return (
    <Dialog
      title={client_name}
      isOpen
      size="side"
      onClose={onClose}
      footer={mayChange && (
        <>
          {client.client_type === "confidential" && (
            <Button
              icon="key"
              isPending={renew.isPending}
              onPress={() => void onRenew()}
            >
              {texts.renew}
            </Button>
          )}
          <Button icon="trash" isPending={remove.isPending} onPress={() => void onRemove()}>{texts.remove}</Button>
        </>
      )}
    >
      <KeyValue
        entries={[
          [
            texts.id,
            <span key="id" className="auth-callback">
              <code>{client_id}</code> <CopyButton text={client_id} />
            </span>,
          ],
          [texts.type, texts.types[client.client_type] ?? client.client_type],
          [texts.registration, texts.registrations[client.registration_type] ?? client.registration_type],
          [texts.grants, <code key="grants">{client.grant_types.join(", ")}</code>],
          [texts.method, <code key="method">{client.token_endpoint_auth_method}</code>],
          [texts.created, <Time key="created" value={client.created_at} />],
          [texts.changed, <Time key="changed" value={client.updated_at} />],
        ]}
      />
      <Change key={client.updated_at} client={client} mayChange={mayChange} />
    </Dialog>
  );
}

function Change({ client, mayChange }: { client: ProjectOAuthClient; mayChange: boolean }) {
  const before = client.redirect_uris.join("\n");
  const [name, setName] = useState(client.client_name);
  const [redirects, setRedirects] = useState(before);
  const [site, setSite] = useState(client.client_uri);
  const change = useChange("oauth_clients.change", {
    invalidates,
    showsError: true,
    doneText: ({ client_name }) => texts.saved(client_name),
  });
  const lines = linesOf(redirects);
  const isChanged = name.trim() !== client.client_name || lines.join("\n") !== before ||
    site.trim() !== client.client_uri;
  const isReady = isChanged && name.trim() !== "" && lines.length > 0 && wrongAddress(lines) === undefined;
  return (
    <form
      className="auth-list"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isReady) return;
        change.mutate({
          client_id: client.client_id,
          client_name: name.trim(),
          redirect_uris: [...lines],
          client_uri: site.trim(),
        });
      }}
    >
      <Field label={texts.name} value={name} onChange={setName} isReadOnly={!mayChange} autoComplete="off" />
      <RedirectsField value={redirects} onChange={setRedirects} isReadOnly={!mayChange} />
      <Field
        label={texts.site}
        type="url"
        value={site}
        onChange={setSite}
        isReadOnly={!mayChange}
        autoComplete="off"
      />
      <ErrorNote error={change.error} />
      {mayChange && (
        <Button type="submit" variant="primary" isDisabled={!isReady} isPending={change.isPending}>
          {texts.save}
        </Button>
      )}
    </form>
  );
}
