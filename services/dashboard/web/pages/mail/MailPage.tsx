import { useState } from "react";
import { Link, pathOf, useGo, useSearch, useSubpath } from "../../address.tsx";
import { useDelayed } from "../../api/delayed.ts";
import { useChange, useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, PageHeader, Pagination, Toolbar } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { confirm } from "../../components/Dialog.tsx";
import { SearchField } from "../../components/Field.tsx";
import { EmptyState, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import type { CaughtEmailSummary } from "../../generated/operations.ts";
import { CaughtEmail } from "./CaughtEmail.tsx";
import { mailTexts as texts } from "./texts.ts";
import "./mail.css";

const pageRows = 100;
const refreshMs = 5_000;

/** The mail catcher of development: emails as they arrive, one of them beside the list. */
export default function MailPage() {
  const [openId] = useSubpath();
  const [search, changeSearch] = useSearch();
  const go = useGo();
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const mayDelete = useMay("mail.delete_caught");
  const remove = useChange("mail.delete_caught", {
    invalidates: ["mail.caught"],
    doneText: texts.deleted,
    onDone: () => setSelection(new Set()),
  });
  const text = search["find"] ?? "";
  const start = Math.max(0, Number.parseInt(search["start"] ?? "0", 10) || 0);
  const query = useDelayed(text).trim();
  const emails = useOperation("mail.caught", { query, start, limit: pageRows }, {
    refreshEvery: refreshMs,
    keepsPrevious: true,
  });
  const rows = emails.data?.emails ?? [];
  const matches = emails.data?.matches ?? 0;
  const onDeleteAll = async () => {
    const question = { title: texts.deleteAllTitle, body: texts.deleteAllText, action: texts.deleteAll };
    if (await confirm(question)) remove.mutate({ all: true });
  };
  const onDeleteSelected = async () => {
    const names = rows.filter(({ id }) => selection.has(id)).map(nameOf);
    const question = { title: texts.deleteTitle, body: texts.deleteText, names, action: texts.deleteSelected };
    if (await confirm(question)) remove.mutate({ ids: [...selection] });
  };
  const closed = Object.fromEntries(Object.entries(search).filter(([name]) => name !== "tab"));
  return (
    <>
      <PageHeader
        title={texts.title}
        actions={mayDelete && (
          <Button icon="trash" isDisabled={matches === 0} onPress={() => void onDeleteAll()}>{texts.deleteAll}</Button>
        )}
      >
        {texts.lead} <Link to="auth/emails">{texts.settings}</Link>
      </PageHeader>
      <Card isFlush>
        <Toolbar label={texts.filters}>
          <SearchField
            label={texts.searchShort}
            placeholder={texts.search}
            value={text}
            onChange={(find) => changeSearch({ find, start: null })}
          />
          {selection.size > 0
            ? (
              <>
                <span className="soft number" role="status">{texts.selected(selection.size)}</span>
                <Button size="small" variant="danger" icon="trash" onPress={() => void onDeleteSelected()}>
                  {texts.deleteSelected}
                </Button>
              </>
            )
            : emails.data && <span className="soft number" role="status">{texts.matches(matches)}</span>}
          {matches > pageRows && (
            <Pagination
              hasPrevious={start > 0}
              hasNext={start + pageRows < matches}
              onPrevious={() => changeSearch({ start: start > pageRows ? String(start - pageRows) : null }, false)}
              onNext={() => changeSearch({ start: String(start + pageRows) }, false)}
            />
          )}
        </Toolbar>
        <QueryView
          query={emails}
          isEmpty={(page) => page.emails.length === 0}
          empty={query
            ? <EmptyState icon="search" title={texts.noMatch} />
            : <EmptyState icon="mail" title={texts.none}>{texts.noneText}</EmptyState>}
        >
          {(page) => (
            <DataTable
              label={texts.title}
              columns={columns}
              rows={page.emails}
              keyOf={({ id }) => id}
              openKey={openId ?? null}
              onOpen={({ id }) => go(pathOf("mail", id), search)}
              {...(mayDelete ? { selection, onSelect: setSelection } : {})}
            />
          )}
        </QueryView>
      </Card>
      {openId && <CaughtEmail key={openId} id={openId} mayDelete={mayDelete} onClose={() => go("mail", closed)} />}
    </>
  );
}

function nameOf({ subject, sent_to }: CaughtEmailSummary): string {
  return `${subject || texts.withoutSubject} (${sent_to.join(", ")})`;
}

const columns: readonly Column<CaughtEmailSummary>[] = [
  {
    id: "subject",
    title: texts.subject,
    cell: ({ subject, snippet, is_read }) => (
      <span className="mail-subject">
        <span className={`cut${is_read ? "" : " mail-new"}`}>{subject || texts.withoutSubject}</span>
        {!is_read && <Badge tone="accent">{texts.unread}</Badge>}
        <span className="cut soft">{snippet}</span>
      </span>
    ),
    width: "minmax(10rem, 3fr)",
  },
  {
    id: "to",
    title: texts.to,
    cell: ({ sent_to }) => <span className="cut">{sent_to.join(", ")}</span>,
    width: "minmax(8rem, 1fr)",
  },
  {
    id: "received",
    title: texts.received,
    cell: ({ received_at }) => <Time value={received_at} />,
    width: "8rem",
    isMinor: true,
  },
];
