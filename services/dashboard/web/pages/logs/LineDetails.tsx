import type { ReactNode } from "react";
import { Link, pathOf, useSearch } from "../../address.tsx";
import { CopyButton, JsonView, KeyValue } from "../../components/basics.tsx";
import { IconButton } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Icon } from "../../components/Icon.tsx";
import { formatMs, formatTime } from "../../format.ts";
import type { LogLineView } from "../../generated/operations.ts";
import { Level } from "./Level.tsx";
import { logsTexts as texts } from "./texts.ts";

/** One line with all its fields, beside the list. A filter button narrows the list to lines with the same value. */
export function LineDetails({ line, onClose }: { line: LogLineView; onClose: () => void }) {
  return (
    <Dialog title={line.kind} isOpen size="side" onClose={onClose}>
      <div className="logs-text">
        <pre>{line.text}</pre>
        <CopyButton text={line.text} />
      </div>
      {line.request_id && (
        <Link to={pathOf("logs", "request", line.request_id)} className="logs-trace-link">
          <Icon name="activity" /> {texts.trace}
        </Link>
      )}
      <KeyValue entries={entriesOf(line)} />
      {line.fields && Object.keys(line.fields).length > 0 && (
        <section>
          <h3>{texts.fields}</h3>
          <JsonView value={line.fields} label={texts.fields} />
        </section>
      )}
    </Dialog>
  );
}

function entriesOf(line: LogLineView): readonly (readonly [string, ReactNode])[] {
  const values = [
    [texts.area, "area", line.area],
    [texts.status, "status", line.status ? String(line.status) : ""],
    [texts.request, "request_id", line.request_id],
    [texts.user, "user", line.user],
    [texts.function, "function", line.function],
    [texts.process, "process", line.process],
  ] as const;
  return [
    [
      texts.at,
      <span key="at" title={formatTime(line.at)}>
        <code>{line.at}</code>
      </span>,
    ],
    [texts.level, <Level key="level" level={line.level} />],
    ...values.filter(([, , value]) => value).map(([label, name, value]) =>
      [label, <Value key={name} name={name} label={label} value={value!} />] as const
    ),
    ...(line.duration_ms ? [[texts.took, formatMs(line.duration_ms)] as const] : []),
  ];
}

function Value({ name, label, value }: { name: string; label: string; value: string }) {
  const [, changeSearch] = useSearch();
  return (
    <span className="logs-value">
      <code>{value}</code>
      <IconButton
        icon="filter"
        size="small"
        label={texts.filterBy(label, value)}
        onPress={() => changeSearch({ [name]: value, line: null }, false)}
      />
    </span>
  );
}
