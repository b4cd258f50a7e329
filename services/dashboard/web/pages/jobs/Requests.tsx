import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox } from "../../components/Field.tsx";
import { EmptyState } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { QueuedSqlRequest, RequestResponse } from "../../generated/operations.ts";
import { ExtensionView } from "./ExtensionView.tsx";
import { jobsTexts } from "./texts.ts";

const texts = jobsTexts.requests;
const refreshMs = 5_000;

/** HTTP requests that SQL sends through pg_net: those that wait, and the answers. */
export default function Requests() {
  const [search, changeSearch] = useSearch();
  const onlyFailures = search["failed"] === "yes";
  const waiting = useOperation("jobs.requests", { limit: 200 }, { refreshEvery: refreshMs });
  const answers = useOperation("jobs.responses", { only_failures: onlyFailures, limit: 200 }, {
    refreshEvery: refreshMs,
    keepsPrevious: true,
  });
  const open = answers.data?.rows.find(({ id }) => String(id) === search["answer"]);
  return (
    <>
      <Card
        title={texts.answers}
        isFlush
        actions={
          <Checkbox isSelected={onlyFailures} onChange={(isOn) => changeSearch({ failed: isOn ? "yes" : null })}>
            {texts.onlyFailures}
          </Checkbox>
        }
      >
        <ExtensionView
          extension="pg_net"
          query={answers}
          isEmpty={({ rows }) => rows.length === 0}
          empty={<EmptyState icon="globe" title={texts.noAnswers}>{texts.noAnswersText}</EmptyState>}
        >
          {({ rows }) => (
            <DataTable
              label={texts.answers}
              columns={answerColumns}
              rows={rows}
              keyOf={({ id }) => String(id)}
              onOpen={({ id }) => changeSearch({ answer: String(id) }, false)}
              height={`${Math.min(rows.length, 14) * 33 + 36}px`}
            />
          )}
        </ExtensionView>
      </Card>
      {waiting.data && waiting.data.rows.length > 0 && (
        <Card title={texts.waiting} isFlush>
          <DataTable
            label={texts.waiting}
            columns={waitingColumns}
            rows={waiting.data.rows}
            keyOf={({ id }) => String(id)}
            height={`${Math.min(waiting.data.rows.length, 10) * 33 + 36}px`}
          />
        </Card>
      )}
      {open && (
        <Dialog
          title={`${texts.answers} ${open.id}`}
          isOpen
          size="side"
          onClose={() => changeSearch({ answer: null })}
        >
          <p>{open.error ?? (open.is_timeout ? texts.timedOut : String(open.status))}</p>
          {open.body !== null && <CodeBlock label={texts.answers} code={open.body} />}
        </Dialog>
      )}
    </>
  );
}

const answerColumns: readonly Column<RequestResponse>[] = [
  { id: "id", title: texts.id, width: "5rem", align: "end", cell: ({ id }) => <span className="number">{id}</span> },
  {
    id: "status",
    title: texts.status,
    width: "8rem",
    cell: ({ status, is_timeout: isTimeout, error }) => (
      <Badge tone={isTimeout || error !== null || (status ?? 500) >= 400 ? "bad" : "good"}>
        {isTimeout ? texts.timedOut : String(status ?? "–")}
      </Badge>
    ),
  },
  { id: "at", title: texts.at, width: "8rem", isMinor: true, cell: ({ at }) => <Time value={at} /> },
  {
    id: "error",
    title: texts.error,
    width: "minmax(8rem, 3fr)",
    cell: ({ error, body }) => <code className="cut">{error ?? body}</code>,
  },
];
const waitingColumns: readonly Column<QueuedSqlRequest>[] = [
  { id: "id", title: texts.id, width: "5rem", align: "end", cell: ({ id }) => <span className="number">{id}</span> },
  { id: "method", title: texts.method, width: "6rem", cell: ({ method }) => method },
  { id: "url", title: texts.url, width: "minmax(8rem, 3fr)", cell: ({ url }) => <code className="cut">{url}</code> },
];
