import { useState } from "react";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Card, Toolbar } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { SecretDigest } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { functionsTexts as texts } from "./texts.ts";

/** The secrets of all functions by name; their values are never shown. */
export function Secrets() {
  const secrets = useOperation("functions.secrets", {});
  const [isSetting, setSetting] = useState(false);
  const mayChange = useMay("functions.set_secrets");
  const unset = useChange("functions.unset_secrets", {
    invalidates: ["functions.secrets"],
    doneText: (_, { names }) => texts.unsetDone(names.join(", ")),
  });
  const onUnset = async (name: string) => {
    const question = { title: texts.unsetTitle, body: texts.unsetText, names: [name], action: texts.unset };
    if (await confirm(question)) unset.mutate({ names: [name] });
  };
  const set = mayChange && (
    <Button icon="plus" variant="primary" onPress={() => setSetting(true)}>{texts.setSecret}</Button>
  );
  const columns: readonly Column<SecretDigest>[] = [
    {
      id: "name",
      title: texts.secretName,
      cell: ({ name }) => <code className="cut">{name}</code>,
      width: "minmax(8rem, 2fr)",
    },
    {
      id: "digest",
      title: texts.digest,
      cell: ({ digest }) => <code className="cut faint">{digest.slice(0, 16)}</code>,
      width: "minmax(8rem, 1fr)",
      isMinor: true,
    },
    { id: "at", title: texts.changedAt, cell: ({ at }) => <Time value={at} />, width: "8rem" },
    ...(mayChange
      ? [{
        id: "unset",
        title: "",
        name: texts.unset,
        cell: ({ name }: SecretDigest) => (
          <IconButton
            icon="trash"
            size="small"
            label={texts.unsetLabel(name)}
            onPress={() => void onUnset(name)}
          />
        ),
        width: "3rem",
      }]
      : []),
  ];
  return (
    <>
      <p className="soft functions-lead">{texts.secretsText}</p>
      <Card isFlush>
        <QueryView
          query={secrets}
          isEmpty={(rows) => rows.length === 0}
          empty={<EmptyState icon="key" title={texts.noSecrets} action={set} />}
        >
          {(rows) => (
            <>
              {set && <Toolbar label={texts.tabs.secrets}>{set}</Toolbar>}
              <DataTable
                label={texts.tabs.secrets}
                columns={columns}
                rows={rows}
                keyOf={({ name }) => name}
                height="auto"
              />
            </>
          )}
        </QueryView>
      </Card>
      {isSetting && <SetSecret onClose={() => setSetting(false)} />}
    </>
  );
}

function SetSecret({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const set = useChange("functions.set_secrets", {
    invalidates: ["functions.secrets"],
    showsError: true,
    doneText: texts.secretSet(name),
    onDone: onClose,
  });
  const isReady = name.trim() !== "" && value !== "";
  return (
    <Dialog
      title={texts.setSecret}
      isOpen
      size="small"
      onClose={onClose}
      isDismissable={false}
      onSubmit={() => isReady && set.mutate({ values: { [name.trim()]: value } })}
      error={set.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!isReady || set.isPending}>{texts.setSecret}</Button>
        </>
      }
    >
      <Field label={texts.secretName} value={name} onChange={setName} autoComplete="off" isCode hasFocus />
      <Field label={texts.secretValue} value={value} onChange={setValue} type="password" autoComplete="off" />
    </Dialog>
  );
}
