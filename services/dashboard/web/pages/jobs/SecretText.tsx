import { CodeBlock } from "../../components/basics.tsx";
import { jobsTexts } from "./texts.ts";

/** A secret that the receiver checks signatures with. */
export function SecretText({ secret }: { secret: string }) {
  return (
    <>
      <p>{jobsTexts.events.secretText}</p>
      <CodeBlock label={jobsTexts.events.secret} code={secret} />
    </>
  );
}
