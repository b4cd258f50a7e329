import { useState } from "react";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock } from "../../components/basics.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import type { CommandOnRow } from "../../generated/operations.ts";
import { policyTexts as texts } from "./texts.ts";

const anon = "anon";
const commands = ["select", "update", "delete"] as const;

/** Try a caller on rows of the table: which it sees and may change, and why. */
export function Sample({ schema, table }: { schema: string; table: string }) {
  const [caller, setCaller] = useState(anon);
  const users = useOperation("users.search", { limit: 20 });
  const sample = useOperation("policies.try", {
    schema,
    table,
    caller: caller === anon ? { role: "anon" } : { role: "authenticated", user_id: caller },
    limit: 20,
  }, { keepsPrevious: true });
  const choices = [
    { id: anon, label: texts.anon },
    ...(users.data?.rows ?? []).map((user) => ({ id: user.id, label: user.email ?? user.phone ?? user.id })),
  ];
  return (
    <Card
      title={texts.try}
      actions={
        <Select label={texts.caller} hidesLabel size="small" value={caller} onChange={setCaller} choices={choices} />
      }
    >
      <p className="soft policies-lead">{texts.tryText}</p>
      <QueryView query={sample}>
        {({ rows, grants }) => {
          const missing = grants.find((grant) => !grant.is_granted);
          return (
            <div className="policies-notes">
              {missing && (
                <>
                  <Note kind="warn">{texts.because(missing.privilege, missing.on)}</Note>
                  <CodeBlock label={texts.fix} code={missing.fix} />
                </>
              )}
              {rows.length === 0
                ? <EmptyState icon="table" title={texts.noSample} />
                : (
                  <div className="policies-scroll" tabIndex={0} role="region" aria-label={texts.try}>
                    <table className="policies-matrix">
                      <thead>
                        <tr>
                          <th scope="col">{texts.row}</th>
                          {commands.map((command) => <th key={command} scope="col">{texts[command]}</th>)}
                        </tr>
                      </thead>
                      <tbody>
                        {rows.map((row, index) => (
                          <tr key={index}>
                            <th scope="row" className="code">{keyText(row.key)}</th>
                            {commands.map((command) => (
                              <td key={command}>
                                <Verdict verdict={row[command]} />
                              </td>
                            ))}
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                )}
            </div>
          );
        }}
      </QueryView>
    </Card>
  );
}

function Verdict({ verdict }: { verdict: CommandOnRow }) {
  return (
    <span className="policies-verdict">
      <Badge tone={verdict.is_allowed ? "good" : "neutral"} icon={verdict.is_allowed ? "check" : "eyeOff"}>
        {verdict.is_allowed ? texts.yes : texts.no}
      </Badge>{" "}
      <span className="faint">{verdict.policies.length > 0 ? verdict.policies.join(", ") : verdict.why}</span>
    </span>
  );
}

function keyText(key: { readonly [name: string]: unknown }): string {
  const text = Object.entries(key).map(([name, value]) =>
    `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`
  ).join(", ");
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
