import { useState } from "react";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { JsonView, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeWords } from "../../components/CodeWords.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { ErrorNote, Note } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { formatTime } from "../../format.ts";
import type { AdvisorFinding } from "../../generated/operations.ts";
import { ApplyFix } from "./ApplyFix.tsx";
import { FindingLevel, subjectOf } from "./Findings.tsx";
import { IndexTrial } from "./IndexTrial.tsx";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.advisors;

interface PanelProps {
  finding: AdvisorFinding;
  onClose: () => void;
}

/** One finding: why it matters, its fix, and what dismisses it. */
export function FindingPanel({ finding, onClose }: PanelProps) {
  const subject = subjectOf(finding);
  const columns = indexedColumns(finding);
  return (
    <Dialog title={finding.title} isOpen size="side" onClose={onClose}>
      <p>{finding.detail}</p>
      <KeyValue
        entries={[
          [texts.columns.level, <FindingLevel key="level" level={finding.level} />],
          ...(subject ? [[texts.columns.of, <code key="of">{subject}</code>] as const] : []),
          [texts.columns.category, texts.categories[finding.category]],
          [texts.rule, <code key="rule">{finding.name}</code>],
        ]}
      />
      <section className="performance-part">
        <h3>{texts.why}</h3>
        <p>
          <CodeWords text={finding.explanation} />
        </p>
      </section>
      <section className="performance-part">
        {columns === null && <h3>{texts.fix}</h3>}
        {columns !== null && finding.fix !== null
          ? (
            <IndexTrial
              schema={finding.schema ?? ""}
              table={finding.object ?? ""}
              columns={columns}
              statement={null}
              definition={finding.fix}
              onClose={onClose}
            />
          )
          : finding.fix !== null
          ? <ApplyFix fix={finding.fix} name={finding.cache_key} onClose={onClose} />
          : finding.settings !== null
          ? <SettingsFix finding={finding} onClose={onClose} />
          : <p className="soft">{texts.noFix}</p>}
      </section>
      {Object.keys(finding.metadata).length > 0 && (
        <section className="performance-part">
          <h3>{texts.metadata}</h3>
          <JsonView value={finding.metadata} label={texts.metadata} />
        </section>
      )}
      {finding.is_dismissed
        ? <Restore finding={finding} onClose={onClose} />
        : <Dismiss finding={finding} onClose={onClose} />}
    </Dialog>
  );
}

/** Return the columns of the index that a finding proposes; null if it proposes none, or one of a partitioned table. */
function indexedColumns({ fix, metadata }: AdvisorFinding): readonly string[] | null {
  const names = (metadata as { columns?: unknown }).columns;
  return fix?.startsWith("create index concurrently") && Array.isArray(names) ? names.map(String) : null;
}

function SettingsFix({ finding, onClose }: PanelProps) {
  const mayChange = useMay("settings.change");
  const stored = useOperation("settings.list", { prefix: Object.keys(finding.settings ?? {})[0] ?? "" });
  const change = useChange("settings.change", {
    invalidates: ["advisors.", "settings."],
    doneText: texts.changed,
    showsError: true,
    onDone: onClose,
  });
  return (
    <>
      <JsonView value={finding.settings} label={texts.fix} />
      {mayChange && (
        <div className="performance-form">
          <p className="hint">{texts.settingsHint}</p>
          <ErrorNote error={change.error} />
          <Button
            variant="primary"
            isPending={change.isPending}
            isDisabled={!stored.data}
            onPress={() =>
              stored.data && change.mutate({ version: stored.data.version, values: finding.settings ?? {} })}
          >
            {texts.change}
          </Button>
        </div>
      )}
    </>
  );
}

function Dismiss({ finding, onClose }: PanelProps) {
  const [reason, setReason] = useState("");
  const dismiss = useChange("advisors.dismiss", {
    invalidates: ["advisors."],
    showsError: true,
    onDone: () => {
      toast.done(`${texts.dismissed}: ${finding.title}`);
      onClose();
    },
  });
  const mayDismiss = useMay("advisors.dismiss");
  if (!mayDismiss) return null;
  return (
    <section className="performance-part performance-last">
      <h3>{texts.dismiss}</h3>
      <form
        className="performance-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (reason.trim()) dismiss.mutate({ cache_key: finding.cache_key, reason: reason.trim() });
        }}
      >
        <p className="soft">{texts.dismissText}</p>
        <Field label={texts.reason} hint={texts.reasonHint} value={reason} onChange={setReason} autoComplete="off" />
        <ErrorNote error={dismiss.error} />
        <Button type="submit" isPending={dismiss.isPending} isDisabled={!reason.trim()}>{texts.dismiss}</Button>
      </form>
    </section>
  );
}

function Restore({ finding, onClose }: PanelProps) {
  const dismissed = useOperation("advisors.dismissed", {});
  const row = dismissed.data?.find(({ cache_key }) => cache_key === finding.cache_key);
  const mayRestore = useMay("advisors.restore");
  const restore = useChange("advisors.restore", {
    invalidates: ["advisors."],
    doneText: texts.restored,
    onDone: onClose,
  });
  return (
    <Note>
      {row && (
        <>
          <p>{texts.by(row.actor)} · {formatTime(row.at)}</p>
          <p>{row.reason}</p>
        </>
      )}
      {mayRestore && (
        <Button
          size="small"
          icon="restore"
          isPending={restore.isPending}
          onPress={() => restore.mutate({ cache_key: finding.cache_key })}
        >
          {texts.restore}
        </Button>
      )}
    </Note>
  );
}
