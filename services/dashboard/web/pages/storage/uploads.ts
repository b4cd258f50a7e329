/**
 * Uploads of files, resumable (TUS): each gets a signed address of its own, so no key comes here. They go on while other
 * pages are shown; a file that is chosen again continues where its upload stopped.
 */

import type { Upload } from "tus-js-client";
import { run } from "../../api/client.ts";
import { Value } from "../../api/signals.ts";
import { ownAddress } from "./addresses.ts";
import type { ChosenFile } from "./droppedFiles.ts";
import { storageTexts } from "./texts.ts";

export interface UploadEntry {
  id: number;
  bucket: string;
  name: string;
  file: File;
  sent: number;
  state: "waiting" | "running" | "done" | "failed" | "stopped";
  error: string;
  /** The name is taken: it can be replaced. */
  isTaken: boolean;
}

export const uploads = new Value<readonly UploadEntry[]>([]);
const chunkBytes = 6 * 1024 * 1024;
const mostAtOnce = 3;
const running = new Map<number, Upload>();
let lastId = 0;

/** Queue files for a folder, with the folders that they were in; `onDone` is called after each one that arrived. */
export function upload(bucket: string, folder: string, files: readonly ChosenFile[], onDone: () => void): void {
  const entries = files.map(({ file, path }): UploadEntry => ({
    id: ++lastId,
    bucket,
    name: folder + path,
    file,
    sent: 0,
    state: "waiting",
    error: "",
    isTaken: false,
  }));
  uploads.set([...uploads.get(), ...entries]);
  startNext(onDone);
}

/** Try an upload again; with `replaces` in the place of the file that has its name. */
export function retry(entry: UploadEntry, replaces: boolean, onDone: () => void): void {
  change(entry.id, { state: "waiting", error: "", isTaken: false });
  void start(entry, replaces, onDone);
}

/** Stop an upload; what arrived is kept for a while. The next one that waits begins. */
export function stop(entry: UploadEntry, onDone: () => void): void {
  void running.get(entry.id)?.abort();
  finish(entry.id, { state: "stopped" });
  startNext(onDone);
}

/** Remove the entries of uploads that have ended. */
export function clearEnded(): void {
  uploads.set(uploads.get().filter(({ state }) => state === "running" || state === "waiting"));
}

function startNext(onDone: () => void): void {
  const waiting = uploads.get().filter(({ state }) => state === "waiting");
  const free = mostAtOnce - uploads.get().filter(({ state }) => state === "running").length;
  for (const entry of waiting.slice(0, Math.max(0, free))) void start(entry, false, onDone);
}

async function start(entry: UploadEntry, replaces: boolean, onDone: () => void): Promise<void> {
  change(entry.id, { state: "running" });
  const { bucket, name, file } = entry;
  try {
    const [signed, { Upload }] = await Promise.all([
      run("storage.sign_upload", { bucket, name, replaces }),
      import("tus-js-client"),
    ]);
    const transfer = new Upload(file, {
      endpoint: ownAddress(signed.resumable_url),
      headers: ownHeaders(signed.headers),
      metadata: { ...signed.metadata, contentType: file.type || "application/octet-stream" },
      chunkSize: chunkBytes,
      uploadDataDuringCreation: false,
      removeFingerprintOnSuccess: true,
      // The usual fingerprint lacks the name of the object: a file for another folder would continue in the wrong place.
      fingerprint: () => Promise.resolve(["headwater", bucket, name, file.size, file.lastModified].join(":")),
      onProgress: (sent) => change(entry.id, { sent }),
      onSuccess: () => {
        finish(entry.id, { state: "done", sent: file.size });
        onDone();
        startNext(onDone);
      },
      onError: (error) => {
        fail(entry.id, error);
        startNext(onDone);
      },
    });
    const earlier = await transfer.findPreviousUploads();
    // It was stopped while its address was signed.
    if (uploads.get().find(({ id }) => id === entry.id)?.state !== "running") return;
    running.set(entry.id, transfer);
    if (earlier[0]) transfer.resumeFromPreviousUpload(earlier[0]);
    transfer.start();
  } catch (error) {
    fail(entry.id, error);
    startNext(onDone);
  }
}

/** Return the headers without the one that the client of the protocol sends by itself: doubled it is refused. */
function ownHeaders(headers: { [name: string]: string }): { [name: string]: string } {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== "tus-resumable"));
}

function fail(id: number, error: unknown): void {
  const answer = responseOf(error);
  const status = "status" in (error as object) ? (error as { status: number }).status : answer.status;
  const isTaken = status === 409 || /already exists/i.test(answer.text);
  const text = isTaken ? storageTexts.uploads.exists : answer.text || (error instanceof Error ? error.message : "");
  finish(id, { state: "failed", error: text, isTaken });
}

/** Return status and message of the answer that made a transfer fail. */
function responseOf(error: unknown): { status: number; text: string } {
  const response = (error as { originalResponse?: { getStatus(): number; getBody(): string } | null }).originalResponse;
  if (!response) return { status: 0, text: "" };
  const text = response.getBody();
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return { status: response.getStatus(), text: typeof message === "string" ? message : text };
  } catch {
    return { status: response.getStatus(), text: text.slice(0, 300) };
  }
}

function finish(id: number, changes: Partial<UploadEntry>): void {
  running.delete(id);
  change(id, changes);
}

function change(id: number, changes: Partial<UploadEntry>): void {
  uploads.set(uploads.get().map((entry) => entry.id === id ? { ...entry, ...changes } : entry));
}
