import { useRef, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Link, pathOf, useSearch } from "../../address.tsx";
import { useDelayed } from "../../api/delayed.ts";
import { invalidate, useMay } from "../../api/hooks.ts";
import { Card, PageHeader, Toolbar } from "../../components/basics.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { DataTable } from "../../components/DataTable.tsx";
import { SearchField } from "../../components/Field.tsx";
import { Icon } from "../../components/Icon.tsx";
import { Select } from "../../components/Select.tsx";
import { EmptyState, ErrorState, Loading } from "../../components/states.tsx";
import { useObjectColumns } from "./columns.tsx";
import { useDeletion } from "./deletion.ts";
import { DropZone } from "./DropZone.tsx";
import { type ChosenFile, chosenFiles } from "./droppedFiles.ts";
import { Gallery } from "./Gallery.tsx";
import { type FolderRow, sorts, useObjects } from "./lists.ts";
import { Move, type Relocation } from "./Move.tsx";
import { MoveMany } from "./MoveMany.tsx";
import { NewFolder } from "./NewFolder.tsx";
import { ObjectDetail } from "./ObjectDetail.tsx";
import { SelectionActions } from "./SelectionActions.tsx";
import { storageTexts } from "./texts.ts";
import { UploadList } from "./UploadList.tsx";
import { upload } from "./uploads.ts";

const texts = storageTexts.objects;
const sortChoices = sorts.map((id) => ({ id, label: texts.sorts[id] }));

/** The folders and files of a bucket; a file beside the list. */
export function Bucket({ bucket }: { bucket: string }) {
  const [search, changeSearch] = useSearch();
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const [move, setMove] = useState<Relocation | null>(null);
  const [isNaming, setNaming] = useState(false);
  const [isMovingMany, setMovingMany] = useState(false);
  const mayChange = useMay("storage.sign_upload");
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const folderInput = useRef<HTMLInputElement>(null);
  const folder = search["folder"] ?? "";
  const text = search["find"] ?? "";
  const sort = sorts.find((id) => id === search["sort"]) ?? "name";
  const pages = useObjects(bucket, folder, useDelayed(text).trim(), sort);
  const rows = pages.data?.pages.flatMap((page) => page.rows) ?? [];
  const open = ({ name, object }: FolderRow) => {
    if (object) return changeSearch({ file: name }, false);
    setSelection(new Set());
    changeSearch({ folder: name, find: null }, false);
  };
  const remove = useDeletion(bucket, () => setSelection(new Set()));
  const columns = useObjectColumns({
    folder,
    mayChange,
    onMove: (name, isCopy) => setMove({ bucket, name, isCopy }),
    onDelete: (name) => remove([name]),
  });
  const send = (files: readonly ChosenFile[]) => {
    if (files.length > 0) upload(bucket, folder, files, () => void invalidate(client, ["storage."]));
  };
  const sendChosen = (chosen: HTMLInputElement) => {
    send(chosenFiles(chosen.files ?? new DataTransfer().files));
    chosen.value = "";
  };
  const isGallery = search["view"] === "grid";
  const shown = {
    label: bucket,
    rows,
    onOpen: open,
    onEnd: () => pages.hasNextPage && !pages.isFetching && void pages.fetchNextPage(),
    ...(mayChange ? { selection, onSelect: setSelection } : {}),
  };
  const choose = <Button icon="upload" variant="primary" onPress={() => input.current?.click()}>{texts.upload}</Button>;
  return (
    <>
      <PageHeader
        title={bucket}
        actions={mayChange && (
          <>
            <Button icon="folder" onPress={() => setNaming(true)}>{texts.newFolder}</Button>
            <Button icon="upload" onPress={() => folderInput.current?.click()}>{texts.uploadFolder}</Button>
            {choose}
          </>
        )}
      >
        <Place bucket={bucket} folder={folder} />
      </PageHeader>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={texts.upload}
        onChange={(event) => sendChosen(event.target)}
      />
      <input
        ref={folderInput}
        type="file"
        hidden
        aria-label={texts.uploadFolder}
        onChange={(event) => sendChosen(event.target)}
        {...{ webkitdirectory: "" }}
      />
      <DropZone isEnabled={mayChange} onFiles={send}>
        <Card isFlush>
          <Toolbar label={storageTexts.filters}>
            <SearchField label={texts.search} value={text} onChange={(find) => changeSearch({ find })} />
            {!text && (
              <Select
                label={texts.sort}
                hidesLabel
                choices={sortChoices}
                value={sort}
                onChange={(id) => changeSearch({ sort: id === "name" ? null : id })}
              />
            )}
            {selection.size > 0 && (
              <>
                <span className="soft number" role="status">{texts.selected(selection.size)}</span>
                <SelectionActions
                  bucket={bucket}
                  folder={folder}
                  names={[...selection]}
                  onMove={() => setMovingMany(true)}
                  onDelete={() => remove([...selection])}
                />
              </>
            )}
            <IconButton
              icon={isGallery ? "list" : "columns"}
              label={isGallery ? texts.asList : texts.asPictures}
              onPress={() => changeSearch({ view: isGallery ? null : "grid" })}
            />
          </Toolbar>
          {pages.data === undefined
            ? pages.error ? <ErrorState error={pages.error} onRetry={() => void pages.refetch()} /> : <Loading />
            : rows.length === 0
            ? text
              ? <EmptyState icon="search" title={texts.noMatch} />
              : <EmptyState icon="folder" title={texts.none}>{mayChange && texts.noneText}</EmptyState>
            : isGallery
            ? <Gallery bucket={bucket} folder={folder} {...shown} />
            : <DataTable columns={columns} keyOf={({ name }) => name} openKey={search["file"] ?? null} {...shown} />}
        </Card>
      </DropZone>
      <UploadList onDone={() => void invalidate(client, ["storage."])} />
      {search["file"] && (
        <ObjectDetail
          key={search["file"]}
          bucket={bucket}
          name={search["file"]}
          mayChange={mayChange}
          onMove={(name, isCopy) => setMove({ bucket, name, isCopy })}
          onDelete={(name) => remove([name], () => changeSearch({ file: null }))}
          onClose={() => changeSearch({ file: null })}
        />
      )}
      {move && (
        <Move
          relocation={move}
          onClose={() => setMove(null)}
          onDone={() => search["file"] && !move.isCopy && changeSearch({ file: null })}
        />
      )}
      {isMovingMany && (
        <MoveMany
          bucket={bucket}
          folder={folder}
          names={[...selection]}
          onClose={() => setMovingMany(false)}
          onDone={() => setSelection(new Set())}
        />
      )}
      {isNaming && (
        <NewFolder
          onClose={() => setNaming(false)}
          onName={(name) => changeSearch({ folder: `${folder}${name}/`, find: null }, false)}
        />
      )}
    </>
  );
}

function Place({ bucket, folder }: { bucket: string; folder: string }) {
  const parts = folder.split("/").filter(Boolean);
  return (
    <nav className="storage-place" aria-label={texts.place}>
      <Link to="storage">{texts.all}</Link>
      <Icon name="chevronRight" size={12} />
      <Link to={pathOf("storage", bucket)}>{bucket}</Link>
      {parts.map((part, index) => (
        <span key={index} className="storage-place">
          <Icon name="chevronRight" size={12} />
          <Link to={pathOf("storage", bucket)} search={{ folder: `${parts.slice(0, index + 1).join("/")}/` }}>
            {part}
          </Link>
        </span>
      ))}
    </nav>
  );
}
