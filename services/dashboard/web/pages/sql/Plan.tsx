import { Badge } from "../../components/basics.tsx";
import type { ExplainedStatement, PlanNode } from "../../generated/operations.ts";
import { formatMs, formatNumber } from "../../format.ts";
import { sqlTexts as texts } from "./texts.ts";

const farOff = 10;

/** A plan as a tree: what each step costs, how many rows it gave, and how far off the estimate was. */
export function Plan({ explained }: { explained: ExplainedStatement }) {
  const whole = explained.execution_ms ?? 0;
  return (
    <div className="sql-plan">
      <p className="soft number">
        {explained.planning_ms !== null && `${texts.planning} ${formatMs(explained.planning_ms)}`}
        {explained.execution_ms !== null && ` · ${texts.execution} ${formatMs(explained.execution_ms)}`}
      </p>
      <ul className="sql-steps" aria-label={texts.plan}>
        <Step node={explained.plan} whole={whole} mostCost={explained.plan.total_cost} />
      </ul>
    </div>
  );
}

function Step({ node, whole, mostCost }: { node: PlanNode; whole: number; mostCost: number }) {
  const ownCost = Math.max(0, node.total_cost - node.children.reduce((sum, child) => sum + child.total_cost, 0));
  const share = node.self_ms !== null && whole > 0 ? node.self_ms / whole : mostCost > 0 ? ownCost / mostCost : 0;
  return (
    <li>
      <details className="sql-step">
        <summary>
          <span className="sql-step-name">
            <strong>{node.type}</strong> {node.relation && <code>{node.relation}</code>}
            {node.index && <code className="soft">{node.index}</code>}
          </span>
          <span className="sql-bar" aria-hidden="true">
            <span style={{ width: `${Math.min(100, share * 100)}%` }} />
          </span>
          <span className="number">
            {node.self_ms !== null
              ? formatMs(node.self_ms)
              : `${texts.cost} ${formatNumber(Math.round(node.total_cost))}`}
          </span>
          <Estimate node={node} />
        </summary>
        <dl className="sql-details">
          {Object.entries({ [texts.cost]: `${node.startup_cost} … ${node.total_cost}`, ...node.details }).map((
            [name, value],
          ) => (
            <div key={name}>
              <dt className="soft">{name}</dt>
              <dd className="code">{typeof value === "string" ? value : JSON.stringify(value)}</dd>
            </div>
          ))}
        </dl>
      </details>
      {node.children.length > 0 && (
        <ul>
          {node.children.map((child, index) => <Step key={index} node={child} whole={whole} mostCost={mostCost} />)}
        </ul>
      )}
    </li>
  );
}

function Estimate({ node }: { node: PlanNode }) {
  if (node.actual_rows === null) {
    return <span className="soft number">{texts.estimated(formatNumber(node.planned_rows))}</span>;
  }
  if (node.loops === 0) return <span className="faint">{texts.neverRun}</span>;
  const actual = Math.max(1, node.actual_rows);
  const planned = Math.max(1, node.planned_rows);
  const times = actual > planned ? actual / planned : planned / actual;
  const text = formatNumber(Math.round(times * 10) / 10);
  return (
    <span className="number">
      {texts.rows(formatNumber(node.actual_rows))}{" "}
      {times < 1.5 ? <span className="faint">{texts.exact}</span> : (
        <Badge tone={times >= farOff ? "warn" : "neutral"}>
          {actual > planned ? texts.more2(text) : texts.fewer(text)}
        </Badge>
      )}
    </span>
  );
}
