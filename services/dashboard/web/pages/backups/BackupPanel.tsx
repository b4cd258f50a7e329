import { useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { CodeBlock, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Loading, Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes, formatNumber, formatTime } from "../../format.ts";
import type { BackupSummary, RestorePlan } from "../../generated/operations.ts";
import { backupsTexts } from "./texts.ts";

const texts = backupsTexts.detail;
const most = 20;

/** One backup: what it has, what a restore of it would give, and its deletion. */
export function BackupPanel(
  { name, backup, onClose }: { name: string; backup: BackupSummary | null; onClose: () => void },
) {
  const [search, changeSearch] = useSearch();
  const mayDelete = useMay("backups.delete");
  const remove = useChange("backups.delete", {
    invalidates: ["backups.", "platform.health"],
    doneText: texts.deleted(name),
    onDone: onClose,
  });
  const onDelete = async () => {
    if (
      await confirm({
        title: texts.delete,
        body: texts.deleteText,
        names: [name],
        typeName: name,
        action: texts.delete,
      })
    ) remove.mutate({ name });
  };
  return (
    <Dialog
      title={texts.title(name)}
      isOpen
      size="side"
      onClose={onClose}
      footer={backup !== null && mayDelete && (
        <Button
          icon="trash"
          isPending={remove.isPending}
          onPress={() => void onDelete()}
        >
          {texts.delete}
        </Button>
      )}
    >
      {backup === null ? <Note kind="warn">{texts.gone}</Note> : (
        <>
          <Facts backup={backup} />
          <section className="backups-part">
            <h3>{texts.restore}</h3>
            <p className="soft">{texts.restoreText}</p>
            {search["plan"] === "1"
              ? <DryRun backup={backup} />
              : (
                <Button icon="eye" variant="primary" onPress={() => changeSearch({ plan: "1" })}>
                  {texts.plan}
                </Button>
              )}
          </section>
        </>
      )}
    </Dialog>
  );
}

function Facts({ backup }: { backup: BackupSummary }) {
  const { contents, headwater, server_version, made_at, database_bytes, blobs, blob_bytes } = backup;
  return (
    <KeyValue
      entries={[
        [
          texts.made,
          <span key="made">
            {formatTime(made_at)} (<Time value={made_at} />)
          </span>,
        ],
        [texts.by, texts.byVersions(headwater, Math.floor(server_version / 10_000))],
        [texts.dump, formatBytes(database_bytes)],
        [texts.objects, backupsTexts.list.objectCount(formatNumber(blobs), formatBytes(blob_bytes))],
        ...contents == null ? [] : [
          [texts.tables, formatNumber(contents.tables)] as const,
          [texts.users, formatNumber(contents.users)] as const,
        ],
      ]}
    />
  );
}

function DryRun({ backup }: { backup: BackupSummary }) {
  const plan = useOperation("backups.plan_restore", { name: backup.name }, { staleAfter: 60_000 });
  return <QueryView query={plan} loading={<Loading />}>{(data) => <Plan plan={data} />}</QueryView>;
}

function Plan({ plan }: { plan: RestorePlan }) {
  if (plan.problems.length > 0) {
    return (
      <Note kind="warn">
        <p>
          <strong>{texts.problems}</strong>
        </p>
        <ul>{plan.problems.map((problem) => <li key={problem}>{problem}</li>)}</ul>
      </Note>
    );
  }
  return (
    <>
      <Note kind="good">{texts.fits}</Note>
      <Comparison plan={plan} />
      <p>{texts.replaced}</p>
      {plan.migrations.length > 0 && (
        <div>
          <p className="soft">{texts.migrations(plan.migrations.length)}</p>
          <p className="faint">
            <code>{plan.migrations.slice(0, most).join(", ")}{plan.migrations.length > most && " …"}</code>
          </p>
        </div>
      )}
      <h3>{texts.command}</h3>
      <p className="soft">{texts.commandText}</p>
      <CodeBlock label={texts.command} code={plan.command} />
    </>
  );
}

function Comparison({ plan: { backup, replaces } }: { plan: RestorePlan }) {
  const unknown = <span className="faint">{backupsTexts.list.unknown}</span>;
  const { contents } = backup;
  const rows = [
    [texts.size, formatBytes(replaces.bytes), contents == null ? unknown : formatBytes(contents.bytes)],
    [texts.tables, formatNumber(replaces.tables), contents == null ? unknown : formatNumber(contents.tables)],
    [texts.users, formatNumber(replaces.users), contents == null ? unknown : formatNumber(contents.users)],
    [texts.objects, formatNumber(replaces.objects), formatNumber(backup.blobs)],
  ] as const;
  return (
    <table className="backups-comparison" aria-label={texts.after}>
      <thead>
        <tr>
          <th scope="col">{texts.what}</th>
          <th scope="col">{texts.now}</th>
          <th scope="col">{texts.after}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([what, now, after]) => (
          <tr key={what}>
            <th scope="row">{what}</th>
            <td className="number">{now}</td>
            <td className="number">{after}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
