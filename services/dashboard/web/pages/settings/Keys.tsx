import { useState } from "react";
import { run } from "../../api/client.ts";
import { isStopped } from "../../api/errors.ts";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CopyButton, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeWords } from "../../components/CodeWords.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import type { ApiKeyDescription, ApiKeyText, SigningKeyDescription } from "../../generated/operations.ts";
import CreatedKeys from "./CreatedKeys.tsx";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.keys;

export default function Keys() {
  const keys = useOperation("keys.list", {});
  const mayShow = useMay("keys.show");
  const [shown, setShown] = useState<readonly ApiKeyText[] | null>(null);
  const rotate = useChange("keys.rotate", {
    invalidates: ["keys."],
    doneText: ({ step, next }) => texts.rotated(step, next),
  });
  const show = async () => {
    try {
      setShown(await run("keys.show", {}));
    } catch (error) {
      if (!isStopped(error)) toast.error(error);
    }
  };
  const onRotate = async (seen: readonly SigningKeyDescription[]) => {
    if (await confirm({ title: texts.rotate, body: texts.rotateText, action: texts.rotate, isDanger: false })) {
      rotate.mutate({ seen: Object.fromEntries(seen.map(({ id, role }) => [id, role])) });
    }
  };
  return (
    <QueryView query={keys}>
      {(data) => (
        <>
          {data.fault && <Note kind="warn">{data.fault}</Note>}
          <Card
            title={texts.apiKeys}
            isFlush
            actions={mayShow && <Button size="small" icon="eye" onPress={() => void show()}>{texts.show}</Button>}
          >
            <DataTable label={texts.apiKeys} columns={apiColumns} rows={data.api_keys} keyOf={keyOf} />
          </Card>
          <CreatedKeys />
          <Card
            title={texts.signing}
            isFlush
            actions={mayShow && data.can_rotate && (
              <Button
                size="small"
                icon="refresh"
                isPending={rotate.isPending}
                onPress={() => void onRotate(data.signing_keys)}
              >
                {texts.rotate}
              </Button>
            )}
          >
            <p className="soft settings-lead">{texts.source(data.source)}</p>
            <DataTable label={texts.signing} columns={signingColumns} rows={data.signing_keys} keyOf={({ id }) => id} />
          </Card>
          <Card title={texts.commands}>
            <KeyValue
              entries={Object.entries(data.commands).map((
                [name, command],
              ) => [name, <CodeWords key={name} text={command} />])}
            />
          </Card>
          <Dialog title={texts.apiKeys} isOpen={shown !== null} onClose={() => setShown(null)}>
            <p className="soft">{texts.shownLead}</p>
            <KeyValue
              entries={(shown ?? []).map(({ name, key }) => [
                name,
                <span key={name} className="settings-key">
                  <code>{key}</code> <CopyButton text={key} />
                </span>,
              ])}
            />
          </Dialog>
        </>
      )}
    </QueryView>
  );
}

const keyOf = ({ setting, hint }: ApiKeyDescription) => `${setting} ${hint}`;

const apiColumns: readonly Column<ApiKeyDescription>[] = [
  { id: "name", title: texts.name, cell: ({ name }) => name },
  {
    id: "kind",
    title: texts.kind,
    cell: ({ kind }) => <Badge tone={kind === "secret" ? "warn" : "neutral"}>{kind}</Badge>,
    width: "8rem",
  },
  { id: "hint", title: texts.ends, cell: ({ hint }) => <code>…{hint}</code>, width: "7rem" },
  {
    id: "setting",
    title: texts.setting,
    cell: ({ setting, is_development }) => (
      <span className="cut">
        <code>{setting}</code> {is_development && <Badge tone="warn">{texts.development}</Badge>}
      </span>
    ),
    width: "minmax(8rem, 2fr)",
    isMinor: true,
  },
];

const signingColumns: readonly Column<SigningKeyDescription>[] = [
  { id: "id", title: texts.id, cell: ({ id }) => <code className="cut">{id}</code>, width: "minmax(8rem, 2fr)" },
  { id: "algorithm", title: texts.algorithm, cell: ({ algorithm }) => algorithm },
  { id: "role", title: texts.role, cell: ({ role }) => role },
];
