import { Link, pathOf, useGo, useSubpath } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import type { MigrationList, MigrationState } from "../../generated/operations.ts";
import { schemaTexts } from "./texts.ts";

const texts = schemaTexts.migrations;
const tones = {
  applied: "good",
  changed: "warn",
  late: "warn",
  missing: "warn",
  pending: "accent",
  unknown: "neutral",
} as const;
const invalidates = ["catalog.", "policies.", "migrations.", "rows.", "schema."] as const;

/** Migrations of the database and of the project folder, where they differ, and what brings them together. */
export default function Migrations() {
  const [, version] = useSubpath();
  const migrations = useOperation("migrations.list", {});
  return (
    <QueryView
      query={migrations}
      isEmpty={(data) => data.migrations.length === 0}
      empty={<EmptyState icon="branch" title={texts.none}>{texts.noneText}</EmptyState>}
    >
      {(data) => {
        const open = data.migrations.find((migration) => migration.version === version);
        return open ? <MigrationView migration={open} /> : <MigrationTable list={data} />;
      }}
    </QueryView>
  );
}

function MigrationTable({ list }: { list: MigrationList }) {
  const go = useGo();
  const differing = list.migrations.filter(({ state }) => state !== "applied" && state !== "unknown");
  return (
    <>
      <Drift list={list} differing={differing.length} />
      <Card title={schemaTexts.tabs.migrations} isFlush>
        <DataTable
          label={schemaTexts.tabs.migrations}
          columns={columns}
          rows={[...list.migrations].reverse()}
          keyOf={({ version }) => version}
          onOpen={({ version }) => go(pathOf("schema", "migrations", version))}
          height={`${Math.min(list.migrations.length, 16) * 33 + 36}px`}
        />
      </Card>
    </>
  );
}

function Drift({ list, differing }: { list: MigrationList; differing: number }) {
  const mayChange = useMay("migrations.apply_pending");
  const pending = list.migrations.filter(({ state }) => state === "pending" || state === "late");
  const missing = list.migrations.filter(({ state }) => state === "missing");
  const apply = useChange("migrations.apply_pending", {
    invalidates,
    onDone: ({ files }) => toast.done(texts.applied(files.length)),
  });
  const fetch = useChange("migrations.fetch", {
    invalidates: ["migrations."],
    onDone: ({ files }) => toast.done(texts.fetched(files.filter((file) => file.is_written).length)),
  });
  const onApply = async () => {
    const names = pending.map(({ version, name }) => `${version}_${name}.sql`);
    const question = { title: texts.applyTitle, body: texts.applyText, names, isDanger: false };
    if (await confirm({ ...question, action: texts.apply(pending.length) })) apply.mutate({ include_late: true });
  };
  return (
    <Note kind={!list.folder_is_known ? "info" : differing > 0 ? "warn" : "good"}>
      <p>{!list.folder_is_known ? texts.noFolder : differing > 0 ? texts.drift(differing) : texts.noDrift}</p>
      <p className="soft">{texts.beyond}</p>
      <CodeBlock label={texts.command} code={texts.command} />
      {mayChange && list.folder_is_known && (pending.length > 0 || missing.length > 0) && (
        <div className="schema-actions">
          {pending.length > 0 && (
            <Button
              variant="primary"
              size="small"
              isDisabled={apply.isPending}
              onPress={() => void onApply()}
            >
              {texts.apply(pending.length)}
            </Button>
          )}
          {missing.length > 0 && (
            <Button
              size="small"
              isDisabled={fetch.isPending}
              onPress={() => fetch.mutate({})}
            >
              {texts.fetch}
            </Button>
          )}
        </div>
      )}
    </Note>
  );
}

function MigrationView({ migration }: { migration: MigrationState }) {
  const { version, name, state } = migration;
  const mayRepair = useMay("migrations.repair");
  const content = useOperation("migrations.get", { version });
  const repair = useChange("migrations.repair", { invalidates: ["migrations."], doneText: texts.repaired });
  const isInDatabase = state !== "pending" && state !== "late";
  const onRepair = async () => {
    const action = isInDatabase ? texts.markReverted : texts.markApplied;
    const body = isInDatabase ? texts.markRevertedText : texts.markAppliedText;
    if (await confirm({ title: `${action}: ${version}`, body, names: [`${version}_${name}`], action })) {
      repair.mutate({ status: isInDatabase ? "reverted" : "applied", versions: [version] });
    }
  };
  return (
    <>
      <p className="schema-path">
        <Link to="schema/migrations">{texts.back}</Link>
      </p>
      <header className="schema-head">
        <div className="schema-title">
          <h2>{version}_{name}</h2>
          <Badge tone={tones[state]}>{texts.states[state]}</Badge>
        </div>
        {mayRepair && (
          <div className="schema-actions">
            <Button size="small" onPress={() => void onRepair()}>
              {isInDatabase ? texts.markReverted : texts.markApplied}
            </Button>
          </div>
        )}
        <p className="soft schema-comment">{texts.hints[state]}</p>
      </header>
      <QueryView query={content}>
        {({ statements, file }) => (
          <>
            {file !== null && (
              <Card title={texts.file}>
                <CodeBlock label={texts.file} code={file} />
              </Card>
            )}
            {statements.length > 0 && (file === null || state === "changed") && (
              <Card title={texts.statements}>
                <CodeBlock
                  label={texts.statements}
                  code={statements.map((statement) => `${statement};`).join("\n\n")}
                />
              </Card>
            )}
          </>
        )}
      </QueryView>
    </>
  );
}

const columns: readonly Column<MigrationState>[] = [
  {
    id: "version",
    title: texts.version,
    width: "10rem",
    cell: ({ version }) => <code className="cut">{version}</code>,
  },
  { id: "name", title: schemaTexts.tables.name, cell: ({ name }) => <span className="cut">{name}</span> },
  {
    id: "state",
    title: texts.state,
    width: "minmax(7rem, 1fr)",
    cell: ({ state }) => <Badge tone={tones[state]}>{texts.states[state]}</Badge>,
  },
];
