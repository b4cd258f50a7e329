// deno-lint-ignore-file headwater/fixed-text -- a page for those who build pages, which stands in no list
/** Every component in every state, for people who build pages. Not in the list of pages: `/_/components`. */

import { type ReactNode, useState } from "react";
import { useSearch } from "../../address.tsx";
import {
  Badge,
  Card,
  Chip,
  CodeBlock,
  CopyButton,
  Figure,
  JsonView,
  KeyValue,
  PageHeader,
  Pagination,
  Toolbar,
} from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { CodeEditor } from "../../components/CodeEditor.tsx";
import { type Column, DataTable, type Sort } from "../../components/DataTable.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field, SearchField, Switch } from "../../components/Field.tsx";
import { Icon, iconNames } from "../../components/Icon.tsx";
import { Menu } from "../../components/Menu.tsx";
import { ComboBox, Select } from "../../components/Select.tsx";
import { EmptyState, ErrorState, Loading, Note } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { Time } from "../../components/Time.tsx";
import { toast } from "../../components/toasts.ts";
import { ApiError, OfflineError } from "../../api/errors.ts";

interface Row {
  id: string;
  name: string;
  size: number;
}

const rows: readonly Row[] = Array.from({ length: 10_000 }, (_, index) => ({
  id: String(index + 1),
  name: `row ${index + 1}`,
  size: (index * 7919) % 1000,
}));
const columns: readonly Column<Row>[] = [
  { id: "id", title: "id", cell: (row) => <code>{row.id}</code>, width: "6rem", isSortable: true },
  { id: "name", title: "name", cell: (row) => row.name, isSortable: true },
  { id: "size", title: "size", cell: (row) => <span className="number">{row.size}</span>, align: "end", isMinor: true },
];
const choices = [
  { id: "anon", label: "anon", hint: "clients without a token" },
  { id: "authenticated", label: "authenticated", hint: "signed-in users" },
  { id: "service_role", label: "service_role" },
];
const failure = new ApiError(
  409,
  "conflict",
  "Somebody changed the row meanwhile",
  "Load it again, then edit it.",
  "704f7037-2",
  {},
);
const noRight = new ApiError(
  403,
  "no_right",
  "rows.delete needs the rights of developer; yours are reader",
  "",
  "704f7037-3",
  {},
);

