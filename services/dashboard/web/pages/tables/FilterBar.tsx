import { Fragment, useState } from "react";
import { Chip } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { ComboBox, Select } from "../../components/Select.tsx";
import type { TableColumn } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { tablesTexts as texts } from "./texts.ts";
import { choicesOf } from "./values.ts";
import { type FilterEntry, filterGroups, type ViewState, withoutFilter } from "./viewState.ts";

interface FilterBarProps {
  columns: readonly TableColumn[];
  state: ViewState;
  onFilters: (filters: readonly FilterEntry[]) => void;
  onSorts: (sorts: ViewState["sorts"]) => void;
}

/** The filters and sorts in force, as chips that can be changed and removed. */
export function FilterBar({ columns, state, onFilters, onSorts }: FilterBarProps) {
  const [open, setOpen] = useState<number | null>(null);
  const { filters, sorts } = state;
  const join = (place: number) => {
    if (place === 0) return null;
    const filter = filters[place]!;
    return (
      <button
        type="button"
        className="tables-filter-join"
        aria-label={texts.filters.join(filter.column, filter.isOr ?? false)}
        onClick={() => onFilters(filters.with(place, { ...filter, isOr: !filter.isOr }))}
      >
        {filter.isOr ? texts.filters.or : texts.filters.and}
      </button>
    );
  };
  const chip = (place: number) => {
    const { column, op, value } = filters[place]!;
    return (
      <Chip label={texts.filters.remove(column)} onRemove={() => onFilters(withoutFilter(filters, place))}>
        <button
          type="button"
          className="tables-chip"
          aria-label={texts.filters.edit(`${column} ${texts.operators[op] ?? op} ${value}`, column)}
          onClick={() => setOpen(place)}
        >
          <b>{column}</b> {texts.operators[op] ?? op} <code>{value}</code>
        </button>
      </Chip>
    );
  };
  return (
    <>
      {filterGroups(filters).map((group) => (
        <Fragment key={group[0]}>
          {join(group[0]!)}
          {group.length === 1
            ? chip(group[0]!)
            : (
              <span className="tables-filter-group" role="group" aria-label={texts.filters.oneOf}>
                {group.map((place, index) => (
                  <Fragment key={place}>
                    {index > 0 && join(place)}
                    {chip(place)}
                  </Fragment>
                ))}
              </span>
            )}
        </Fragment>
      ))}
      {sorts.map((sort, index) => (
        <Chip
          key={sort.column}
          label={texts.filters.removeSort(sort.column)}
          onRemove={() => onSorts(sorts.toSpliced(index, 1))}
        >
          <span>
            <b>{sort.column}</b> {sort.isDescending ? texts.filters.descending : texts.filters.ascending}
          </span>
        </Chip>
      ))}
      <Button size="small" variant="quiet" icon="filter" onPress={() => setOpen(filters.length)}>
        {texts.filters.add}
      </Button>
      {open !== null && (
        <FilterDialog
          columns={columns}
          filter={filters[open] ?? { column: columns[0]?.name ?? "", op: "eq", value: "" }}
          onClose={() => setOpen(null)}
          onApply={(filter) => {
            onFilters(open < filters.length ? filters.with(open, filter) : [...filters, filter]);
            setOpen(null);
          }}
        />
      )}
    </>
  );
}

function FilterDialog({ columns, filter, onApply, onClose }: {
  columns: readonly TableColumn[];
  filter: FilterEntry;
  onApply: (filter: FilterEntry) => void;
  onClose: () => void;
}) {
  const [draft, setDraft] = useState(filter);
  const column = columns.find(({ name }) => name === draft.column);
  const operators = operatorsOf(column);
  const choose = (name: string) => {
    const next = columns.find((other) => other.name === name);
    if (!next) return;
    const op = operatorsOf(next).includes(draft.op) ? draft.op : operatorsOf(next)[0]!;
    setDraft({ ...draft, column: name, op });
  };
  const isIs = draft.op === "is" || draft.op === "not.is";
  const options = isIs
    ? (column?.category === "boolean" ? ["null", "true", "false"] : ["null"])
    : ["eq", "neq"].includes(draft.op) && column
    ? choicesOf(column)
    : [];
  const value = options.length > 0 && !options.includes(draft.value) ? options[0]! : draft.value;
  return (
    <Dialog
      title={texts.filters.title}
      isOpen
      size="small"
      isDirty={false}
      onClose={onClose}
      onSubmit={() => onApply({ ...draft, value })}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button type="submit" variant="primary">{texts.filters.apply}</Button>
        </>
      }
    >
      {columns.length > 12
        ? (
          <ComboBox
            label={texts.filters.column}
            choices={columns.map(({ name, type }) => ({ id: name, label: name, hint: type }))}
            value={draft.column}
            onChange={choose}
          />
        )
        : (
          <Select
            label={texts.filters.column}
            choices={columns.map(({ name, type }) => ({ id: name, label: name, hint: type }))}
            value={draft.column}
            onChange={choose}
          />
        )}
      <Select
        label={texts.filters.operator}
        choices={operators.map((op) => ({ id: op, label: texts.operators[op] ?? op }))}
        value={draft.op}
        onChange={(op) => setDraft({ ...draft, op })}
      />
      {options.length > 0
        ? (
          <Select
            label={texts.filters.value}
            choices={options.map((option) => ({ id: option, label: option }))}
            value={value}
            onChange={(option) => setDraft({ ...draft, value: option })}
          />
        )
        : (
          <Field
            label={draft.op === "in" ? texts.filters.valueList : texts.filters.value}
            value={draft.value}
            onChange={(text) => setDraft({ ...draft, value: text })}
            autoComplete="off"
            hasFocus
            {...(draft.op.endsWith("like") ? { hint: texts.filters.patternHint } : {})}
          />
        )}
    </Dialog>
  );
}

/** The conditions that make sense for a column. */
function operatorsOf(column: TableColumn | undefined): readonly string[] {
  const nulls = column?.is_nullable === false ? [] : ["is", "not.is"];
  switch (column?.category) {
    case "boolean":
      return ["eq", "is", "not.is"];
    case "enum":
      return ["eq", "neq", "in", ...nulls];
    case "json":
      return [...(column.base_type === "jsonb" ? ["cs"] : []), "ilike", ...nulls];
    case "array":
      return ["cs", "eq", ...nulls];
    case "text":
      return ["eq", "neq", "ilike", "not.ilike", "in", "gt", "gte", "lt", "lte", "fts", ...nulls];
    case "number":
    case "time":
    case "interval":
      return ["eq", "neq", "gt", "gte", "lt", "lte", "in", ...nulls];
    default:
      return ["eq", "neq", "in", "ilike", ...nulls];
  }
}
