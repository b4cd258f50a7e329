import { useState } from "react";
import { Link, pathOf, useSearch } from "../../address.tsx";
import { useDelayed } from "../../api/delayed.ts";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, Toolbar } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { SearchField, Switch } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { formatTime } from "../../format.ts";
import type { LogLine } from "../../generated/operations.ts";
import { functionsTexts as texts } from "./texts.ts";

const levels = (["all", "info", "warning", "error"] as const).map((id) => ({ id, label: texts.levels[id] }));
const pageSize = 100;
const mostLines = 1000;

/** The log lines of a function: the newest last, followed until it is paused. */
export function Lines({ name }: { name: string }) {
  const [search, changeSearch] = useSearch();
  const [isFollowing, setFollowing] = useState(true);
  const [limit, setLimit] = useState(pageSize);
  const level = levels.find(({ id }) => id === search["level"])?.id ?? "all";
  const text = useDelayed(search["find"] ?? "");
  const lines = useOperation(
    "functions.logs",
    { name, level: level === "all" ? "" : level, text, limit },
    { keepsPrevious: true, ...(isFollowing ? { refreshEvery: 2_000 } : {}) },
  );
  return (
    <Card isFlush>
      <Toolbar label={texts.tabs.logs}>
        <SearchField label={texts.findLines} value={search["find"] ?? ""} onChange={(find) => changeSearch({ find })} />
        <Select
          label={texts.level}
          hidesLabel
          choices={levels}
          value={level}
          onChange={(id) => changeSearch({ level: id === "all" ? null : id })}
        />
        <Switch isSelected={isFollowing} onChange={setFollowing}>{texts.follow}</Switch>
        {lines.data?.lines.length === limit && limit < mostLines && (
          <Button
            size="small"
            onPress={() => setLimit(Math.min(mostLines, limit * 2))}
          >
            {texts.earlier}
          </Button>
        )}
      </Toolbar>
      <QueryView
        query={lines}
        isEmpty={(data) => data.lines.length === 0}
        empty={<EmptyState icon="list" title={texts.noLog}>{texts.noLogText}</EmptyState>}
      >
        {(data) => <LineRows label={texts.tabs.logs} lines={[...data.lines].reverse()} />}
      </QueryView>
    </Card>
  );
}

/** Lines with time and level; a line of a request leads to all that happened in it. */
export function LineRows({ label, lines }: { label: string; lines: readonly LogLine[] }) {
  return (
    <div className="functions-lines" role="region" aria-label={label} tabIndex={0}>
      <ul>
        {lines.map((line, index) => (
          <li key={index}>
            <time className="faint number" dateTime={new Date(line.at * 1000).toISOString()}>
              {formatTime(line.at)}
            </time>
            <Badge tone={line.level === "error" ? "bad" : line.level === "warning" ? "warn" : "neutral"}>
              {line.level}
            </Badge>
            <code>{line.text}</code>
            {line.request_id && <Link to={pathOf("logs", "request", line.request_id)}>{texts.request}</Link>}
          </li>
        ))}
      </ul>
    </div>
  );
}
