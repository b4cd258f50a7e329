import { useSearch } from "../../address.tsx";
import { Badge } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { formatNumber } from "../../format.ts";
import type { AdvisorFinding, AdvisorLevel } from "../../generated/operations.ts";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.advisors;
const tones = { ERROR: "bad", WARN: "warn", INFO: "neutral" } as const;

/** Kinds of which all findings are shown at once; longer ones are folded, unless one of them is open. */
const mostUnfolded = 5;

/** Findings by their kind, the gravest first; one opens beside them. */
export function Findings({ label, findings }: { label: string; findings: readonly AdvisorFinding[] }) {
  const [search, changeSearch] = useSearch();
  const kinds = Map.groupBy(findings, ({ name }) => name);
  const openKey = search["finding"] ?? null;
  return (
    <section aria-label={label}>
      {[...kinds].map(([name, rows]) => (
        <details
          key={name}
          className="performance-kind"
          open={kinds.size === 1 || rows.length <= mostUnfolded || rows.some((row) => row.cache_key === openKey)}
        >
          <summary>
            <FindingLevel level={rows[0]!.level} />
            <strong>{rows[0]!.title}</strong>
            <span className="soft number">{formatNumber(rows.length)}</span>
            <span className="soft performance-category">{texts.categories[rows[0]!.category]}</span>
          </summary>
          <DataTable
            label={rows[0]!.title}
            columns={columns}
            rows={rows}
            keyOf={({ cache_key }) => cache_key}
            openKey={openKey}
            onOpen={({ cache_key }) => changeSearch({ finding: cache_key }, false)}
          />
        </details>
      ))}
    </section>
  );
}

/** The level of a finding. */
export function FindingLevel({ level }: { level: AdvisorLevel }) {
  return <Badge tone={tones[level]}>{texts.levels[level]}</Badge>;
}

/** Return what a finding is about: `public.notes`, `public.notes (body)`, or nothing. */
export function subjectOf({ schema, object, part }: AdvisorFinding): string {
  const name = [schema, object].filter((word) => word !== null).join(".");
  return part ? `${name} (${part})` : name;
}

const columns: readonly Column<AdvisorFinding>[] = [
  {
    id: "of",
    title: texts.columns.of,
    cell: (finding) => (
      <span className="cut">
        <code>{subjectOf(finding)}</code> {finding.is_dismissed && <Badge>{texts.dismissed}</Badge>}
      </span>
    ),
    width: "minmax(8rem, 1fr)",
  },
  {
    id: "title",
    title: texts.columns.title,
    cell: ({ detail, fix }) => (
      <span className="cut" title={detail}>
        {fix?.startsWith("create index") ? <code>{fix}</code> : detail}
      </span>
    ),
    width: "minmax(12rem, 2fr)",
    isMinor: true,
  },
];
