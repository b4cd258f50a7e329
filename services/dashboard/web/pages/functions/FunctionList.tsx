import { useState } from "react";
import { pathOf, useGo } from "../../address.tsx";
import { useMay, useMe, useOperation } from "../../api/hooks.ts";
import { Badge, Card, Toolbar } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatNumber } from "../../format.ts";
import type { FunctionSummary } from "../../generated/operations.ts";
import { texts as shared } from "../../texts.ts";
import { draftKey, storeDraft } from "./draft.ts";
import { type TemplateId, templates } from "./templates.ts";
import { functionsTexts as texts } from "./texts.ts";

/** All functions with what their calls came to. */
export function FunctionList() {
  const functions = useOperation("functions.list", {}, { refreshEvery: 10_000 });
  const [isNew, setNew] = useState(false);
  const mayDeploy = useMay("functions.deploy");
  const go = useGo();
  const create = mayDeploy && <Button icon="plus" variant="primary" onPress={() => setNew(true)}>{texts.create}
  </Button>;
  return (
    <>
      <Card isFlush>
        <QueryView
          query={functions}
          isEmpty={(rows) => rows.length === 0}
          empty={
            <EmptyState icon="function" title={texts.none} action={create}>
              {mayDeploy ? texts.noneText : texts.noneReader}
            </EmptyState>
          }
        >
          {(rows) => (
            <>
              {create && <Toolbar label={texts.title}>{create}</Toolbar>}
              <DataTable
                label={texts.title}
                columns={columns}
                rows={rows}
                keyOf={({ name }) => name}
                onOpen={({ name }) => go(pathOf("functions", name))}
                height="auto"
              />
            </>
          )}
        </QueryView>
      </Card>
      {isNew && <NewFunction taken={functions.data?.map(({ name }) => name) ?? []} onClose={() => setNew(false)} />}
    </>
  );
}

/** The state of a function: its text says it, the colour repeats it. */
export function StateBadge({ status }: { status: string }) {
  const label = texts.states[status as keyof typeof texts.states] ?? status;
  return <Badge tone={status === "deployed" ? "good" : status === "local" ? "accent" : "neutral"}>{label}</Badge>;
}

const columns: readonly Column<FunctionSummary>[] = [
  {
    id: "name",
    title: texts.name,
    cell: ({ name }) => <span className="cut">{name}</span>,
    width: "minmax(8rem, 2fr)",
  },
  {
    id: "state",
    title: texts.state,
    cell: ({ status, verify_jwt }) => (
      <span className="functions-badges">
        <StateBadge status={status} />
        {!verify_jwt && <Badge tone="warn">{texts.open}</Badge>}
      </span>
    ),
    width: "minmax(11rem, 1fr)",
  },
  {
    id: "version",
    title: texts.version,
    cell: ({ version }) => version ?? "–",
    width: "5rem",
    align: "end",
    isMinor: true,
  },
  { id: "calls", title: texts.calls, cell: ({ calls }) => formatNumber(calls), width: "5rem", align: "end" },
  {
    id: "errors",
    title: texts.errors,
    cell: ({ failures }) => failures > 0 ? <Badge tone="bad">{formatNumber(failures)}</Badge> : "0",
    width: "5rem",
    align: "end",
  },
  {
    id: "last",
    title: texts.lastCall,
    cell: ({ called_at }) => <Time value={called_at} />,
    width: "8rem",
    isMinor: true,
  },
  {
    id: "next",
    title: texts.next,
    cell: ({ next_run_at }) => next_run_at === null ? "–" : <Time value={next_run_at} />,
    width: "8rem",
    isMinor: true,
  },
];

const choices = (Object.keys(templates) as TemplateId[]).map((id) => ({
  id,
  label: texts.templates[id],
  hint: texts.templateHints[id],
}));

function NewFunction({ taken, onClose }: { taken: readonly string[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [template, setTemplate] = useState<TemplateId>("hello");
  const me = useMe();
  const go = useGo();
  const fault = name === ""
    ? undefined
    : !/^[A-Za-z][A-Za-z0-9_-]{0,62}$/.test(name)
    ? texts.badName
    : taken.includes(name)
    ? texts.taken
    : undefined;
  const isReady = name !== "" && fault === undefined;
  const submit = () => {
    if (!isReady) return;
    const { code, settings } = templates[template];
    const files = [{ path: `functions/${name}/index.ts`, text: code, base64: null }];
    storeDraft(draftKey(me.administrator_id, name), { base: null, files, settings });
    go(pathOf("functions", name));
  };
  return (
    <Dialog
      title={texts.create}
      isOpen
      size="small"
      onClose={onClose}
      isDismissable={false}
      onSubmit={submit}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!isReady}>{texts.createAction}</Button>
        </>
      }
    >
      <Field
        label={texts.name}
        value={name}
        onChange={setName}
        hint={texts.nameHint}
        error={fault}
        autoComplete="off"
        isCode
        hasFocus
      />
      <Select label={texts.template} choices={choices} value={template} onChange={setTemplate} />
    </Dialog>
  );
}
