import { useState } from "react";
import { Link, pathOf, useGo, useSubpath } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Card, PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { texts as shared } from "../../texts.ts";
import { ReportView } from "./ReportView.tsx";
import { reportsTexts as texts } from "./texts.ts";
import "./reports.css";

/** Reports: all of them, or one. */
export default function ReportsPage() {
  const [name] = useSubpath();
  return name ? <ReportView key={name} name={name} /> : <ReportList />;
}

function ReportList() {
  const reports = useOperation("reports.list", {});
  const [isCreating, setCreating] = useState(false);
  const mayChange = useMay("reports.save");
  const create = mayChange && reports.data?.folder_is_known
    ? <Button variant="primary" icon="plus" onPress={() => setCreating(true)}>{texts.create}</Button>
    : null;
  return (
    <>
      <PageHeader title={texts.title} actions={create}>{texts.lead}</PageHeader>
      <QueryView query={reports}>
        {({ reports: list, folder_is_known }) => {
          if (!folder_is_known) {
            return <EmptyState icon="folder" title={texts.noFolder}>{texts.noFolderText}</EmptyState>;
          }
          if (list.length === 0) {
            return (
              <EmptyState icon="gauge" title={texts.none} action={<Link to="sql">{texts.openSql}</Link>}>
                {texts.noneText}
              </EmptyState>
            );
          }
          return (
            <Card title={texts.list}>
              <ul className="reports-list">
                {list.map((report) => (
                  <li key={report.name}>
                    <Link to={pathOf("reports", report.name)} className="cut">{report.name}</Link>
                    <span className="faint">
                      <Time value={report.changed_at} />
                    </span>
                  </li>
                ))}
              </ul>
            </Card>
          );
        }}
      </QueryView>
      {isCreating && <NewReport onClose={() => setCreating(false)} />}
    </>
  );
}

function NewReport({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const go = useGo();
  const save = useChange("reports.save", {
    invalidates: ["reports.list"],
    showsError: true,
    onDone: (_, { name: created }) => {
      onClose();
      go(pathOf("reports", created));
    },
  });
  return (
    <Dialog
      title={texts.create}
      isOpen
      onClose={onClose}
      size="small"
      onSubmit={() => name.trim() && save.mutate({ name: name.trim(), report: { tiles: [] } })}
      error={save.error}
      footer={
        <>
          <Button onPress={onClose}>{shared.actions.cancel}</Button>
          <Button type="submit" variant="primary" isDisabled={!name.trim() || save.isPending}>
            {texts.createAction}
          </Button>
        </>
      }
    >
      <Field label={texts.name} hint={texts.nameHint} value={name} onChange={setName} hasFocus autoComplete="off" />
    </Dialog>
  );
}
