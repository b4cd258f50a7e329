import { useState } from "react";
import { useChange } from "../../api/hooks.ts";
import { CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { ErrorNote, Note } from "../../components/states.tsx";
import { ownAddress } from "./addresses.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.rendition;
const resizes = Object.entries(texts.resizes).map(([id, label]) => ({ id, label }));
const formats = (["any", "origin", "webp", "avif"] as const).map((id) => ({
  id,
  label: texts.formats[id === "any" ? "" : id],
}));

/** Build a rendition of an image: its address, and how it looks. */
export function Rendition({ bucket, name }: { bucket: string; name: string }) {
  const [width, setWidth] = useState("320");
  const [height, setHeight] = useState("");
  const [quality, setQuality] = useState("");
  const [resize, setResize] = useState("cover");
  const [format, setFormat] = useState<typeof formats[number]["id"]>("any");
  const [failed, setFailed] = useState("");
  const make = useChange("storage.rendition_url", { showsError: true });
  const submit = () =>
    make.mutate({
      bucket,
      name,
      width: numberOf(width),
      height: numberOf(height),
      quality: numberOf(quality),
      resize,
      format: format === "any" ? null : format,
    });
  return (
    <form
      className="storage-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="storage-pair">
        <Field label={texts.width} value={width} onChange={setWidth} inputMode="numeric" />
        <Field label={texts.height} value={height} onChange={setHeight} inputMode="numeric" />
        <Select label={texts.resize} choices={resizes} value={resize} onChange={setResize} />
        <Select label={texts.format} choices={formats} value={format} onChange={setFormat} />
        <Field label={texts.quality} value={quality} onChange={setQuality} inputMode="numeric" />
      </div>
      <div>
        <Button type="submit" isPending={make.isPending}>{texts.make}</Button>
      </div>
      <ErrorNote error={make.error} />
      {make.data && (
        <div className="storage-preview">
          <CodeBlock label={texts.address} code={make.data.url} />
          {failed === make.data.url
            ? <Note kind="warn">{texts.failed}</Note>
            : <img src={ownAddress(make.data.url)} alt={texts.preview} onError={() => setFailed(make.data.url)} />}
        </div>
      )}
    </form>
  );
}

function numberOf(text: string): number | null {
  const value = Number.parseInt(text, 10);
  return Number.isNaN(value) ? null : value;
}
