import { useState } from "react";
import { useChange, useOperation } from "../../api/hooks.ts";
import { CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Select } from "../../components/Select.tsx";
import { ErrorNote } from "../../components/states.tsx";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.share;
const choices = Object.entries(texts.choices).map(([id, label]) => ({ id, label }));

/** Addresses of a file: the public one if its bucket is public, and signed ones. */
export function Share({ bucket, name }: { bucket: string; name: string }) {
  const [lasts, setLasts] = useState("3600");
  const buckets = useOperation("storage.buckets", { search: bucket });
  const isPublic = buckets.data?.rows.some((row) => row.id === bucket && row.public) ?? false;
  const open = useOperation("storage.public_url", { bucket, name }, { isEnabled: isPublic });
  const sign = useChange("storage.sign", { showsError: true });
  return (
    <div className="storage-form">
      {isPublic && open.data && (
        <section>
          <h3>{texts.public}</h3>
          <p className="hint">{texts.publicHint}</p>
          <CodeBlock label={texts.public} code={open.data.url} />
        </section>
      )}
      <section className="storage-form">
        <div>
          <h3>{texts.signed}</h3>
          <p className="hint">{texts.signedHint}</p>
        </div>
        <Select label={texts.lasts} choices={choices} value={lasts} onChange={setLasts} />
        <div>
          <Button
            isPending={sign.isPending}
            onPress={() => sign.mutate({ bucket, name, lasts_s: Number(lasts) })}
          >
            {texts.make}
          </Button>
        </div>
        {sign.data && <CodeBlock label={texts.signed} code={sign.data.url} />}
        <ErrorNote error={sign.error} />
      </section>
    </div>
  );
}
