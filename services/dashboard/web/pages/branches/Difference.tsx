import { useChange, useMay } from "../../api/hooks.ts";
import { CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { Note } from "../../components/states.tsx";
import type { BranchWork } from "../../generated/operations.ts";
import { branchesTexts } from "./texts.ts";

const texts = branchesTexts.detail;

/** What a branch changed of the schema, and who gains or loses access in it; compared when it is asked for. */
export function Difference({ name, work, isBusy }: { name: string; work: BranchWork | undefined; isBusy: boolean }) {
  const mayCompare = useMay("branches.compare");
  const mayMerge = useMay("branches.merge");
  const compare = useChange("branches.compare", { invalidates: ["branches."] });
  const merge = useChange("branches.merge", { invalidates: ["branches."] });
  if (!mayCompare) return null;
  const own = work?.name === name && work.state === "done" ? work : undefined;
  const onMerge = async () => {
    if (
      await confirm({
        title: texts.mergeTitle,
        body: texts.mergeText,
        names: [name],
        action: texts.merge,
        isDanger: false,
      })
    ) {
      merge.mutate({ name });
    }
  };
  return (
    <>
      <section className="branches-part">
        <h3>{texts.compare}</h3>
        <p className="soft">{texts.compareText}</p>
        <div className="branches-actions">
          <Button icon="eye" isDisabled={isBusy} onPress={() => compare.mutate({ name })}>{texts.difference}</Button>
          {mayMerge && <Button icon="branch" isDisabled={isBusy} onPress={() => void onMerge()}>{texts.merge}</Button>}
        </div>
        {own?.action === "compare" && <Schema work={own} />}
      </section>
      <section className="branches-part">
        <h3>{texts.access}</h3>
        <p className="soft">{texts.accessText}</p>
        <Button icon="users" isDisabled={isBusy} onPress={() => compare.mutate({ name, access: true })}>
          {texts.accessAsk}
        </Button>
        {own?.action === "access" && <Access work={own} />}
      </section>
    </>
  );
}

function Schema({ work }: { work: BranchWork }) {
  const { migrations, statements, conflicts } = work.comparison ?? { migrations: [], statements: [], conflicts: [] };
  if (migrations.length + statements.length + conflicts.length === 0) return <Note kind="good">{texts.same}</Note>;
  return (
    <>
      {conflicts.length > 0 && (
        <Note kind="warn">
          <p>{texts.conflicts}</p>
          <ul className="branches-lines">{conflicts.map((conflict) => <li key={conflict}>{conflict}</li>)}</ul>
        </Note>
      )}
      {migrations.length > 0 && <p>{texts.migrations(migrations.join(", "))}</p>}
      {statements.length > 0 && (
        <CodeBlock
          label={texts.statements}
          code={statements.map((statement) => `${statement};`).join("\n\n")}
        />
      )}
      {work.is_cut && <p className="soft">{texts.isCut}</p>}
    </>
  );
}

function Access({ work }: { work: BranchWork }) {
  return (
    <>
      {work.is_alarm && <Note kind="warn">{texts.accessAlarm}</Note>}
      <CodeBlock label={texts.access} code={work.access || texts.accessNone} />
      {work.is_cut && <p className="soft">{texts.isCut}</p>}
    </>
  );
}
