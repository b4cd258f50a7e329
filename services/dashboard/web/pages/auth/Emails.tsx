import { lazy, Suspense } from "react";
import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { Badge, Card } from "../../components/basics.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { Loading, QueryView } from "../../components/states.tsx";
import type { EmailTemplateDescription, SettingsList } from "../../generated/operations.ts";
import { smtpGroup } from "./groups.ts";
import { SettingGroups } from "./SettingRows.tsx";
import { authTexts } from "./texts.ts";

const texts = authTexts.emails;
const EmailTemplate = lazy(() => import("./EmailTemplate.tsx"));

/** The emails of auth, and the server that sends them. */
export function Emails({ data }: { data: SettingsList }) {
  const templates = useOperation("mail.templates", {});
  const [search, changeSearch] = useSearch();
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
            <SettingGroups data={data} groups={[smtpGroup]} />
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
