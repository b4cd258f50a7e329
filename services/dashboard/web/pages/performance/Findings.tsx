import { useSearch } from "../../address.tsx";
import { Badge } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import type { AdvisorFinding, AdvisorLevel } from "../../generated/operations.ts";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.advisors;
const tones = { ERROR: "bad", WARN: "warn", INFO: "neutral" } as const;

/** A table of findings; one opens beside it. */
export function Findings({ label, findings }: { label: string; findings: readonly AdvisorFinding[] }) {
  const [search, changeSearch] = useSearch();
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={findings}
      keyOf={({ cache_key }) => cache_key}
      openKey={search["finding"] ?? null}
      onOpen={({ cache_key }) => changeSearch({ finding: cache_key }, false)}
    />
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
    id: "level",
    title: texts.columns.level,
    cell: ({ level }) => <FindingLevel level={level} />,
    width: "5.5rem",
  },
  {
    id: "title",
    title: texts.columns.title,
    cell: ({ title, detail, is_dismissed }) => (
      <span className="cut" title={detail}>
        {title} {is_dismissed && <Badge>{texts.dismissed}</Badge>}
      </span>
    ),
    width: "minmax(12rem, 2fr)",
  },
  {
    id: "of",
    title: texts.columns.of,
    cell: (finding) => <code className="cut">{subjectOf(finding)}</code>,
    width: "minmax(8rem, 1.5fr)",
    isMinor: true,
  },
  {
    id: "category",
    title: texts.columns.category,
    cell: ({ category }) => <span className="soft">{texts.categories[category]}</span>,
    width: "8rem",
    isMinor: true,
  },
];
