import { lazy, Suspense } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, type Tone } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import type { AdvisorFinding, AdvisorLevel } from "../../generated/operations.ts";
import { withPageStyles } from "../../shell/pageStyles.ts";
import { homeTexts } from "./texts.ts";

const texts = homeTexts.advice;
const tones: { [level in AdvisorLevel]: Tone } = { ERROR: "bad", WARN: "warn", INFO: "neutral" };

/** The panel of the page Performance: the reason, the fix as a migration, dismissal. */
const FindingPanel = lazy(async () => {
  const panel = await withPageStyles(import("../performance/FindingPanel.tsx"));
  return { default: panel.FindingPanel };
});

/** What the advisors find in the schema and the settings; each finding opens with its reason and its fix. */
export function Advice() {
  const findings = useOperation("advisors.list", {}, { staleAfter: 60_000 });
  const [search, changeSearch] = useSearch();
  return (
    <Card title={texts.title} isFlush>
      <QueryView
        query={findings}
        isEmpty={(data) => data.findings.length === 0}
        empty={<EmptyState icon="check" title={texts.none} />}
      >
        {(data) => {
          const open = data.findings.find(({ cache_key }) => cache_key === search["finding"]);
          return (
            <>
              <DataTable
                label={texts.title}
                columns={columns}
                rows={data.findings}
                keyOf={({ cache_key }) => cache_key}
                openKey={search["finding"] ?? null}
                onOpen={({ cache_key }) => changeSearch({ finding: cache_key })}
              />
              {open && (
                <Suspense fallback={null}>
                  <FindingPanel key={open.cache_key} finding={open} onClose={() => changeSearch({ finding: null })} />
                </Suspense>
              )}
            </>
          );
        }}
      </QueryView>
    </Card>
  );
}

const columns: readonly Column<AdvisorFinding>[] = [
  {
    id: "level",
    title: texts.level,
    cell: ({ level }) => <Badge tone={tones[level]}>{texts.levels[level]}</Badge>,
    width: "7rem",
  },
  { id: "title", title: texts.finding, cell: ({ title }) => <span className="cut">{title}</span> },
  {
    id: "detail",
    title: texts.detail,
    cell: ({ detail }) => <span className="cut soft" title={detail}>{detail}</span>,
    width: "minmax(8rem, 2.5fr)",
    isMinor: true,
  },
];
