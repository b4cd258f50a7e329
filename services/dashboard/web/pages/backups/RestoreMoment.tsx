import { useSearch } from "../../address.tsx";
import { Card, CodeBlock } from "../../components/basics.tsx";
import { Field } from "../../components/Field.tsx";
import { formatTime } from "../../format.ts";
import { backupsTexts } from "./texts.ts";

const texts = backupsTexts.continuous;

/** Choose a moment of those that can be restored; shows the commands that try and restore it. */
export function RestoreMoment({ oldest, until, command }: { oldest: number; until: number; command: string }) {
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
            <Step title={texts.dryRun} code={`${command} --to ${utc} --dry-run`} />
            <Step title={texts.beside} text={texts.besideText} code={`${command} --to ${utc}`} />
            <Step title={texts.switch} text={texts.switchText} code={`${command} --to ${utc} --switch`} />
          </>
        )}
      </div>
    </Card>
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