export default function ComponentsPage() {
  const [text, setText] = useState("");
  const [search, setSearch] = useState("");
  const [role, setRole] = useState<string>("anon");
  const [isOn, setOn] = useState(true);
  const [isOpen, setOpen] = useState(false);
  const [sort, setSort] = useState<Sort | null>({ column: "id", isDescending: false });
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set(["2"]));
  const [sql, setSql] = useState(
    "select id, title\nfrom posts -- newest first\nwhere user_id = auth.uid()\norder by id desc limit 10;",
  );
  const [address, changeAddress] = useSearch();
  return (
    <>
      <PageHeader
        title="Components"
        actions={<Button variant="primary" icon="plus" onPress={() => toast.done("Done")}>Primary action</Button>}
        info={<Badge tone="accent">for builders</Badge>}
      >
        What pages are made of. Use these, and add here what is missing.
      </PageHeader>
      <Part title="Buttons">
        <Button>Plain</Button>
        <Button variant="primary">Primary</Button>
        <Button variant="danger" icon="trash">Danger</Button>
        <Button variant="quiet">Quiet</Button>
        <Button isDisabled>Disabled</Button>
        <Button isPending>Pending</Button>
        <Button size="small">Small</Button>
        <IconButton icon="refresh" label="Refresh" />
        <Menu
          label="More actions"
          button={<IconButton icon="more" label="More" variant="plain" />}
          entries={[
            { id: "edit", label: "Edit", icon: "edit", keys: "E", onAction: () => toast.info("Edit") },
            { id: "drop", label: "Drop", icon: "trash", isDanger: true, onAction: () => toast.error(failure) },
          ]}
        />
      </Part>
      <Part title="Fields">
        <Field label="Name" value={text} onChange={setText} hint="A short sentence about it." placeholder="posts" />
        <Field label="With an error" value="7 days" onChange={() => {}} error="Give a number of seconds." isCode />
        <Field label="Password" type="password" value="secret words" onChange={() => {}} />
        <Select label="Role" choices={choices} value={role} onChange={setRole} />
        <ComboBox label="Role, by typing" choices={choices} value={role} onChange={setRole} />
        <SearchField label="Find" value={search} onChange={setSearch} />
        <Field label="Several lines" lines={3} value={text} onChange={setText} />
        <Checkbox isSelected={isOn} onChange={setOn}>Row security</Checkbox>
        <Switch isSelected={isOn} onChange={setOn}>Live rows</Switch>
      </Part>
      <Part title="Marks">
        <Badge>neutral</Badge>
        <Badge tone="accent">accent</Badge>
        <Badge tone="good" icon="check">up</Badge>
        <Badge tone="warn" icon="alert">readable by anon</Badge>
        <Badge tone="bad" icon="alert">down</Badge>
        <Chip onRemove={() => toast.info("Removed")}>status = 200</Chip>
        <Time value={new Date(Date.now() - 3_600_000 * 5).toISOString()} />
        <Loading />
      </Part>
      <Part title="Notes">
        <Note>An information beside what it is about.</Note>
        <Note kind="warn">This locks the table while it runs.</Note>
        <Note kind="good">The migration is applied.</Note>
      </Part>
      <Part title="Figures">
        <Figure label="Requests" value="12,408" hint="last hour" />
        <Figure label="Errors" value="3" tone="bad" hint="0.02 %" />
        <Figure label="p99" value="41 ms" />
      </Part>
      <Part title="Dialogs and messages">
        <Button onPress={() => setOpen(true)}>Open a dialog</Button>
        <Button
          variant="danger"
          onPress={() =>
            void confirm({
              title: "Drop table posts",
              body: "The table and its 3 rows are lost. A migration that drops it is saved.",
              names: ["public.posts"],
              typeName: "posts",
              action: "Drop",
            }).then((isConfirmed) => toast.info(isConfirmed ? "Confirmed" : "Cancelled"))}
        >
          Destroy something
        </Button>
        <Button
          onPress={() => toast.done("3 rows deleted", { action: { label: "Undo", run: () => toast.info("Undone") } })}
        >
          Message with undo
        </Button>
        <Button onPress={() => toast.error(failure)}>Error message</Button>
      </Part>
      <Card title="Table of 10,000 rows" isFlush>
        <Toolbar label="Actions on rows">
          <span className="soft">{selection.size} selected</span>
          <Pagination hasPrevious={false} hasNext onPrevious={() => {}} onNext={() => {}} info="1 to 100" />
        </Toolbar>
        <DataTable
          label="Example rows"
          columns={columns}
          rows={sort?.isDescending ? [...rows].reverse() : rows}
          keyOf={(row) => row.id}
          onOpen={(row) => toast.info(row.name)}
          sort={sort}
          onSort={setSort}
          selection={selection}
          onSelect={setSelection}
          height="16rem"
        />
      </Card>
      <Card title="Tabs">
        <Tabs
          label="Views"
          selected={address["tab"] ?? "values"}
          onSelect={(tab) => changeAddress({ tab })}
          tabs={[
            {
              id: "values",
              title: "Values",
              content: (
                <KeyValue
                  entries={[[
                    "Id",
                    <code key="id">
                      7 <CopyButton text="7" />
                    </code>,
                  ], ["State", "up"]]}
                />
              ),
            },
            {
              id: "json",
              title: "JSON",
              content: <JsonView value={{ id: 7, tags: ["a", "b"], owner: null, meta: { ok: true } }} />,
            },
            {
              id: "code",
              title: "Code",
              content: (
                <CodeBlock
                  label="Example"
                  code="select 1;
select 2;"
                />
              ),
            },
          ]}
        />
      </Card>
      <Card title="Editor">
        <CodeEditor
          label="SQL"
          language="sql"
          value={sql}
          onChange={setSql}
          schema={{ posts: ["id", "title", "user_id"] }}
          onRun={() => toast.done("Run")}
        />
      </Card>
      <Part title="States of a view">
        <Card>
          <EmptyState icon="table" title="No tables yet" action={<Button variant="primary">Create a table</Button>}>
            A table holds the rows of your application.
          </EmptyState>
        </Card>
        <Card>
          <ErrorState error={failure} onRetry={() => {}} />
        </Card>
        <Card>
          <ErrorState error={noRight} />
        </Card>
        <Card>
          <ErrorState error={new OfflineError()} onRetry={() => {}} />
        </Card>
      </Part>
      <Part title="Icons">
        {iconNames.map((name) => (
          <span key={name} className="icon-sample">
            <Icon name={name} /> <code className="faint">{name}</code>
          </span>
        ))}
      </Part>
      <Dialog
        title="A dialog"
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onSubmit={() => setOpen(false)}
        footer={
          <>
            <Button onPress={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" variant="primary">Save</Button>
          </>
        }
      >
        <Field label="Name" value={text} onChange={setText} hasFocus />
      </Dialog>
    </>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card title={title}>
      <div className="samples">{children}</div>
    </Card>
  );
}
