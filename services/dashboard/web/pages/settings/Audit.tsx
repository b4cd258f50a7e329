import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, JsonView, KeyValue, Pagination, Toolbar } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { ComboBox } from "../../components/Select.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatTime } from "../../format.ts";
import { type AuditRow, operationFlags } from "../../generated/operations.ts";
import { settingsTexts } from "./texts.ts";

const texts = settingsTexts.audit;
const pageSize = 100;
const signIns = ["sign_in", "sign_in.factor", "confirm", "sign_out"];
const operations = [...signIns, ...Object.keys(operationFlags).filter((name) => operationFlags[name]!.includes("c"))];
const choices = [{ id: "", label: texts.all }, ...operations.map((name) => ({ id: name, label: name }))];

/** What administrators did, the newest first. Each page and each row has its address. */
export default function Audit() {
  const [search, changeSearch] = useSearch();
  const [earlier, setEarlier] = useState<readonly string[]>([]);
  const before = search["before"];
  const page = useOperation("audit.list", {
    limit: pageSize,
    before: before ? Number(before) : null,
    operation: search["operation"] ?? null,
  }, { keepsPrevious: true });
  return (
    <Card isFlush>
      <Toolbar label={settingsTexts.tabs.audit}>
        <ComboBox
          label={texts.operation}
          hidesLabel
          choices={choices}
          value={search["operation"] ?? ""}
          onChange={(operation) => {
            setEarlier([]);
            changeSearch({ operation, before: null, row: null });
          }}
        />
        <Pagination
          hasPrevious={before !== undefined}
          hasNext={page.data?.next != null}
          onPrevious={() => {
            changeSearch({ before: earlier[earlier.length - 1] || null }, false);
            setEarlier(earlier.slice(0, -1));
          }}
          onNext={() => {
            setEarlier([...earlier, before ?? ""]);
            changeSearch({ before: String(page.data?.next) }, false);
          }}
        />
      </Toolbar>
      <QueryView query={page} isEmpty={({ rows }) => rows.length === 0} empty={<EmptyState title={texts.none} />}>
        {({ rows }) => (
          <>
            <DataTable
              label={settingsTexts.tabs.audit}
              columns={columns}
              rows={rows}
              keyOf={({ id }) => String(id)}
              openKey={search["row"] ?? null}
              onOpen={({ id }) => changeSearch({ row: String(id) })}
            />
            <Details
              row={rows.find(({ id }) => String(id) === search["row"])}
              onClose={() => changeSearch({ row: null })}
            />
          </>
        )}
      </QueryView>
    </Card>
  );
}

function Details({ row, onClose }: { row: AuditRow | undefined; onClose: () => void }) {
  if (!row) return null;
  return (
    <Dialog title={row.operation} isOpen size="side" onClose={onClose}>
      <KeyValue
        entries={[
          [texts.at, formatTime(row.at)],
          [texts.actor, row.actor],
          [texts.outcome, <Outcome key="outcome" outcome={row.outcome} />],
          [texts.from, row.address],
          [texts.request, <code key="request">{row.request_id}</code>],
        ]}
      />
      {([["arguments", row.arguments], ["before", row.before], ["after", row.after]] as const).map(([name, value]) =>
        value !== null && (
          <section key={name}>
            <h3>{texts[name]}</h3>
            <JsonView value={value} label={texts[name]} />
          </section>
        )
      )}
    </Dialog>
  );
}

function Outcome({ outcome }: { outcome: string }) {
  return <Badge tone={outcome === "done" ? "good" : "bad"}>{outcome}</Badge>;
}

const columns: readonly Column<AuditRow>[] = [
  { id: "at", title: texts.at, cell: ({ at }) => <Time value={at} />, width: "8rem" },
  { id: "actor", title: texts.actor, cell: ({ actor }) => <span className="cut">{actor}</span> },
  { id: "operation", title: texts.operation, cell: ({ operation }) => <code className="cut">{operation}</code> },
  {
    id: "outcome",
    title: texts.outcome,
    cell: ({ outcome }) => <Outcome outcome={outcome} />,
    width: "9rem",
    isMinor: true,
  },
  { id: "from", title: texts.from, cell: ({ address }) => address, width: "9rem", isMinor: true },
];
