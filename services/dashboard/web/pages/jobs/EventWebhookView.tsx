import { useState } from "react";
import { Link, useGo } from "../../address.tsx";
import { useChange, useMay } from "../../api/hooks.ts";
import { KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Note } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { formatNumber } from "../../format.ts";
import type { EventWebhook } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { EventDeliveries } from "./EventDeliveries.tsx";
import { sourceOf, WebhookState } from "./EventWebhookState.tsx";
import { SecretText } from "./SecretText.tsx";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.events;

/** A webhook: what it sends, how it does, its deliveries; test, pause, secret, replay, removal. */
export function EventWebhookView({ webhook }: { webhook: EventWebhook }) {
  return (
    <>
      <p className="jobs-path">
        <Link to="jobs/events">{texts.back}</Link>
      </p>
      <header className="jobs-head">
        <h2>{webhook.name}</h2>
        <WebhookState webhook={webhook} />
        <WebhookActions webhook={webhook} />
      </header>
      {webhook.problem !== "" && <Note kind="warn">{webhook.problem}</Note>}
      <KeyValue
        entries={[
          [texts.url, <code key="url">{webhook.url}</code>],
          [texts.source, <code key="source">{sourceOf(webhook)}</code>],
          [texts.events, webhook.events.join(", ")],
          ...(webhook.filters.length > 0 ? [[texts.filters, webhook.filters.join(", ")] as const] : []),
          [texts.waiting, formatNumber(webhook.waiting)],
          [texts.setAside, formatNumber(webhook.failed)],
        ]}
      />
      <EventDeliveries webhook={webhook.name} />
    </>
  );
}

function WebhookActions({ webhook }: { webhook: EventWebhook }) {
  const { name, is_paused: isPaused, failed } = webhook;
  const go = useGo();
  const mayChange = useMay("event_webhooks.change");
  const [secret, setSecret] = useState<string | null>(null);
  const invalidates = ["event_webhooks."] as const;
  const change = useChange("event_webhooks.change", { invalidates });
  const test = useChange("event_webhooks.test", {
    onDone: ({ is_delivered: isDelivered, status, error }) =>
      isDelivered ? toast.done(texts.taken(status ?? 0)) : toast.error(new Error(error ?? texts.notTaken(status ?? 0))),
  });
  const reveal = useChange("event_webhooks.reveal_secret", { onDone: ({ secret }) => setSecret(secret) });
  const rotate = useChange("event_webhooks.rotate_secret", { onDone: ({ secret }) => setSecret(secret) });
  const resend = useChange("event_webhooks.resend", {
    invalidates,
    onDone: ({ count }) => toast.done(texts.resent(count)),
  });
  const remove = useChange("event_webhooks.remove", {
    invalidates,
    doneText: texts.removed,
    onDone: () => go("jobs/events"),
  });
  if (!mayChange) return null;
  const onRemove = async () => {
    const question = { title: `${texts.remove}: ${name}`, body: texts.removeText, names: [webhook.url] };
    if (await confirm({ ...question, typeName: name, action: texts.remove })) remove.mutate({ name });
  };
  return (
    <div className="jobs-actions">
      <Button size="small" icon="send" isDisabled={isPaused || test.isPending} onPress={() => test.mutate({ name })}>
        {texts.test}
      </Button>
      <Button size="small" onPress={() => change.mutate({ name, is_paused: !isPaused })}>
        {isPaused ? texts.resume : texts.pause}
      </Button>
      {failed > 0 && (
        <Button size="small" onPress={() => resend.mutate({ webhook: name, since: 0, only_failed: true })}>
          {texts.resendFailed}
        </Button>
      )}
      <Button size="small" onPress={() => reveal.mutate({ name })}>{texts.secret}</Button>
      <Button size="small" onPress={() => rotate.mutate({ name })}>{texts.rotate}</Button>
      <Button size="small" icon="trash" variant="danger" onPress={() => void onRemove()}>{texts.remove}</Button>
      {secret !== null && (
        <Dialog
          title={texts.secretTitle}
          isOpen
          size="small"
          onClose={() => setSecret(null)}
          footer={<Button variant="primary" onPress={() => setSecret(null)}>{shared.actions.close}</Button>}
        >
          <SecretText secret={secret} />
        </Dialog>
      )}
    </div>
  );
}
