import { useEffect, useRef, useState } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Toolbar } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Checkbox, Field, SearchField } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { isFiltered, isStatus, rangeNames, rangeOf, withoutFilters } from "./filters.ts";
import { logsTexts as texts } from "./texts.ts";

const typingMs = 300;
const levels = [
  { id: "all", label: texts.levels.all },
  { id: "info", label: texts.levels.info },
  { id: "warning", label: texts.levels.warning },
  { id: "error", label: texts.levels.error },
];

/** The filters, all in the address. Those that are rarely needed open by a button. */
export function Filters() {
  const [search, changeSearch] = useSearch();
  const [words, setWords] = useTyped("text");
  const [status, setStatus] = useTyped("status");
  const others = ["user", "function", "process", "request_id"] as const;
  const [isMore, setMore] = useState(others.some((name) => search[name]));
  const range = rangeOf(search);
  return (
    <Toolbar label={texts.filters}>
      <SearchField label={texts.words} value={words} onChange={setWords} />
      <Select
        label={texts.range}
        hidesLabel
        choices={rangeNames.map((id) => ({ id, label: texts.ranges[id] }))}
        value={range}
        onChange={(id) =>
          changeSearch(
            id === "custom"
              ? { range: null, since: new Date(Date.now() - 3_600_000).toISOString() }
              : { range: id === "1h" ? null : id, since: null, until: null },
          )}
      />
      <Select
        label={texts.level}
        hidesLabel
        choices={levels}
        value={search["level"] ?? "all"}
        onChange={(level) => changeSearch({ level: level === "all" ? null : level })}
      />
      <Areas />
      <div className="logs-status">
        <Field
          label={texts.status}
          hidesLabel
          placeholder={`${texts.status}: ${texts.statusHint}`}
          value={status}
          onChange={setStatus}
          error={isStatus(status) ? undefined : texts.badStatus}
          autoComplete="off"
        />
      </div>
      <Button variant="quiet" icon="filter" aria-expanded={isMore} onPress={() => setMore(!isMore)}>
        {isMore ? texts.fewer : texts.more}
      </Button>
      {(isFiltered(search) || range === "custom") && (
        <Button
          variant="quiet"
          icon="close"
          onPress={() => changeSearch(withoutFilters)}
        >
          {texts.clear}
        </Button>
      )}
      {range === "custom" && (
        <div className="logs-more">
          <TimeField name="since" label={texts.since} />
          <TimeField name="until" label={texts.until} />
        </div>
      )}
      {isMore && (
        <div className="logs-more">
          <TypedField name="request_id" label={texts.request} />
          <TypedField name="user" label={texts.user} />
          <TypedField name="function" label={texts.function} />
          <TypedField name="process" label={texts.process} />
          <div className="logs-own">
            <Checkbox
              isSelected={search["own"] === "1"}
              onChange={(isOn) => changeSearch({ own: isOn ? "1" : null })}
            >
              {texts.own}
            </Checkbox>
          </div>
        </div>
      )}
    </Toolbar>
  );
}

function Areas() {
  const [search, changeSearch] = useSearch();
  const fields = useOperation("logs.fields", {}, { staleAfter: 60_000 });
  const area = search["area"] ?? "all";
  const known = fields.data?.fields["area"]?.map(({ value }) => value) ?? [];
  const names = area === "all" || known.includes(area) ? known : [area, ...known];
  return (
    <Select
      label={texts.area}
      hidesLabel
      choices={[{ id: "all", label: texts.allAreas }, ...names.sort().map((name) => ({ id: name, label: name }))]}
      value={area}
      onChange={(name) => changeSearch({ area: name === "all" ? null : name })}
    />
  );
}

function TypedField({ name, label }: { name: string; label: string }) {
  const [value, setValue] = useTyped(name);
  return <Field label={label} value={value} onChange={setValue} isCode autoComplete="off" />;
}

function TimeField({ name, label }: { name: "since" | "until"; label: string }) {
  const [search, changeSearch] = useSearch();
  const change = (text: string) => {
    const time = new Date(text);
    changeSearch({ [name]: Number.isNaN(time.getTime()) ? null : time.toISOString() });
  };
  return <Field label={label} type="datetime-local" value={localTime(search[name] ?? "")} onChange={change} />;
}

/** A time in UTC -> as a field of the type datetime-local has it. */
function localTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "";
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Return a filter while it is typed; the address follows a moment later. */
function useTyped(name: string): readonly [string, (value: string) => void] {
  const [search, changeSearch] = useSearch();
  const stored = search[name] ?? "";
  const [typed, setTyped] = useState(stored);
  const change = useRef(changeSearch);
  change.current = changeSearch;
  useEffect(() => setTyped((value) => value.trim() === stored ? value : stored), [stored]);
  useEffect(() => {
    if (typed.trim() === stored) return;
    const timer = setTimeout(() => change.current({ [name]: typed.trim() || null, line: null }), typingMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return [typed, setTyped];
}
