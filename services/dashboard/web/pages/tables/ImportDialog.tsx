import { useState } from "react";
import { run } from "../../api/client.ts";
import { isStopped } from "../../api/errors.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { Note } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { formatBytes, formatNumber } from "../../format.ts";
import type { DescribedTable, ImportReport } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { tablesTexts as texts } from "./texts.ts";

type Format = "csv" | "json" | "ndjson";
type OnConflict = "error" | "ignore" | "update";

/** Imports a file: its preview says how many rows are good, and the errors by line; then it is stored. */
export function ImportDialog({ table, onClose, onImported }: {
  table: DescribedTable;
  onClose: () => void;
  onImported: () => void;
}) {
  const [file, setFile] = useState<File | null>(null);
  const [format, setFormat] = useState<Format>("csv");
  const [delimiter, setDelimiter] = useState(",");
  const [nullText, setNullText] = useState("");
  const [onConflict, setConflict] = useState<OnConflict>("error");
  const [skips, setSkips] = useState(false);
  const [report, setReport] = useState<ImportReport | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const isReady = report !== null && report.rows > 0 && (report.failed === 0 || skips);

  const change = <T,>(set: (value: T) => void) => (value: T) => {
    set(value);
    setReport(null);
  };
  const choose = (chosen: File | undefined) => {
    if (!chosen) return;
    setFile(chosen);
    setReport(null);
    setError(null);
    if (/\.(ndjson|jsonl)$/i.test(chosen.name)) setFormat("ndjson");
    else if (/\.json$/i.test(chosen.name)) setFormat("json");
    else setFormat("csv");
    if (/\.tsv$/i.test(chosen.name)) setDelimiter("\t");
  };
  const send = async (isPreview: boolean) => {
    if (!file) return;
    setError(null);
    setPending(true);
    try {
      const result = await run("rows.import", {
        schema: table.schema,
        table: table.name,
        format,
        on_conflict: onConflict,
        // A preview lists all errors; storing stops at the first unless the good rows are wanted.
        skip_errors: isPreview || skips,
        preview: isPreview,
        ...(format === "csv" ? { delimiter, null_text: nullText } : {}),
      }, { upload: file });
      if (isPreview || !result.is_stored) return setReport(result);
      onImported();
      toast.done(
        texts.import.done(formatNumber(result.rows)),
        result.failed ? { hint: texts.import.skipped(formatNumber(result.failed)) } : {},
      );
      onClose();
    } catch (reason) {
      if (!isStopped(reason)) setError(reason);
    } finally {
      setPending(false);
    }
  };
  return (
    <Dialog
      title={texts.import.title(table.name)}
      isOpen
      size="large"
      isDirty={file !== null}
      onClose={onClose}
      error={error}
      onSubmit={() => void send(!isReady)}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          {isReady && <Button onPress={() => void send(true)}>{texts.import.preview}</Button>}
          <Button type="submit" variant="primary" isDisabled={!file} isPending={isPending}>
            {isReady ? texts.import.run(formatNumber(report.rows)) : texts.import.preview}
          </Button>
        </>
      }
    >
      <label className="field">
        <span className="label">{texts.import.file}</span>
        <input
          className="input"
          type="file"
          accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl"
          onChange={(event) => choose(event.target.files?.[0])}
        />
        {file && <span className="hint">{formatBytes(file.size)}</span>}
      </label>
      <div className="tables-options">
        <Select
          label={texts.import.format}
          choices={[{ id: "csv", label: "CSV" }, { id: "json", label: "JSON" }, { id: "ndjson", label: "NDJSON" }]}
          value={format}
          onChange={change(setFormat)}
        />
        {format === "csv" && (
          <>
            <Select
              label={texts.import.delimiter}
              choices={[
                { id: ",", label: texts.import.comma },
                { id: ";", label: texts.import.semicolon },
                { id: "\t", label: texts.import.tab },
              ]}
              value={delimiter}
              onChange={change(setDelimiter)}
            />
            <Field
              label={texts.import.nullText}
              value={nullText}
              onChange={change(setNullText)}
              autoComplete="off"
            />
          </>
        )}
        <Select
          label={texts.import.conflict}
          choices={(["error", "ignore", ...(table.key.length ? ["update" as const] : [])] as const).map((id) => ({
            id,
            label: texts.import.conflicts[id],
          }))}
          value={onConflict}
          onChange={change(setConflict)}
        />
      </div>
      <p className="hint">{texts.import.previewHint}</p>
      {report && <Report report={report} />}
      {report && report.failed > 0 && <Checkbox isSelected={skips} onChange={setSkips}>{texts.import.skip}</Checkbox>}
    </Dialog>
  );
}

function Report({ report }: { report: ImportReport }) {
  if (report.total === 0 && report.failed === 0) return <Note kind="warn">{texts.import.none}</Note>;
  return (
    <div className="tables-report">
      <Note kind={report.failed ? "warn" : "good"}>
        <p role="status">
          {texts.import.good(formatNumber(report.rows), formatNumber(report.total))}
          {report.failed > 0 && `. ${texts.import.bad(formatNumber(report.failed))}`}
        </p>
      </Note>
      {report.errors.length > 0 && (
        <div className="tables-scroll" tabIndex={0} role="region" aria-label={texts.import.reason}>
          <table className="tables-compare">
            <thead>
              <tr>
                <th scope="col">{texts.import.line}</th>
                <th scope="col">{texts.import.reason}</th>
              </tr>
            </thead>
            <tbody>
              {report.errors.map((problem, index) => (
                <tr key={index}>
                  <th scope="row" className="number">{problem.line}</th>
                  <td>{problem.message}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {report.failed > report.errors.length && <p className="hint">{texts.import.moreErrors}</p>}
      {report.first.length > 0 && (
        <details>
          <summary>{texts.import.first}</summary>
          <pre className="tables-first" tabIndex={0}>{report.first.join("\n")}</pre>
        </details>
      )}
    </div>
  );
}
