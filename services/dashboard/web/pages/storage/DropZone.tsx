import { type DragEvent, type ReactNode, useState } from "react";
import { toast } from "../../components/toasts.ts";
import { type ChosenFile, droppedFiles } from "./droppedFiles.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.objects;

/** A place onto which files and folders are dropped. */
export function DropZone({ children, isEnabled, onFiles }: {
  children: ReactNode;
  isEnabled: boolean;
  onFiles: (files: readonly ChosenFile[]) => void;
}) {
  const [isOver, setOver] = useState(false);
  if (!isEnabled) return children;
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(true);
  };
  const onDragLeave = (event: DragEvent) => {
    if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    droppedFiles(event.dataTransfer).then(onFiles).catch((error: unknown) => {
      toast.error(error instanceof RangeError ? new Error(texts.tooMany(error.message)) : error);
    });
  };
  return (
    <div className="storage-drop" onDragOver={onDragOver} onDragLeave={onDragLeave} onDrop={onDrop}>
      {children}
      {isOver && <div className="storage-drop-note">{texts.drop}</div>}
    </div>
  );
}
