import { useState } from "react";
import { useChange } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Checkbox, Field } from "../../components/Field.tsx";
import type { BucketSummary } from "../../generated/operations.ts";
import { texts as shellTexts } from "../../texts.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.buckets;
const megabyte = 1024 * 1024;

/** Create a bucket, or change one: who reads it, its limits, its quota. */
export function BucketForm({ bucket, onClose }: { bucket: BucketSummary | null; onClose: () => void }) {
  const [name, setName] = useState(bucket?.id ?? "");
  const [isPublic, setPublic] = useState(bucket?.public ?? false);
  const [limit, setLimit] = useState(megabytesOf(bucket?.file_size_limit));
  const [types, setTypes] = useState(bucket?.allowed_mime_types?.join("\n") ?? "");
  const [quota, setQuota] = useState(megabytesOf(bucket?.quota));
  const options = { invalidates: ["storage."], showsError: true, onDone: onClose } as const;
  const create = useChange("storage.create_bucket", { ...options, doneText: texts.created(name.trim()) });
  const change = useChange("storage.change_bucket", { ...options, doneText: texts.changed(name.trim()) });
  const [limitBytes, quotaBytes] = [bytesOf(limit), bytesOf(quota)];
  const isReady = name.trim() !== "" && limitBytes !== undefined && quotaBytes !== undefined;
  const submit = () => {
    if (!isReady) return;
    const lines = types.split("\n").map((line) => line.trim()).filter(Boolean);
    const values = {
      bucket: name.trim(),
      public: isPublic,
      file_size_limit: limitBytes,
      allowed_mime_types: lines.length > 0 ? lines : null,
      quota: quotaBytes,
    };
    if (bucket) change.mutate(values);
    else create.mutate(values);
  };
  return (
    <Dialog
      title={bucket ? `${texts.edit}: ${bucket.id}` : texts.create}
      isOpen
      size="small"
      onClose={onClose}
      isDismissable={false}
      onSubmit={submit}
      error={create.error ?? change.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button
            type="submit"
            variant="primary"
            isDisabled={!isReady}
            isPending={create.isPending || change.isPending}
          >
            {bucket ? texts.editAction : texts.createAction}
          </Button>
        </>
      }
    >
      {!bucket && <Field label={texts.field} value={name} onChange={setName} autoComplete="off" isCode hasFocus />}
      <Checkbox isSelected={isPublic} onChange={setPublic}>{texts.isPublic}</Checkbox>
      <Field
        label={texts.sizeLimit}
        value={limit}
        onChange={setLimit}
        inputMode="decimal"
        hint={texts.sizeHint}
        error={limitBytes === undefined ? texts.badNumber : undefined}
      />
      <Field
        label={texts.quota}
        value={quota}
        onChange={setQuota}
        inputMode="decimal"
        hint={texts.quotaHint}
        error={quotaBytes === undefined ? texts.badNumber : undefined}
      />
      <Field label={texts.types} value={types} onChange={setTypes} lines={3} isCode hint={texts.typesHint} />
    </Dialog>
  );
}

function megabytesOf(bytes: number | null | undefined): string {
  return bytes ? String(bytes / megabyte) : "";
}

/** Return the bytes of a text in MB, null for an empty one, undefined for what is no number above 0. */
function bytesOf(text: string): number | null | undefined {
  if (text.trim() === "") return null;
  const value = Number(text) * megabyte;
  return Number.isFinite(value) && value >= 1 ? Math.round(value) : undefined;
}
