import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Card, Figure, Toolbar } from "../../components/basics.tsx";
import { Checkbox } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { formatNumber } from "../../format.ts";
import type { AdvisorFinding, AdvisorFindings, FindingCategory } from "../../generated/operations.ts";
import { FindingPanel } from "./FindingPanel.tsx";
import { Findings } from "./Findings.tsx";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.advisors;
const levels = ["ERROR", "WARN", "INFO"] as const;
const tones = { ERROR: "bad", WARN: "warn", INFO: "neutral" } as const;
const categories = ["all", "SECURITY", "PERFORMANCE"] as const;

/** Findings of the advisors, the gravest first. */
export default function Advisors() {
  const [search, changeSearch] = useSearch();
  const category = categories.find((name) => name === search["kind"]) ?? "all";
  const hasDismissed = search["dismissed"] === "1";
  const findings = useOperation("advisors.list", {
    level: "INFO",
    category: category === "all" ? null : category as FindingCategory,
    include_dismissed: hasDismissed,
  }, { keepsPrevious: true });
  return (
    <QueryView query={findings}>
      {(data) => (
        <>
          <Counts data={data} />
          <Card isFlush>
            <Toolbar label={performanceTexts.tabs.advisors}>
              <Select
                label={texts.category}
                hidesLabel
                choices={categories.map((id) => ({ id, label: texts.categories[id] }))}
                value={category}
                onChange={(id) => changeSearch({ kind: id === "all" ? null : id, finding: null })}
              />
              <Checkbox
                isSelected={hasDismissed}
                onChange={(isOn) => changeSearch({ dismissed: isOn ? "1" : null, finding: null })}
              >
                {texts.dismissedToo}
              </Checkbox>
            </Toolbar>
            {data.findings.length === 0
              ? (
                <EmptyState icon="check" title={category === "all" ? texts.none : texts.noneFiltered}>
                  {category === "all" && texts.noneHint}
                </EmptyState>
              )
              : <Findings label={texts.all} findings={data.findings} />}
            {data.omitted > 0 && <Note>{texts.omitted(formatNumber(data.omitted))}</Note>}
          </Card>
          <OpenFinding findings={data.findings} />
        </>
      )}
    </QueryView>
  );
}

/** The panel of the finding in the address. */
export function OpenFinding({ findings }: { findings: readonly AdvisorFinding[] }) {
  const [search, changeSearch] = useSearch();
  const finding = findings.find(({ cache_key }) => cache_key === search["finding"]);
  if (!finding) return null;
  return <FindingPanel key={finding.cache_key} finding={finding} onClose={() => changeSearch({ finding: null })} />;
}

function Counts({ data }: { data: AdvisorFindings }) {
  const countOf = (level: string) =>
    data.findings.filter((finding) => finding.level === level && !finding.is_dismissed).length;
  return (
    <div className="figures">
      {levels.map((level) => (
        <Figure
          key={level}
          label={texts.figures[level]}
          value={formatNumber(countOf(level))}
          tone={countOf(level) > 0 ? tones[level] : "neutral"}
        />
      ))}
      <Figure label={texts.figures.dismissed} value={formatNumber(data.dismissed)} />
    </div>
  );
}
