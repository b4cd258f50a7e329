import { useChange, useMay } from "../../api/hooks.ts";
import { CodeBlock, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { confirm, Dialog } from "../../components/Dialog.tsx";
import { Note } from "../../components/states.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes, formatSpan, formatTime } from "../../format.ts";
import type { BranchWork, ListedBranch } from "../../generated/operations.ts";
import { Difference } from "./Difference.tsx";
import { branchesTexts } from "./texts.ts";
import { WorkNote } from "./WorkNote.tsx";

const texts = branchesTexts.detail;

/** One branch: its address and age, what it changed, and its start, stop, merge and deletion. */
export function BranchPanel({ name, branch, command, work, onClose }: {
  name: string;
  branch: ListedBranch | null;
  command: string;
  work: BranchWork | undefined;
  onClose: () => void;
}) {
  const mayDelete = useMay("branches.delete");
  const remove = useChange("branches.delete", { invalidates: ["branches."], onDone: onClose });
  const isBusy = work?.state === "running";
  const onDelete = async () => {
    const isSure = await confirm({
      title: texts.remove,
      body: texts.removeText,
      names: [name],
      typeName: name,
      action: texts.remove,
    });
    if (isSure) remove.mutate({ name });
  };
  return (
    <Dialog
      title={texts.title(name)}
      isOpen
      size="side"
      onClose={onClose}
      footer={branch !== null && mayDelete && (
        <Button
          icon="trash"
          isDisabled={isBusy}
          isPending={remove.isPending}
          onPress={() => void onDelete()}
        >
          {texts.remove}
        </Button>
      )}
    >
      {branch === null ? <Note kind="warn">{texts.gone}</Note> : (
        <>
          {work?.name === name && <WorkNote work={work} />}
          <Facts branch={branch} />
          <Running branch={branch} command={command} isBusy={isBusy} />
          <Difference name={name} work={work} isBusy={isBusy} />
        </>
      )}
    </Dialog>
  );
}

function Facts({ branch }: { branch: ListedBranch }) {
  const { created_at, at = "", used_at = 0, own_bytes, shared_bytes, stop_after_s = 0, remove_at = 0 } = branch;
  const warnings = branch.warnings ?? [];
  return (
    <>
      <KeyValue
        entries={[
          [texts.address, branch.api_url ? <code key="address">{branch.api_url}</code> : texts.noAddress],
          [texts.made, <Time key="made" value={created_at} />],
          [texts.moment, at || texts.momentNow],
          [texts.used, used_at ? <Time key="used" value={used_at} /> : branchesTexts.neverUsed],
          [texts.size, texts.shares(formatBytes(own_bytes), formatBytes(shared_bytes))],
          [texts.stops, stop_after_s ? branchesTexts.stopsAfter(formatSpan(stop_after_s)) : branchesTexts.never],
          [texts.removed, remove_at ? formatTime(remove_at) : branchesTexts.never],
          [texts.masked, (branch.masked ?? []).join(", ") || texts.notMasked],
          [texts.folder, <code key="folder" className="branches-lines">{branch.data}</code>],
        ]}
      />
      {warnings.length > 0 && (
        <Note kind="warn">
          <p>
            <strong>{texts.warnings}</strong>
          </p>
          <ul className="branches-lines">{warnings.map((warning) => <li key={warning}>{warning}</li>)}</ul>
        </Note>
      )}
    </>
  );
}

/** Start and stop it; with an address, the way into its dashboard. */
function Running({ branch, command, isBusy }: { branch: ListedBranch; command: string; isBusy: boolean }) {
  const { name, is_running, api_url } = branch;
  const mayStart = useMay("branches.start");
  const start = useChange("branches.start", { invalidates: ["branches."] });
  const stop = useChange("branches.stop", { invalidates: ["branches."] });
  return (
    <section className="branches-part">
      <div className="branches-actions">
        {mayStart && (is_running
          ? (
            <Button icon="stop" isDisabled={isBusy} isPending={stop.isPending} onPress={() => stop.mutate({ name })}>
              {texts.stop}
            </Button>
          )
          : (
            <Button
              icon="play"
              variant="primary"
              isDisabled={isBusy}
              isPending={start.isPending}
              onPress={() => start.mutate({ name })}
            >
              {texts.start}
            </Button>
          ))}
        {is_running && api_url && (
          <a className="button button-plain button-normal" href={`${api_url}/_/`} target="_blank" rel="noreferrer">
            {texts.open}
          </a>
        )}
      </div>
      {is_running && api_url && (
        <>
          <p className="soft">{texts.openText}</p>
          <CodeBlock label={texts.link} code={`headwater admin link ${command} --branch ${name}`} />
        </>
      )}
    </section>
  );
}
