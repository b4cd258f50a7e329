import { useSearch } from "../../address.tsx";
import { useOperation } from "../../api/hooks.ts";
import { JsonView, KeyValue } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { QueryView } from "../../components/states.tsx";
import { Tabs } from "../../components/Tabs.tsx";
import { Time } from "../../components/Time.tsx";
import { formatBytes } from "../../format.ts";
import type { ObjectDetails } from "../../generated/operations.ts";
import { baseOf } from "./lists.ts";
import { Preview } from "./Preview.tsx";
import { Rendition } from "./Rendition.tsx";
import { Share } from "./Share.tsx";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.file;

interface ObjectDetailProps {
  bucket: string;
  name: string;
  mayChange: boolean;
  onMove: (name: string, isCopy: boolean) => void;
  onDelete: (name: string) => void;
  onClose: () => void;
}

/** One file beside the list: preview, details, addresses, renditions. */
export function ObjectDetail({ bucket, name, mayChange, onMove, onDelete, onClose }: ObjectDetailProps) {
  const object = useOperation("storage.object", { bucket, name });
  const [search, changeSearch] = useSearch();
  const actions = storageTexts.objects;
  return (
    <Dialog title={baseOf(name)} isOpen size="side" onClose={onClose}>
      <QueryView query={object}>
        {(data) => {
          const tabs = [
            { id: "preview", title: texts.tabs.preview, content: <Preview bucket={bucket} object={data} /> },
            { id: "details", title: texts.tabs.details, content: <Details object={data} /> },
            { id: "share", title: texts.tabs.share, content: <Share bucket={bucket} name={name} /> },
            ...(data.mime_type?.startsWith("image/")
              ? [{ id: "rendition", title: texts.tabs.rendition, content: <Rendition bucket={bucket} name={name} /> }]
              : []),
          ];
          return (
            <>
              {mayChange && (
                <div className="storage-place" role="group" aria-label={actions.actions(name)}>
                  <Button size="small" icon="edit" onPress={() => onMove(name, false)}>{actions.rename}</Button>
                  <Button size="small" icon="copy" onPress={() => onMove(name, true)}>{actions.copy}</Button>
                  <Button size="small" icon="trash" onPress={() => onDelete(name)}>{actions.delete}</Button>
                </div>
              )}
              <Tabs
                label={name}
                tabs={tabs}
                selected={tabs.find(({ id }) => id === search["tab"])?.id ?? "preview"}
                onSelect={(tab) => changeSearch({ tab: tab === "preview" ? null : tab })}
              />
            </>
          );
        }}
      </QueryView>
    </Dialog>
  );
}

function Details({ object }: { object: ObjectDetails }) {
  return (
    <>
      <KeyValue
        entries={[
          [storageTexts.objects.name, <code key="name">{object.name}</code>],
          [texts.size, object.bytes === null ? "" : formatBytes(object.bytes)],
          [texts.type, object.mime_type],
          [texts.created, <Time key="created" value={object.created_at} />],
          [texts.updated, <Time key="updated" value={object.updated_at} />],
          [texts.accessed, <Time key="accessed" value={object.last_accessed_at} />],
          [texts.owner, <code key="owner">{object.owner_id}</code>],
          [texts.version, <code key="version">{object.version}</code>],
        ]}
      />
      <h3>{texts.metadata}</h3>
      <JsonView value={object.metadata} label={texts.metadata} />
      {object.user_metadata !== null && (
        <>
          <h3>{texts.userMetadata}</h3>
          <JsonView value={object.user_metadata} label={texts.userMetadata} />
        </>
      )}
    </>
  );
}
