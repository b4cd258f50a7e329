import type { ReactNode } from "react";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { CodeWords } from "../../components/CodeWords.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { CertificateOverview, CertificateReport } from "../../generated/operations.ts";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.certificate;
const tones = {
  off: "neutral",
  missing: "warn",
  ordering: "accent",
  good: "good",
  failing: "warn",
  ended: "bad",
  silent: "bad",
} as const;

/** The gateway's certificate by ACME: names, dates, the next renewal, the last error; owners renew it. */
export default function Certificate() {
  const overview = useOperation("certificates.show", {}, { refreshEvery: 5_000 });
  return (
    <QueryView query={overview}>
      {({ state, report }) =>
        report == null
          ? (
            <Card>
              <EmptyState icon="key" title={texts.off}>
                <CodeWords text={texts.offText} />
              </EmptyState>
            </Card>
          )
          : <Report state={state} report={report} />}
    </QueryView>
  );
}

function Report({ state, report }: { state: CertificateOverview["state"]; report: CertificateReport }) {
  const mayRenew = useMay("certificates.renew");
  const renew = useChange("certificates.renew", { invalidates: ["certificates."], doneText: () => texts.requested });
  const onRenew = async () => {
    if (await confirm({ title: texts.renew, body: texts.renewText, action: texts.renew, isDanger: false })) {
      renew.mutate({});
    }
  };
  return (
    <>
      {report.last_error && (
        <Note kind="warn">
          <p>{texts.failed(report.failures ?? 0)}</p>
          <p className="settings-fault">{report.last_error}</p>
        </Note>
      )}
      <Card
        title={texts.title}
        actions={mayRenew && (
          <Button
            size="small"
            icon="refresh"
            isPending={renew.isPending}
            isDisabled={state === "ordering" || state === "silent"}
            onPress={() => void onRenew()}
          >
            {texts.renew}
          </Button>
        )}
      >
        <KeyValue entries={facts(state, report)} />
      </Card>
    </>
  );
}

function facts(state: CertificateOverview["state"], report: CertificateReport) {
  const entries: [string, ReactNode][] = [
    [texts.state, <Badge key="state" tone={tones[state]}>{texts.states[state]}</Badge>],
    [texts.names, (report.names?.length ? report.names : report.domains).join(", ")],
    [texts.authority, <code key="authority" className="settings-fault">{report.authority}</code>],
  ];
  if (report.not_after) {
    entries.push(
      [texts.issuer, report.issuer],
      [texts.begins, <Time key="begins" value={report.not_before ?? 0} />],
      [texts.ends, <Time key="ends" value={report.not_after} />],
      [
        texts.renewal,
        <span key="renewal">
          <Time value={report.renewal_at ?? 0} /> {report.is_advised ? texts.advised : texts.bySettings}
        </span>,
      ],
    );
  }
  if (report.advice_fault) entries.push([texts.adviceFault, report.advice_fault]);
  if (report.last_error) entries.push([texts.next, <Time key="next" value={report.next_order_at ?? 0} />]);
  return entries;
}
