import { useQueryClient } from "@tanstack/react-query";
import { run } from "../../api/client.ts";
import { isStopped } from "../../api/errors.ts";
import { invalidate } from "../../api/hooks.ts";
import { confirm } from "../../components/Dialog.tsx";
import { toast } from "../../components/toasts.ts";
import { baseOf } from "./lists.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.objects;
const mostNames = 1_000;

/** Return what deletes files and folders (names that end in a slash) of a bucket, after a question that names them. */
export function useDeletion(bucket: string, onDone: () => void): (names: readonly string[], then?: () => void) => void {
  const client = useQueryClient();
  const remove = async (names: readonly string[], then?: () => void) => {
    try {
      if (!await askFor(bucket, names)) return;
      let deleted = 0;
      for (const name of names.filter((name) => name.endsWith("/"))) deleted += await deleteFolder(bucket, name);
      const files = names.filter((name) => !name.endsWith("/"));
      for (let start = 0; start < files.length; start += mostNames) {
        const part = files.slice(start, start + mostNames);
        deleted += (await run("storage.delete_objects", { bucket, names: part })).names.length;
      }
      toast.done(texts.deleted(deleted));
      onDone();
      then?.();
    } catch (error) {
      if (!isStopped(error)) toast.error(error);
    } finally {
      await invalidate(client, ["storage."]);
    }
  };
  return (names, then) => void remove(names, then);
}

/** Ask with the names of what is deleted; for a folder its name is typed, and files in it are listed. */
async function askFor(bucket: string, names: readonly string[]): Promise<boolean> {
  const folder = names.find((name) => name.endsWith("/"));
  if (folder === undefined) {
    return await confirm({ title: texts.deleteFiles, body: texts.deleteText, names, action: texts.delete });
  }
  const inside = await run("storage.search", { bucket, prefix: folder, limit: 20 });
  return await confirm({
    title: texts.deleteFolder,
    body: texts.deleteFolderText,
    names: [...names, ...inside.rows.map(({ name }) => name), ...(inside.next === null ? [] : [texts.andMore])],
    typeName: baseOf(folder),
    action: texts.deleteFolder,
  });
}

async function deleteFolder(bucket: string, prefix: string): Promise<number> {
  let deleted = 0;
  for (;;) {
    const { rows } = await run("storage.search", { bucket, prefix, limit: 500 });
    if (rows.length === 0) return deleted;
    const { names } = await run("storage.delete_objects", { bucket, names: rows.map(({ name }) => name) });
    if (names.length === 0) return deleted;
    deleted += names.length;
  }
}
