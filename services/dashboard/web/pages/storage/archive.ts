/** Files of a bucket as one ZIP file, made in the browser of their signed addresses. */

import { downloadZip } from "client-zip";
import { run } from "../../api/client.ts";
import { saveFile } from "../sql/result.ts";
import { ownAddress } from "./addresses.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.archive;
const mostFiles = 5_000;
const mostBytes = 1024 ** 3;
const pageRows = 500;
const lastsS = 600;

interface ArchivedFile {
  name: string;
  bytes: number;
  changedAt: string | null;
}

/** Save files and folders (names that end in a slash) as an archive whose paths begin below `folder`. Throws ApiError, Error. */
export async function saveArchive(
  bucket: string,
  folder: string,
  names: readonly string[],
  onFile: (done: number, all: number) => void,
): Promise<void> {
  const files = await filesOf(bucket, names);
  if (files.length > mostFiles) throw new Error(texts.tooMany(mostFiles));
  if (files.reduce((sum, { bytes }) => sum + bytes, 0) > mostBytes) throw new Error(texts.tooLarge);
  let done = 0;
  async function* entries() {
    for (const { name, changedAt } of files) {
      const { url } = await run("storage.sign", { bucket, name, lasts_s: lastsS });
      const response = await fetch(ownAddress(url));
      if (!response.ok) throw new Error(texts.failed(name, response.status));
      yield {
        name: safePath(name.slice(folder.length)),
        lastModified: changedAt ? new Date(changedAt) : new Date(),
        input: response,
      };
      onFile(++done, files.length);
    }
  }
  saveFile(`${bucket}.zip`, await downloadZip(entries()).blob());
}

async function filesOf(bucket: string, names: readonly string[]): Promise<readonly ArchivedFile[]> {
  const found: ArchivedFile[] = [];
  for (const name of names) {
    if (!name.endsWith("/")) {
      const object = await run("storage.object", { bucket, name });
      found.push({ name, bytes: object.bytes ?? 0, changedAt: object.updated_at });
      continue;
    }
    let after: string | null = null;
    do {
      const page: { rows: { name: string; bytes: number | null; updated_at: string | null }[]; next: string | null } =
        await run("storage.search", { bucket, prefix: name, after, limit: pageRows });
      found.push(...page.rows.map((row) => ({ name: row.name, bytes: row.bytes ?? 0, changedAt: row.updated_at })));
      after = page.next;
    } while (after !== null && found.length <= mostFiles);
  }
  return found;
}

/** Return a path that stays in the folder where the archive is unpacked. */
function safePath(name: string): string {
  return name.split("/").map((part) => /^\.{0,2}$/.test(part) ? "_" : part).join("/");
}
