import { useQuery } from "@tanstack/react-query";
import { useOperation } from "../../api/hooks.ts";
import { CodeBlock } from "../../components/basics.tsx";
import { Icon } from "../../components/Icon.tsx";
import { EmptyState, ErrorNote, Loading, QueryView } from "../../components/states.tsx";
import { formatBytes } from "../../format.ts";
import type { ObjectDetails } from "../../generated/operations.ts";
import { ownAddress } from "./addresses.ts";
import { baseOf } from "./lists.ts";
import { storageTexts } from "./texts.ts";

const texts = storageTexts.file;
const mostBytes = 64 * 1024;
const lastsS = 600;
const textTypes = /^(text\/|application\/(json|xml|javascript|sql|toml|yaml|x-sh|x-ndjson)|.*\+(json|xml)$)/;

/** Images as images, which run no scripts even as SVG; texts as text, HTML too; everything else can be downloaded. */
export function Preview({ bucket, object }: { bucket: string; object: ObjectDetails }) {
  const { name } = object;
  const type = object.mime_type ?? "";
  const signed = useOperation("storage.sign", { bucket, name, lasts_s: lastsS }, { staleAfter: lastsS * 500 });
  return (
    <QueryView query={signed}>
      {({ url }) => {
        const address = ownAddress(url);
        const separator = address.includes("?") ? "&" : "?";
        return (
          <div className="storage-preview">
            <a
              className="button button-plain button-small"
              href={`${address}${separator}download=${encodeURIComponent(baseOf(name))}`}
              download={baseOf(name)}
            >
              <Icon name="download" /> {texts.download}
            </a>
            {type.startsWith("image/")
              ? <img src={address} alt={baseOf(name)} />
              : textTypes.test(type)
              ? <TextPreview address={address} bytes={object.bytes ?? 0} />
              : <EmptyState icon="file" title={texts.noPreview} />}
          </div>
        );
      }}
    </QueryView>
  );
}

function TextPreview({ address, bytes }: { address: string; bytes: number }) {
  const text = useQuery({
    queryKey: ["text of a file", address],
    queryFn: async ({ signal }) => {
      const headers: HeadersInit = bytes > mostBytes ? { range: `bytes=0-${mostBytes - 1}` } : {};
      const response = await fetch(address, { signal, headers });
      if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
      return await response.text();
    },
  });
  if (text.error) return <ErrorNote error={text.error} />;
  if (text.data === undefined) return <Loading />;
  return (
    <>
      {bytes > mostBytes && <p className="hint">{texts.tooLong(formatBytes(mostBytes))}</p>}
      <CodeBlock code={text.data} label={texts.text} />
    </>
  );
}
