import { lazy, Suspense } from "react";
import { useSearch } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Loading, QueryView } from "../../components/states.tsx";
import type { EmailTemplateDescription, SettingsList } from "../../generated/operations.ts";
import { smtpGroup } from "./groups.ts";
import { SettingGroups } from "./SettingRows.tsx";
import { authTexts } from "./texts.ts";

const texts = authTexts.emails;
const SettingsForm = lazy(() => import("./SettingsForm.tsx"));
const EmailTemplate = lazy(() => import("./EmailTemplate.tsx"));

/** The emails of auth, and the server that sends them. */
export function Emails({ data }: { data: SettingsList }) {
  const templates = useOperation("mail.templates", {});
  const [search, changeSearch] = useSearch();
  const mayChange = useMay("settings.change");
  return (
    <QueryView query={templates}>
      {(rows) => {
        const open = rows.find(({ kind }) => kind === search["email"]);
        return (
          <>
            <Card title={texts.list} isFlush>
              <DataTable
                label={texts.list}
                columns={columns}
                rows={rows}
                keyOf={({ kind }) => kind}
                openKey={open?.kind ?? null}
                onOpen={({ kind }) => changeSearch({ email: kind }, false)}
              />
            </Card>
            {mayChange && (
              <div>
                <Button icon="edit" onPress={() => changeSearch({ form: "smtp" })}>{texts.setUp}</Button>
              </div>
            )}
            <SettingGroups data={data} groups={[smtpGroup]} />
            {search["form"] === "smtp" && mayChange && (
              <Suspense>
                <SettingsForm
                  title={authTexts.groupForm(authTexts.groups["smtp"]!)}
                  data={data}
                  group={smtpGroup}
                  test={{ kind: "email" }}
                  onClose={() => changeSearch({ form: null })}
                />
              </Suspense>
            )}
            {open && (
              <Suspense fallback={<Loading />}>
                <EmailTemplate
                  key={open.kind}
                  template={open}
                  settings={data}
                  onClose={() => changeSearch({ email: null })}
                />
              </Suspense>
            )}
          </>
        );
      }}
    </QueryView>
  );
}

/** Return what an email is called. */
export function emailName(kind: string): string {
  return texts.kinds[kind.replace(/_notification$/, "")] ?? kind;
}

const columns: readonly Column<EmailTemplateDescription>[] = [
  {
    id: "kind",
    title: texts.kind,
    cell: ({ kind, is_sent }) => (
      <span className="cut">
        {emailName(kind)} {!is_sent && <span className="faint">{texts.off}</span>}
      </span>
    ),
    width: "minmax(10rem, 1fr)",
  },
  {
    id: "subject",
    title: texts.subject,
    cell: ({ subject }) => <span className="cut">{subject}</span>,
    width: "minmax(8rem, 1.5fr)",
    isMinor: true,
  },
  {
    id: "source",
    title: texts.source,
    cell: ({ source }) =>
      source === "default"
        ? <span className="faint">{texts.sources["default"]}</span>
        : <Badge tone="accent">{texts.sources[source] ?? source}</Badge>,
    width: "7rem",
  },
];
