/**
 * The folders and files of a bucket as pictures: renditions of images, which are asked for when they come into view.
 * A click selects, with Ctrl or Shift more of them; a double click or Enter opens.
 */

import { type ReactNode, useEffect, useRef, useState } from "react";
import { ListBox, ListBoxItem } from "react-aria-components/ListBox";
import { useOperation } from "../../api/hooks.ts";
import { Icon } from "../../components/Icon.tsx";
import { ownAddress } from "./addresses.ts";
import { type FolderRow } from "./lists.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.objects;
const side = 192;
const lastsS = 3_600;
/** Types of which the platform makes renditions. */
const pictures = /^image\/(png|jpeg|webp|gif|avif|tiff)$/;

export function Gallery({ label, bucket, folder, rows, onOpen, onEnd, selection, onSelect }: {
  label: string;
  bucket: string;
  folder: string;
  rows: readonly FolderRow[];
  onOpen: (row: FolderRow) => void;
  onEnd: () => void;
  selection?: ReadonlySet<string>;
  onSelect?: (names: ReadonlySet<string>) => void;
}) {
  return (
    <>
      <ListBox
        aria-label={label}
        className="storage-gallery"
        layout="grid"
        items={rows.map((row) => ({ id: row.name, row }))}
        selectionBehavior="replace"
        selectionMode={onSelect ? "multiple" : "none"}
        selectedKeys={selection ?? []}
        onSelectionChange={(keys) =>
          onSelect?.(new Set(keys === "all" ? rows.map(({ name }) => name) : [...keys].map(String)))}
        onAction={(name) => {
          const row = rows.find((candidate) => candidate.name === name);
          if (row) onOpen(row);
        }}
      >
        {({ row }) => (
          <ListBoxItem id={row.name} textValue={row.name} className="storage-tile">
            <Picture bucket={bucket} row={row} />
            <span className="cut">{row.name.slice(folder.length)}</span>
          </ListBoxItem>
        )}
      </ListBox>
      <InView key={rows.length} onView={onEnd}>{null}</InView>
    </>
  );
}

function Picture({ bucket, row: { name, object } }: { bucket: string; row: FolderRow }) {
  const [isVisible, setVisible] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  const isPicture = pictures.test(object?.mime_type ?? "");
  const rendition = useOperation(
    "storage.rendition_url",
    { bucket, name, width: side, height: side, resize: "cover", lasts_s: lastsS },
    { isEnabled: isVisible && isPicture, staleAfter: lastsS * 500 },
  );
  return (
    <InView onView={() => setVisible(true)}>
      {rendition.data && !hasFailed
        ? (
          <img
            src={ownAddress(rendition.data.url)}
            alt={texts.thumbnail(name)}
            width={side}
            height={side}
            onError={() => setFailed(true)}
          />
        )
        : <Icon name={object ? "file" : "folder"} size={32} />}
    </InView>
  );
}

/** Calls `onView` once when it comes into view. */
function InView({ children, onView }: { children: ReactNode; onView: () => void }) {
  const element = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry?.isIntersecting) return;
      observer.disconnect();
      onView();
    });
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return <span ref={element} className="storage-picture">{children}</span>;
}
