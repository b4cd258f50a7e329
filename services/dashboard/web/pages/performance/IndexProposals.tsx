import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Card, CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Loading, QueryView } from "../../components/states.tsx";
import { formatMs, formatNumber } from "../../format.ts";
import type { IndexProposal } from "../../generated/operations.ts";
import { IndexTrial } from "./IndexTrial.tsx";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.proposals;

/** Indexes that the costliest statements ask for. They are looked for when that is asked, because each statement is planned. */
export function IndexProposals() {
  const [search, changeSearch] = useSearch();
  const [isAsked, setAsked] = useState(search["proposal"] !== undefined);
  const mayLook = useMay("statistics.index_proposals");
  const found = useOperation("statistics.index_proposals", {}, { isEnabled: mayLook && isAsked, staleAfter: Infinity });
  const open = found.data?.proposals.find(({ definition }) => definition === search["proposal"]);
  const close = () => changeSearch({ proposal: null });
  if (!mayLook) return null;
  return (
    <Card title={texts.title} isFlush>
      <p className="soft performance-none">{texts.text}</p>
      {isAsked
        ? (
          <QueryView
            query={found}
            loading={<Loading label={texts.looking} />}
            isEmpty={({ proposals }) => proposals.length === 0}
            empty={<p className="performance-none">{texts.none(formatNumber(found.data?.planned ?? 0))}</p>}
          >
            {({ proposals }) => (
              <DataTable
                label={texts.title}
                columns={columns}
                rows={proposals}
                keyOf={({ definition }) => definition}
                openKey={search["proposal"] ?? null}
                onOpen={({ definition }) => changeSearch({ proposal: definition }, false)}
              />
            )}
          </QueryView>
        )
        : (
          <p className="performance-none">
            <Button icon="search" onPress={() => setAsked(true)}>{texts.look}</Button>
          </p>
        )}
      {open && (
        <Dialog title={texts.one} isOpen size="side" onClose={close}>
          <section className="performance-part">
            <h3>{texts.statements(open.statements.length)}</h3>
            <CodeBlock label={texts.statement} code={open.text} />
            <p className="hint">{texts.cost(formatNumber(open.calls), formatMs(open.total_ms))}</p>
          </section>
          <IndexTrial
            schema={open.schema}
            table={open.table}
            columns={open.columns}
            statement={open.statements[0] ?? null}
            definition={open.definition}
            onClose={close}
          />
        </Dialog>
      )}
    </Card>
  );
}

const columns: readonly Column<IndexProposal>[] = [
  {
    id: "definition",
    title: texts.columns.index,
    cell: ({ definition }) => <code className="cut">{definition}</code>,
    width: "minmax(12rem, 3fr)",
  },
  {
    id: "statements",
    title: texts.columns.statements,
    cell: ({ statements }) => <span className="number">{formatNumber(statements.length)}</span>,
    width: "7rem",
    align: "end",
    isMinor: true,
  },
  {
    id: "time",
    title: texts.columns.time,
    cell: ({ total_ms }) => <span className="number">{formatMs(total_ms)}</span>,
    width: "7rem",
    align: "end",
  },
];
