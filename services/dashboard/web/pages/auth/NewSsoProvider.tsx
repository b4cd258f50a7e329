import { useState } from "react";
import { useChange } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { texts as shared } from "../../texts.ts";
import { applicationTexts } from "./applicationTexts.ts";
import { linesOf } from "./lines.ts";

const texts = applicationTexts.sso;

/** Add an identity provider by its metadata. */
export function NewSsoProvider({ onClose }: { onClose: () => void }) {
  const [url, setUrl] = useState("");
  const [xml, setXml] = useState("");
  const [domains, setDomains] = useState("");
  const [resource, setResource] = useState("");
  const create = useChange("sso_providers.create", {
    invalidates: ["sso_providers."],
    showsError: true,
    doneText: texts.added,
    onDone: onClose,
  });
  const isReady = url.trim() !== "" || xml.trim() !== "";
  return (
    <Dialog
      title={texts.add}
      isOpen
      onClose={onClose}
      isDismissable={false}
      onSubmit={() =>
        isReady && create.mutate({
          metadata_url: url.trim(),
          metadata_xml: url.trim() === "" ? xml.trim() : "",
          domains: [...linesOf(domains)],
          ...resource.trim() ? { resource_id: resource.trim() } : {},
        })}
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
      <Field
        label={texts.url}
        hint={texts.urlHint}
        type="url"
        value={url}
        onChange={setUrl}
        autoComplete="off"
        hasFocus
      />
      <Field label={texts.xml} value={xml} onChange={setXml} lines={5} isCode isDisabled={url.trim() !== ""} />
      <Field label={texts.domains} hint={texts.domainsHint} value={domains} onChange={setDomains} lines={2} isCode />
      <Field
        label={texts.resource}
        hint={texts.resourceHint}
        value={resource}
        onChange={setResource}
        autoComplete="off"
      />
    </Dialog>
  );
}
