/** Files that were chosen or dropped, with their paths: those of dropped folders too. */

/** A file to upload; `path` begins with the folders that it was in. */
export interface ChosenFile {
  file: File;
  path: string;
}

const mostFiles = 10_000;

/** Return files of an input; one that chooses a folder gives their paths. */
export function chosenFiles(files: FileList): readonly ChosenFile[] {
  return [...files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
}

/** Return what was dropped, folders with all that is in them. Throws if they have more than 10,000 files, or one cannot be read. */
export async function droppedFiles(data: DataTransfer): Promise<readonly ChosenFile[]> {
  // Entries are there only until the event ends, so they are taken before the first await.
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return chosenFiles(data.files);
  const found: ChosenFile[] = [];
  for (const entry of entries) await collect(entry, "", found);
  return found;
}

async function collect(entry: FileSystemEntry, folder: string, found: ChosenFile[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    if (found.push({ file, path: folder + entry.name }) > mostFiles) throw new RangeError(String(mostFiles));
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return;
    for (const inner of part) await collect(inner, `${folder}${entry.name}/`, found);
  }
}
