import { useState } from "react";
import { Link, pathOf, useSearch } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, PageHeader } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { type Change, ChangeDialog } from "../../components/ChangeDialog.tsx";
import { EmptyState, ErrorState, Note, QueryView } from "../../components/states.tsx";
import type { PolicyInfo } from "../../generated/operations.ts";
import { PolicyForm } from "./PolicyForm.tsx";
import { Sample } from "./Sample.tsx";
import { TemplateForm } from "./TemplateForm.tsx";
import { policyTexts as texts } from "./texts.ts";

/** What waits for the SQL to be looked at. */
export interface Pending {
  title: string;
  name: string;
  changes: readonly Change[];
}

/** The policies of a table: list, changes, templates, a trial on its rows. */
export function TablePolicies({ schema, table }: { schema: string; table: string }) {
  const relation = useOperation("catalog.relation", { schema, name: table });
  const [search, changeSearch] = useSearch();
  const [form, setForm] = useState<PolicyInfo | "new" | null>(null);
  const [pending, setPending] = useState<Pending | null>(null);
  const mayChange = useMay("schema.apply");
  const hasTemplateForm = search["form"] === "template" && mayChange;
  const close = () => {
    setForm(null);
    changeSearch({ form: null });
  };
  const place = { schema, table };
  if (relation.error && relation.data === undefined) {
    return (
      <>
        <PageHeader title={`${schema}.${table}`}>
          <Link to="policies">{texts.all}</Link>
        </PageHeader>
        <ErrorState error={relation.error} onRetry={() => void relation.refetch()} />
      </>
    );
  }
  const isSecured = relation.data?.has_row_security ?? true;
  const secure = (enabled: boolean) =>
    setPending({
      title: enabled ? texts.enable : texts.disable,
      name: enabled ? texts.enableName(table) : texts.disableName(table),
      changes: [{ change: "set_row_security", ...place, enabled }],
    });
  return (
    <>
      <PageHeader
        title={`${schema}.${table}`}
        info={relation.data && (
          <Badge tone={isSecured ? "good" : "warn"} icon={isSecured ? "lock" : "alert"}>
            {texts.security}: {isSecured ? texts.on : texts.off}
          </Badge>
        )}
        actions={mayChange && relation.data && (
          <>
            {isSecured
              ? <Button onPress={() => secure(false)}>{texts.disable}</Button>
              : <Button variant="primary" onPress={() => secure(true)}>{texts.enable}</Button>}
            <Button icon="layers" onPress={() => changeSearch({ form: "template" }, false)}>{texts.template}</Button>
            <Button icon="plus" variant={isSecured ? "primary" : "plain"} onPress={() => setForm("new")}>
              {texts.create}
            </Button>
          </>
        )}
      >
        <Link to="policies" search={schema === "public" ? {} : { schema }}>{texts.all}</Link>
        <Link to={pathOf("tables", schema, table)}>{texts.rows}</Link>
      </PageHeader>
      <QueryView query={relation}>
        {({ policies }) => (
          <div className="policies-notes">
            {!isSecured && (
              <Note kind="warn">{texts.exposedTable} {policies.length > 0 && texts.policiesDoNothing}</Note>
            )}
            {isSecured && policies.length === 0 && <Note>{texts.nobody}</Note>}
            <Card title={texts.policies} isFlush>
              {policies.length === 0
                ? <EmptyState icon="policy" title={texts.noPolicies}>{texts.noPoliciesText}</EmptyState>
                : (
                  <ul className="policies-list">
                    {policies.map((policy) => (
                      <PolicyItem
                        key={policy.name}
                        policy={policy}
                        {...(mayChange
                          ? {
                            onEdit: () => setForm(policy),
                            onDrop: () =>
                              setPending({
                                title: texts.dropTitle,
                                name: texts.dropName(policy.name, table),
                                changes: [{ change: "drop_policy", ...place, name: policy.name }],
                              }),
                          }
                          : {})}
                      />
                    ))}
                  </ul>
                )}
            </Card>
            <Sample schema={schema} table={table} />
          </div>
        )}
      </QueryView>
      {hasTemplateForm && <TemplateForm {...place} onClose={close} onReady={setPending} />}
      {form !== null && (
        <PolicyForm
          {...place}
          policy={form === "new" ? null : form}
          columns={relation.data?.columns.map((column) => column.name) ?? []}
          onClose={close}
          onReady={setPending}
        />
      )}
      {pending && (
        <ChangeDialog
          {...pending}
          isOverForm={form !== null || hasTemplateForm}
          onClose={() => setPending(null)}
          onDone={() => {
            setPending(null);
            close();
          }}
        />
      )}
    </>
  );
}

function PolicyItem({ policy, onEdit, onDrop }: { policy: PolicyInfo; onEdit?: () => void; onDrop?: () => void }) {
  return (
    <li>
      <div className="policies-head">
        <strong>{policy.name}</strong>
        <Badge tone="accent">{policy.command}</Badge>
        {!policy.is_permissive && <Badge tone="warn">{texts.restrictive}</Badge>}
        <span className="soft">{texts.toRoles(policy.roles.join(", "))}</span>
        <span className="policies-actions">
          {onEdit && <IconButton icon="edit" size="small" label={texts.edit(policy.name)} onPress={onEdit} />}
          {onDrop && <IconButton icon="trash" size="small" label={texts.drop(policy.name)} onPress={onDrop} />}
        </span>
      </div>
      <dl className="policies-tests">
        {policy.using !== null && (
          <div>
            <dt className="soft">
              <code>using</code>
            </dt>
            <dd className="code">{policy.using}</dd>
          </div>
        )}
        {policy.check !== null && (
          <div>
            <dt className="soft">
              <code>with check</code>
            </dt>
            <dd className="code">{policy.check}</dd>
          </div>
        )}
      </dl>
    </li>
  );
}
