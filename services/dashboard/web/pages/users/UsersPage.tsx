import { useState } from "react";
import { pathOf, useGo, useSearch, useSubpath } from "../../address.tsx";
import { useDelayed } from "../../api/delayed.ts";
import { useMay } from "../../api/hooks.ts";
import { Card, PageHeader, Toolbar } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { SearchField } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, ErrorNote, ErrorState, Loading } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatNumber } from "../../format.ts";
import type { ProjectUserSummary } from "../../generated/operations.ts";
import { useCommands } from "../../shell/commands.ts";
import { CreateUser } from "./CreateUser.tsx";
import { InviteUser } from "./InviteUser.tsx";
import { orders, queryOf, states, useUserPages } from "./list.ts";
import { nameOf, UserMarks } from "./names.tsx";
import { usersTexts as texts } from "./texts.ts";
import { UserDetail } from "./UserDetail.tsx";
import "./users.css";

const stateChoices = states.map((id) => ({ id, label: texts.states[id] }));
const orderChoices = orders.map((id) => ({ id, label: texts[id] }));

/** The users of the project: searched, created, invited; one of them beside the list. */
export default function UsersPage() {
  const [openId] = useSubpath();
  const [search, changeSearch] = useSearch();
  const go = useGo();
  const [adding, setAdding] = useState<"create" | "invite" | null>(null);
  const mayCreate = useMay("users.create");
  const text = search["find"] ?? "";
  const state = states.find((id) => id === search["state"]) ?? "any";
  const order = orders.find((id) => id === search["order"]) ?? "newest";
  const open = (id: string) => go(pathOf("users", id), search);
  const stop = () => setAdding(null);
  useCommands(mayCreate ? [{ id: "users.create", label: texts.create.title, run: () => setAdding("create") }] : []);
  return (
    <>
      <PageHeader
        title={texts.title}
        actions={mayCreate && (
          <>
            <Button icon="mail" onPress={() => setAdding("invite")}>{texts.invite.title}</Button>
            <Button icon="plus" variant="primary" onPress={() => setAdding("create")}>{texts.create.title}</Button>
          </>
        )}
      />
      <UserList
        text={text}
        state={state}
        order={order}
        openId={openId ?? null}
        onOpen={open}
        onChange={changeSearch}
      />
      {openId && <UserDetail key={openId} id={openId} onClose={() => go("users", withoutTab(search))} />}
      {adding === "create" && <CreateUser onClose={stop} />}
      {adding === "invite" && <InviteUser onClose={stop} />}
    </>
  );
}

function withoutTab(search: { readonly [name: string]: string }): { [name: string]: string } {
  return Object.fromEntries(Object.entries(search).filter(([name]) => name !== "tab"));
}

interface UserListProps {
  text: string;
  state: typeof states[number];
  order: typeof orders[number];
  openId: string | null;
  onOpen: (id: string) => void;
  onChange: (changes: { [name: string]: string | null }) => void;
}

function UserList({ text, state, order, openId, onOpen, onChange }: UserListProps) {
  const pages = useUserPages(queryOf(useDelayed(text), state, order));
  const rows = pages.data?.pages.flatMap((page) => page.rows) ?? [];
  const loadMore = () => {
    if (pages.hasNextPage && !pages.isFetching && !pages.error) void pages.fetchNextPage();
  };
  const isFiltered = text !== "" || state !== "any";
  return (
    <Card isFlush>
      <Toolbar label={texts.filters}>
        <SearchField
          label={texts.searchShort}
          placeholder={texts.search}
          value={text}
          onChange={(find) => onChange({ find })}
        />
        <Select
          label={texts.state}
          hidesLabel
          choices={stateChoices}
          value={state}
          onChange={(id) => onChange({ state: id === "any" ? null : id })}
        />
        <Select
          label={texts.sort}
          hidesLabel
          choices={orderChoices}
          value={order}
          onChange={(id) => onChange({ order: id === "newest" ? null : id })}
        />
        <span className="soft number" role="status">
          {countOf(pages.data?.pages[0]?.estimate, rows.length, pages.hasNextPage)}
        </span>
        {pages.isFetchingNextPage && <span className="spinner" role="img" aria-label={texts.more} />}
      </Toolbar>
      {pages.data === undefined
        ? pages.error ? <ErrorState error={pages.error} onRetry={() => void pages.refetch()} /> : <Loading />
        : rows.length === 0
        ? isFiltered
          ? (
            <EmptyState
              icon="search"
              title={texts.noMatch}
              action={<Button onPress={() => onChange({ find: null, state: null })}>{texts.clear}</Button>}
            >
              {texts.noMatchText}
            </EmptyState>
          )
          : <EmptyState icon="users" title={texts.none}>{texts.noneText}</EmptyState>
        : (
          <DataTable
            label={texts.title}
            columns={columns}
            rows={rows}
            keyOf={({ id }) => id}
            openKey={openId}
            onOpen={({ id }) => onOpen(id)}
            onEnd={loadMore}
          />
        )}
      {pages.data && <ErrorNote error={pages.error} />}
    </Card>
  );
}

function countOf(estimate: number | undefined, shown: number, hasMore: boolean): string {
  if (estimate === undefined) return "";
  const text = texts.shown(formatNumber(shown));
  if (!hasMore) return text;
  return estimate > shown ? `${text} ${texts.estimate(formatNumber(estimate))}` : `${text}, ${texts.andMore}`;
}

const columns: readonly Column<ProjectUserSummary>[] = [
  {
    id: "user",
    title: texts.user,
    cell: (user) => (
      <span className="users-name">
        <span className="cut">{nameOf(user)}</span>
        {user.name && <span className="cut soft">{user.name}</span>}
        <UserMarks user={user} />
      </span>
    ),
    width: "minmax(14rem, 3fr)",
  },
  {
    id: "providers",
    title: texts.providers,
    cell: ({ providers }) => <span className="cut">{providers.join(", ")}</span>,
    width: "minmax(7rem, 1fr)",
    isMinor: true,
  },
  {
    id: "created",
    title: texts.created,
    cell: ({ created_at }) => <Time value={created_at} />,
    width: "8rem",
    isMinor: true,
  },
  {
    id: "seen",
    title: texts.lastSignIn,
    cell: ({ last_sign_in_at }) => <Time value={last_sign_in_at} />,
    width: "8rem",
    isMinor: true,
  },
];
