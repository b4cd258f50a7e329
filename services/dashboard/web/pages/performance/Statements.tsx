import { useSearch } from "../../address.tsx";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Card, CodeBlock, KeyValue, Toolbar } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { formatMs, formatNumber, formatPercent } from "../../format.ts";
import type { StatementStatistics } from "../../generated/operations.ts";
import { PlanTree } from "./PlanTree.tsx";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.statements;
const names = texts.columns;
const orders = ["total_time", "mean_time", "calls", "rows", "blocks"] as const;
const most = 100;

/** Statements by what they cost, as pg_stat_statements counts them. */
export default function Statements() {
  const [search, changeSearch] = useSearch();
  const order = orders.find((name) => name === search["order"]) ?? "total_time";
  const role = search["role"] ?? "all";
  const statements = useOperation("statistics.statements", {
    order,
    limit: most,
    role: role === "all" ? null : role,
  }, { keepsPrevious: true });
  const rows = statements.data ?? [];
  const roles = [...new Set([...(role === "all" ? [] : [role]), ...rows.flatMap((row) => row.role ?? [])])].sort();
  const open = rows.find(({ id }) => id === search["statement"]);
  return (
    <Card isFlush>
      <Toolbar label={performanceTexts.tabs.statements}>
        <Select
          label={texts.order}
          hidesLabel
          choices={orders.map((id) => ({ id, label: texts.orders[id] }))}
          value={order}
          onChange={(id) => changeSearch({ order: id === "total_time" ? null : id })}
        />
        <Select
          label={texts.role}
          hidesLabel
          choices={[{ id: "all", label: texts.allRoles }, ...roles.map((name) => ({ id: name, label: name }))]}
          value={role}
          onChange={(id) => changeSearch({ role: id === "all" ? null : id })}
        />
        <Reset />
      </Toolbar>
      <QueryView
        query={statements}
        isEmpty={(all) => all.length === 0}
        empty={<EmptyState icon="gauge" title={texts.none}>{texts.noneHint}</EmptyState>}
      >
        {(all) => (
          <DataTable
            label={performanceTexts.tabs.statements}
            columns={columns}
            rows={all}
            keyOf={({ id, role }) => `${id} ${role}`}
            onOpen={({ id }) => changeSearch({ statement: id }, false)}
          />
        )}
      </QueryView>
      {open && <Statement statement={open} onClose={() => changeSearch({ statement: null })} />}
    </Card>
  );
}

function Reset() {
  const reset = useChange("statistics.reset", { invalidates: ["statistics."], doneText: texts.resetDone });
  const mayReset = useMay("statistics.reset");
  if (!mayReset) return null;
  const onReset = async () => {
    if (await confirm({ title: texts.reset, body: texts.resetText, action: texts.reset })) reset.mutate({});
  };
  return (
    <Button variant="quiet" icon="refresh" isPending={reset.isPending} onPress={() => void onReset()}>
      {texts.reset}
    </Button>
  );
}

function Statement({ statement, onClose }: { statement: StatementStatistics; onClose: () => void }) {
  const plan = useOperation("statistics.plan", { id: statement.id }, { staleAfter: Infinity });
  return (
    <Dialog title={texts.detail} isOpen size="side" onClose={onClose}>
      <CodeBlock label={texts.detail} code={statement.text} />
      <KeyValue
        entries={[
          [names.calls, formatNumber(statement.calls)],
          [names.total, formatMs(statement.total_ms)],
          [names.mean, formatMs(statement.mean_ms)],
          [`${names.least} … ${names.most}`, `${formatMs(statement.min_ms)} … ${formatMs(statement.max_ms)}`],
          [names.rows, formatNumber(statement.rows)],
          [names.hit, formatNumber(statement.blocks_hit)],
          [names.read, formatNumber(statement.blocks_read)],
          [names.written, formatNumber(statement.blocks_written)],
          [names.temp, formatNumber(statement.temp_blocks)],
          [names.role, <code key="role">{statement.role}</code>],
        ]}
      />
      <section className="performance-part">
        <h3>{texts.plan}</h3>
        <p className="hint">{texts.planHint}</p>
        <QueryView query={plan}>{({ explained }) => <PlanTree label={texts.plan} node={explained.plan} />}</QueryView>
      </section>
    </Dialog>
  );
}

const number = (text: string) => <span className="number">{text}</span>;

const columns: readonly Column<StatementStatistics>[] = [
  {
    id: "text",
    title: names.text,
    cell: ({ text }) => <code className="cut">{text.replaceAll(/\s+/g, " ")}</code>,
    width: "minmax(12rem, 1fr)",
  },
  {
    id: "share",
    title: names.share,
    cell: ({ share }) => <Share share={share} />,
    width: "7rem",
    isMinor: true,
  },
  {
    id: "total",
    title: names.total,
    cell: ({ total_ms }) => number(formatMs(total_ms)),
    width: "5.5rem",
    align: "end",
  },
  {
    id: "mean",
    title: names.mean,
    cell: ({ mean_ms }) => number(formatMs(mean_ms)),
    width: "5.5rem",
    align: "end",
    isMinor: true,
  },
  {
    id: "calls",
    title: names.calls,
    cell: ({ calls }) => number(formatNumber(calls)),
    width: "5rem",
    align: "end",
    isMinor: true,
  },
  {
    id: "rows",
    title: names.rows,
    cell: ({ rows }) => number(formatNumber(rows)),
    width: "5rem",
    align: "end",
    isMinor: true,
  },
  {
    id: "role",
    title: names.role,
    cell: ({ role }) => <span className="cut soft">{role}</span>,
    width: "9rem",
    isMinor: true,
  },
];

/** The share of all time, as a bar with its figure. */
function Share({ share }: { share: number | null }) {
  if (share === null) return null;
  const percent = share * 100;
  return (
    <span className="performance-share">
      <span className="performance-track" aria-hidden="true">
        <span style={{ width: `${Math.min(100, percent)}%` }} />
      </span>
      <span className="number soft">{formatPercent(share, percent < 10 ? 1 : 0)}</span>
    </span>
  );
}
