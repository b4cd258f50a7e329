import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Card, CodeBlock, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeWords } from "../../components/CodeWords.tsx";
import { Field } from "../../components/Field.tsx";
import { Loading, Note, QueryView } from "../../components/states.tsx";
import { formatBytes, formatNumber, formatTime } from "../../format.ts";
import type { MomentPlan } from "../../generated/operations.ts";
import { backupsTexts } from "./texts.ts";

const texts = backupsTexts.continuous;

/** Choose a moment of those that can be restored; shows the commands that try and restore it. */
export function RestoreMoment(
  { oldest, until, archive, command }: { oldest: number; until: number; archive: string; command: string },
) {
  const [search, changeSearch] = useSearch();
  const text = search["moment"] ?? "";
  const time = text === "" ? null : new Date(text).getTime() / 1_000;
  const isOutside = time !== null && (time < Math.floor(oldest) || time > Math.ceil(until));
  const error = time === null
    ? undefined
    : Number.isNaN(time)
    ? texts.notATime
    : isOutside
    ? texts.outside(formatTime(oldest), formatTime(until))
    : undefined;
  const utc = time === null || error !== undefined
    ? null
    : new Date(time * 1_000).toISOString().replace(/\.000Z$/, "Z");
  return (
    <Card title={texts.restore}>
      <div className="backups-commands">
        <p className="soft">{texts.restoreText}</p>
        <div className="backups-moment">
          <Field
            label={texts.moment}
            type="datetime-local"
            value={text}
            onChange={(moment) => changeSearch({ moment })}
            hint={texts.momentHint(Intl.DateTimeFormat().resolvedOptions().timeZone)}
            error={error}
          />
          {utc !== null && <p className="faint number">{texts.isUtc(utc)}</p>}
        </div>
        {utc === null ? error === undefined && <p className="soft">{texts.noMoment}</p> : (
          <>
            <DryRun key={utc} moment={utc} archive={archive} command={command} />
            <Step title={texts.beside} text={texts.besideText} code={`${command} --to ${utc}`} />
            <Step title={texts.switch} text={texts.switchText} code={`${command} --to ${utc} --switch`} />
          </>
        )}
      </div>
    </Card>
  );
}

/** The dry run, here or as a command. It is run when it is asked for: it reads the list of the whole archive. */
function DryRun({ moment, archive, command }: { moment: string; archive: string; command: string }) {
  const [search, changeSearch] = useSearch();
  const isWanted = search["plan"] === moment;
  const plan = useOperation("backups.plan_moment", { moment, archive }, { isEnabled: isWanted, staleAfter: 60_000 });
  return (
    <section className="backups-part">
      <h3>{texts.dryRun}</h3>
      {isWanted
        ? <QueryView query={plan} loading={<Loading />}>{(data) => <Plan plan={data} />}</QueryView>
        : (
          <Button icon="eye" variant="primary" onPress={() => changeSearch({ plan: moment })}>
            {texts.dryRunHere}
          </Button>
        )}
      <CodeBlock label={texts.dryRun} code={`${command} --to ${moment} --dry-run`} />
    </section>
  );
}

function Plan({ plan }: { plan: MomentPlan }) {
  const names = texts.plan;
  const later = plan.migrations_after ?? [];
  if (plan.problem) {
    return (
      <Note kind="warn">
        <p>
          <strong>{names.problem}</strong>
        </p>
        <p>
          <CodeWords text={plan.problem} />
        </p>
      </Note>
    );
  }
  return (
    <>
      <Note kind="good">{names.fits}</Note>
      <KeyValue
        entries={[
          [names.target, plan.target ?? ""],
          [names.base, names.baseOf(formatTime(plan.base_at ?? 0), formatBytes(plan.base_bytes ?? 0), plan.bases ?? 1)],
          [names.log, names.pieces(formatBytes(plan.wal_bytes ?? 0), formatNumber(plan.pieces ?? 0))],
          [names.objects, names.copies(formatNumber(plan.objects ?? 0))],
          [names.disk, formatBytes(plan.disk_bytes ?? 0)],
          ...later.length === 0 ? [] : [[names.without, <code key="without">{later.join(", ")}</code>] as const],
        ]}
      />
    </>
  );
}

function Step({ title, text, code }: { title: string; text?: string; code: string }) {
  return (
    <section className="backups-part">
      <h3>{title}</h3>
      {text && <p className="soft">{text}</p>}
      <CodeBlock label={title} code={code} />
    </section>
  );
}
