import { useState } from "react";
import { useSearch } from "../../address.tsx";
import { useMay, useOperation } from "../../api/hooks.ts";
import { Badge, Card, CodeBlock, PageHeader } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { type Column, DataTable } from "../../components/DataTable.tsx";
import { EmptyState, Note, QueryView } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes, formatSpan, formatTime } from "../../format.ts";
import type { BranchList, ListedBranch } from "../../generated/operations.ts";
import { useCommands } from "../../shell/commands.ts";
import { BranchPanel } from "./BranchPanel.tsx";
import { NewBranch } from "./NewBranch.tsx";
import { branchesTexts as texts } from "./texts.ts";
import { useWork } from "./useWork.ts";
import { WorkNote } from "./WorkNote.tsx";
import "./branches.css";

/** Branches of the platform: made, started, compared, merged and deleted by its supervisor. */
export default function BranchesPage() {
  const [isMaking, setMaking] = useState(false);
  const listed = useOperation("branches.list", {}, { refreshEvery: 10_000 });
  const work = useWork();
  const mayCreate = useMay("branches.create");
  useCommands(mayCreate ? [{ id: "branches.create", label: texts.create, run: () => setMaking(true) }] : []);
  return (
    <>
      <PageHeader
        title={texts.title}
        actions={mayCreate && listed.data && (
          <Button
            variant="primary"
            icon="plus"
            isDisabled={work?.state === "running"}
            onPress={() => setMaking(true)}
          >
            {texts.create}
          </Button>
        )}
      >
        {texts.lead}
      </PageHeader>
      <WorkNote work={work} />
      <QueryView query={listed}>{(list) => <Branches list={list} work={work} />}</QueryView>
      {isMaking && listed.data && (
        <NewBranch
          names={listed.data.branches.map(({ name }) => name)}
          onClose={() => setMaking(false)}
        />
      )}
    </>
  );
}

function Branches({ list, work }: { list: BranchList; work: ReturnType<typeof useWork> }) {
  const [search, changeSearch] = useSearch();
  const open = search["branch"] ?? null;
  return (
    <>
      {list.problem && (
        <Note kind="warn">
          <p>
            <strong>{texts.problem}</strong>
          </p>
          <p className="branches-lines">{list.problem}</p>
        </Note>
      )}
      <Card title={texts.list} isFlush>
        {list.branches.length === 0
          ? (
            <>
              <EmptyState icon="branch" title={texts.none}>{texts.noneText}</EmptyState>
              <div className="branches-part branches-padded">
                <p className="soft">{texts.noneCommand}</p>
                <CodeBlock label={texts.create} code={`headwater branch create ${list.command} try-this`} />
              </div>
            </>
          )
          : (
            <DataTable
              label={texts.list}
              columns={columns}
              rows={list.branches}
              keyOf={({ name }) => name}
              openKey={open}
              onOpen={({ name }) => changeSearch({ branch: name }, false)}
            />
          )}
      </Card>
      {open !== null && (
        <BranchPanel
          key={open}
          name={open}
          branch={list.branches.find(({ name }) => name === open) ?? null}
          command={list.command}
          work={work}
          onClose={() => changeSearch({ branch: null })}
        />
      )}
    </>
  );
}

const columns: readonly Column<ListedBranch>[] = [
  {
    id: "name",
    title: texts.columns.name,
    cell: ({ name, at, git }) => (
      <span className="cut">
        <strong>{name}</strong> <span className="faint">{git ? texts.forGit(git) : at ? texts.ofMoment(at) : ""}</span>
      </span>
    ),
    width: "minmax(9rem, 1.6fr)",
  },
  {
    id: "state",
    title: texts.columns.state,
    cell: ({ is_running, api_url }) => (
      <span className="cut">
        <Badge tone={is_running ? "good" : "neutral"}>{is_running ? texts.running : texts.stopped}</Badge>{" "}
        {api_url && <code className="faint">{api_url}</code>}
      </span>
    ),
    width: "minmax(7rem, 1.4fr)",
  },
  {
    id: "made",
    title: texts.columns.made,
    cell: ({ created_at }) => <Time value={created_at} />,
    width: "7rem",
    isMinor: true,
  },
  {
    id: "used",
    title: texts.columns.used,
    cell: ({ used_at = 0 }) =>
      used_at === 0 ? <span className="faint">{texts.neverUsed}</span> : <Time value={used_at} />,
    width: "8rem",
    isMinor: true,
  },
  {
    id: "size",
    title: texts.columns.size,
    cell: ({ own_bytes }) => <span className="number">{formatBytes(own_bytes)}</span>,
    width: "6rem",
    align: "end",
  },
  {
    id: "ends",
    title: texts.columns.ends,
    cell: (branch) => <span className="cut soft">{endsOf(branch)}</span>,
    width: "minmax(8rem, 1.4fr)",
    isMinor: true,
  },
];

function endsOf({ stop_after_s = 0, remove_at = 0 }: ListedBranch): string {
  const ends = [
    ...stop_after_s ? [texts.stopsAfter(formatSpan(stop_after_s))] : [],
    ...remove_at ? [texts.removedAt(formatTime(remove_at))] : [],
  ];
  return ends.join(", ") || texts.never;
}
