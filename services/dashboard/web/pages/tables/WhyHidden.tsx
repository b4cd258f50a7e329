import { useState } from "react";
import { Link, pathOf } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Badge } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Icon } from "../../components/Icon.tsx";
import { Select } from "../../components/Select.tsx";
import { Note, QueryView } from "../../components/states.tsx";
import type {
  CallerDescriptionInput,
  DescribedTable,
  JsonValue,
  PolicyVerdict,
  RowExplanation,
  ViewAsInput,
} from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { tablesTexts as texts } from "./texts.ts";
import { ViewAs } from "./ViewAs.tsx";
import { useCallerName } from "./viewState.ts";

type Key = { [column: string]: JsonValue };
type Command = "select" | "update" | "delete";

/** Explains for a caller which rows it sees and why: of one row, or of the first rows of the table. */
export function WhyHidden({ table, rowKey, caller, onClose }: {
  table: DescribedTable;
  rowKey: Key | null;
  caller: ViewAsInput | null;
  onClose: () => void;
}) {
  const [chosen, setChosen] = useState<ViewAsInput>(caller ?? { role: "anon" });
  const name = useCallerName(chosen);
  const [key, setKey] = useState<Key | null>(rowKey);
  return (
    <Dialog
      title={key === null ? texts.why.missing(name) : texts.why.title}
      isOpen
      size="side"
      onClose={onClose}
      footer={
        <>
          {key !== null && rowKey === null && <Button onPress={() => setKey(null)}>{texts.why.back}</Button>}
          <Button onPress={onClose}>{shellTexts.actions.close}</Button>
        </>
      }
    >
      <div className="tables-why-head">
        <ViewAs caller={chosen} onChange={(next) => setChosen(next ?? { role: "anon" })} hasAdministrator={false} />
      </div>
      {table.key.length === 0
        ? <Note>{texts.why.noKey}</Note>
        : key === null
        ? <Samples table={table} caller={chosen} onChoose={setKey} />
        : <Explanation table={table} rowKey={key} caller={chosen} />}
      <p>
        <Link to={pathOf("policies", table.schema, table.name)}>{texts.view.policies}</Link>
      </p>
    </Dialog>
  );
}

function describe(caller: ViewAsInput): CallerDescriptionInput {
  return {
    ...(caller.user_id ? { user_id: caller.user_id } : { role: caller.role ?? "anon" }),
    ...(caller.claims ? { claims: caller.claims } : {}),
  };
}

