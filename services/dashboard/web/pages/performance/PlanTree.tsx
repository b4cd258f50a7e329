import type { PlanNode } from "../../generated/operations.ts";
import { formatNumber } from "../../format.ts";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.statements;

/** Details that say what a step does; the others are the same for nearly all steps. */
const telling = /Cond|Filter|Key|Join Type|Strategy|Subplan|CTE|Function|Workers/;

/** The steps of an estimated plan, with the share of the cost that is of each step alone. */
export function PlanTree({ label, node }: { label: string; node: PlanNode }) {
  return (
    <ul className="performance-plan" aria-label={label}>
      <Step node={node} whole={Math.max(node.total_cost, 0.01)} />
    </ul>
  );
}

function Step({ node, whole }: { node: PlanNode; whole: number }) {
  const own = Math.max(0, node.total_cost - node.children.reduce((sum, child) => sum + child.total_cost, 0));
  const details = Object.entries(node.details).filter(([name]) => telling.test(name));
  return (
    <li>
      <div className="performance-step">
        <span>
          <strong>{node.type}</strong> {node.relation && <code>{node.relation}</code>}{" "}
          {node.index && <code className="soft">{node.index}</code>}
        </span>
        <span className="performance-track" aria-hidden="true">
          <span style={{ width: `${Math.min(100, own / whole * 100)}%` }} />
        </span>
        <span className="hint number">
          {texts.cost(formatNumber(Math.round(node.total_cost)))} · {texts.planRows(formatNumber(node.planned_rows))}
        </span>
        {details.map(([name, value]) => (
          <span key={name} className="hint performance-detail">
            {name}: <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>
          </span>
        ))}
      </div>
      {node.children.length > 0 && (
        <ul>{node.children.map((child, index) => <Step key={index} node={child} whole={whole} />)}</ul>
      )}
    </li>
  );
}
