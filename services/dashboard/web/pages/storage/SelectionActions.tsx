import { useState } from "react";
import { isStopped } from "../../api/errors.ts";
import { Button } from "../../components/Button.tsx";
import { toast } from "../../components/toasts.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.objects;

/** What is done with the selected files and folders: moved, downloaded as an archive, deleted. */
export function SelectionActions({ bucket, folder, names, onMove, onDelete }: {
  bucket: string;
  folder: string;
  names: readonly string[];
  onMove: () => void;
  onDelete: () => void;
}) {
  const [progress, setProgress] = useState<string | null>(null);
  const download = async () => {
    setProgress(storageTexts.archive.begins);
    try {
      const { saveArchive } = await import("./archive.ts");
      await saveArchive(bucket, folder, names, (done, all) => setProgress(storageTexts.archive.progress(done, all)));
    } catch (error) {
      if (!isStopped(error)) toast.error(error);
    } finally {
      setProgress(null);
    }
  };
  return (
    <>
      <Button icon="arrowRight" size="small" onPress={onMove}>{texts.moveMany}</Button>
      <Button icon="download" size="small" isPending={progress !== null} onPress={() => void download()}>
        {progress ?? storageTexts.archive.action}
      </Button>
      <Button icon="trash" variant="danger" size="small" onPress={onDelete}>{texts.delete}</Button>
    </>
  );
}