function Samples({ table, caller, onChoose }: {
  table: DescribedTable;
  caller: ViewAsInput;
  onChoose: (key: Key) => void;
}) {
  const samples = useOperation("policies.try", {
    schema: table.schema,
    table: table.name,
    caller: describe(caller),
    limit: 50,
  });
  return (
    <QueryView
      query={samples}
      isEmpty={({ rows }) => rows.length === 0}
      empty={<p className="soft">{texts.why.none}</p>}
    >
      {({ rows }) => (
        <>
          <h3>{texts.why.samples}</h3>
          <ul className="tables-samples">
            {rows.map((row) => (
              <li key={JSON.stringify(row.key)}>
                <button type="button" className="tables-sample" onClick={() => onChoose(row.key)}>
                  <Verdict isGood={row.select.is_allowed}>
                    {row.select.is_allowed ? texts.why.sees : texts.why.hidden}
                  </Verdict>
                  <code className="cut">{Object.values(row.key).join(", ")}</code>
                  <span className="soft">{row.select.why}</span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </QueryView>
  );
}

function Explanation({ table, rowKey, caller }: { table: DescribedTable; rowKey: Key; caller: ViewAsInput }) {
  const [command, setCommand] = useState<Command>("select");
  const explanation = useOperation("policies.explain_row", {
    schema: table.schema,
    table: table.name,
    key: rowKey,
    caller: describe(caller),
    command,
  });
  return (
    <>
      <div className="tables-why-head">
        <code className="cut">{Object.entries(rowKey).map(([name, value]) => `${name} = ${value}`).join(", ")}</code>
        <Select
          label={texts.why.command}
          size="small"
          hidesLabel
          choices={(["select", "update", "delete"] as const).map((id) => ({ id, label: texts.why.commands[id] }))}
          value={command}
          onChange={setCommand}
        />
      </div>
      <QueryView query={explanation}>{(result) => <Reasons result={result} table={table} />}</QueryView>
    </>
  );
}

function Reasons({ result, table }: { result: RowExplanation; table: DescribedTable }) {
  const mayChange = useMay("schema.apply");
  const security = result.row_security;
  const permissive = result.policies.filter((policy) => policy.is_permissive);
  const restrictive = result.policies.filter((policy) => !policy.is_permissive);
  return (
    <div className="tables-why">
      <Note kind={result.is_allowed ? "good" : "warn"}>
        <p className="tables-conclusion">{result.conclusion}</p>
        {result.advice && <p>{result.advice}</p>}
      </Note>
      <h3>{texts.why.grants}</h3>
      <ul className="tables-reasons">
        {result.grants.map((grant) => (
          <li key={grant.privilege + grant.on}>
            <Verdict isGood={grant.is_granted}>
              {grant.is_granted ? texts.why.granted : texts.why.notGranted}
            </Verdict>
            <span>{texts.why.grantOn(grant.privilege, grant.on)}</span>
            {!grant.is_granted && <code className="tables-expression">{grant.fix}</code>}
          </li>
        ))}
      </ul>
      <h3>{texts.why.rowSecurity}</h3>
      <p>{security.applies ? texts.why.applies : security.reason}</p>
      {security.applies && (
        <>
          <h3>{texts.why.policies}</h3>
          {result.policies.length === 0 && (
            <>
              <p>{texts.why.noPolicies}</p>
              {mayChange && (
                <p>
                  <Link to={pathOf("policies", table.schema, table.name)} search={{ form: "template" }}>
                    {texts.why.fromTemplate}
                  </Link>
                </p>
              )}
            </>
          )}
          <Policies title={texts.why.permissive} policies={permissive} />
          <Policies title={texts.why.restrictive} policies={restrictive} />
        </>
      )}
      {result.below.length > 0 && (
        <>
          <h3>{texts.why.below}</h3>
          <ul className="tables-reasons">
            {result.below.map((below) => (
              <li key={`${below.schema}.${below.table}`}>
                <code>{below.schema}.{below.table}</code>
                <span>{texts.why.readAs(below.read_as)}</span>
                <span className="soft">
                  {below.row_security.applies ? texts.why.applies : below.row_security.reason}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function Policies({ title, policies }: { title: string; policies: readonly PolicyVerdict[] }) {
  if (policies.length === 0) return null;
  return (
    <>
      <p className="hint">{title}</p>
      <ul className="tables-reasons">
        {policies.map((policy) => (
          <li key={policy.name + policy.for_command + policy.side}>
            {policy.holds === null
              ? <Badge tone="warn" icon="info">{texts.why.unknown}</Badge>
              : <Verdict isGood={policy.holds}>{policy.holds ? texts.why.holds : texts.why.fails}</Verdict>}
            <b>{policy.name}</b>
            <span className="soft">{texts.why.policyFor(policy.command, policy.roles.join(", "))}</span>
            <code className="tables-expression">{policy.expression ?? texts.why.noExpression}</code>
            {(policy.error ?? policy.skipped) && <span className="soft">{policy.error ?? policy.skipped}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}

function Verdict({ isGood, children }: { isGood: boolean; children: string }) {
  return (
    <span className={`badge badge-${isGood ? "good" : "bad"}`}>
      <Icon name={isGood ? "check" : "close"} size={12} />
      {children}
    </span>
  );
}
