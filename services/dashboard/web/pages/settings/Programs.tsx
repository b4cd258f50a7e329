import { useChange, useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { IconButton } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { Time } from "../../components/Time.tsx";
import type { ConnectedProgram } from "../../generated/operations.ts";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.programs;

/** Programs that were let in by OAuth; nothing while there is none. */
export default function Programs() {
  const all = useOperation("connections.list", {});
  const remove = useChange("connections.remove", { invalidates: ["connections."], doneText: texts.removed });
  const onRemove = async ({ id, client }: ConnectedProgram) => {
    if (await confirm({ title: texts.remove, body: texts.removeText, names: [client], action: texts.remove })) {
      remove.mutate({ id });
    }
  };
  if (all.data === undefined || all.data.length === 0) return null;
  const columns: readonly Column<ConnectedProgram>[] = [
    ...fixedColumns,
    {
      id: "remove",
      title: "",
      name: texts.remove,
      cell: (program) => (
        <IconButton
          icon="trash"
          size="small"
          label={`${texts.remove}: ${program.client}`}
          onPress={() => void onRemove(program)}
        />
      ),
      width: "3rem",
    },
  ];
  return (
    <Card title={texts.title} isFlush>
      <p className="soft settings-lead">{texts.lead}</p>
      <DataTable label={texts.title} columns={columns} rows={all.data} keyOf={({ id }) => id} />
    </Card>
  );
}

const fixedColumns: readonly Column<ConnectedProgram>[] = [
  { id: "client", title: texts.client, cell: ({ client }) => <span className="cut">{client}</span> },
  {
    id: "rights",
    title: settingsTexts.tokens.rights,
    cell: ({ rights, may_write }) => (
      <span>
        {settingsTexts.administrators.rightsNames[rights]}{" "}
        <Badge tone={may_write ? "warn" : "neutral"}>
          {may_write ? settingsTexts.tokens.write : settingsTexts.tokens.read}
        </Badge>
      </span>
    ),
    width: "minmax(9rem, 1fr)",
  },
  { id: "since", title: texts.since, cell: ({ created_at }) => <Time value={created_at} />, isMinor: true },
  { id: "used", title: settingsTexts.tokens.used, cell: ({ used_at }) => <Time value={used_at} />, isMinor: true },
];
