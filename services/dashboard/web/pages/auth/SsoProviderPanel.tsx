import { useState } from "react";
import { useChange, useMay } from "../../api/hooks.ts";
import { Badge, JsonView, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { ErrorNote, Note } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { applicationTexts } from "./applicationTexts.ts";
import { linesOf } from "./lines.ts";
import type { SsoProvider } from "./ssoProvider.ts";

const texts = applicationTexts.sso;
const invalidates = ["sso_providers."] as const;

/** One identity provider beside the list: its facts, its change, its removal. */
export function SsoProviderPanel({ provider, onClose }: { provider: SsoProvider | null; onClose: () => void }) {
  const mayChange = useMay("sso_providers.change");
  const remove = useChange("sso_providers.remove", { invalidates, doneText: texts.removed, onDone: onClose });
  if (provider === null) {
    return (
      <Dialog title={texts.list} isOpen size="side" onClose={onClose}>
        <Note kind="warn">{texts.gone}</Note>
      </Dialog>
    );
  }
  const { id, entityId } = provider;
  const onRemove = async () => {
    const { remove: title, removeText: body } = texts;
    if (await confirm({ title, body, names: [entityId], typeName: entityId, action: title })) remove.mutate({ id });
  };
  return (
    <Dialog
      title={entityId}
      isOpen
      size="side"
      onClose={onClose}
      footer={mayChange && (
        <Button icon="trash" isPending={remove.isPending} onPress={() => void onRemove()}>{texts.remove}</Button>
      )}
    >
      <KeyValue
        entries={[
          [
            texts.state,
            provider.isDisabled
              ? <Badge key="state">{texts.disabled}</Badge>
              : <Badge key="state" tone="good" icon="check">{texts.on}</Badge>,
          ],
          ...provider.resourceId ? [[texts.resource, <code key="id">{provider.resourceId}</code>] as const] : [],
          ...provider.metadataUrl ? [[texts.url, <code key="url">{provider.metadataUrl}</code>] as const] : [],
          [texts.created, <Time key="created" value={provider.createdAt} />],
        ]}
      />
      {provider.mapping !== null && (
        <section>
          <h3>{texts.mapping}</h3>
          <JsonView value={provider.mapping} label={texts.mapping} />
        </section>
      )}
      <Change key={JSON.stringify(provider)} provider={provider} mayChange={mayChange} />
    </Dialog>
  );
}

function Change({ provider, mayChange }: { provider: SsoProvider; mayChange: boolean }) {
  const before = provider.domains.join("\n");
  const [domains, setDomains] = useState(before);
  const [isInUse, setInUse] = useState(!provider.isDisabled);
  const [url, setUrl] = useState("");
  const [xml, setXml] = useState("");
  const change = useChange("sso_providers.change", { invalidates, showsError: true, doneText: texts.saved });
  const lines = linesOf(domains);
  const isChanged = lines.join("\n") !== before || isInUse === provider.isDisabled || url.trim() !== "" ||
    xml.trim() !== "";
  return (
    <form
      className="auth-list"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isChanged) return;
        change.mutate({
          id: provider.id,
          domains: [...lines],
          disabled: !isInUse,
          metadata_url: url.trim(),
          metadata_xml: url.trim() === "" ? xml.trim() : "",
        });
      }}
    >
      <Field
        label={texts.domains}
        hint={texts.domainsHint}
        value={domains}
        onChange={setDomains}
        lines={3}
        isCode
        isReadOnly={!mayChange}
      />
      {mayChange && (
        <>
          <Checkbox isSelected={isInUse} onChange={setInUse}>{texts.inUse}</Checkbox>
          <Field
            label={texts.newUrl}
            hint={texts.newHint}
            type="url"
            value={url}
            onChange={setUrl}
            autoComplete="off"
          />
          <Field label={texts.newXml} value={xml} onChange={setXml} lines={3} isCode isDisabled={url.trim() !== ""} />
          <ErrorNote error={change.error} />
          <Button type="submit" variant="primary" isDisabled={!isChanged} isPending={change.isPending}>
            {texts.save}
          </Button>
        </>
      )}
    </form>
  );
}
