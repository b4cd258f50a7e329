import { useState } from "react";
import { useChange, useMay } from "../../api/hooks.ts";
import { CodeBlock } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import { Field } from "../../components/Field.tsx";
import { ErrorNote } from "../../components/states.tsx";
import { toast } from "../../components/toasts.ts";
import { performanceTexts } from "./texts.ts";

const texts = performanceTexts.advisors;

/** SQL that mends something, to copy, or to apply as a migration. `name` is what the migration is about. */
export function ApplyFix({ fix, name: about, onClose }: { fix: string; name: string; onClose: () => void }) {
  const [name, setName] = useState(`fix_${about}`.replaceAll(/[^\w]+/g, "_").slice(0, 60));
  const mayApply = useMay("migrations.apply");
  const apply = useChange("migrations.apply", {
    invalidates: ["advisors.", "statistics.", "migrations.", "catalog.", "policies."],
    showsError: true,
    onDone: ({ file }) => {
      toast.done(file.is_written ? texts.applied(file.path) : texts.appliedOnly(file.reason ?? ""));
      onClose();
    },
  });
  return (
    <>
      <CodeBlock label={texts.fixSql} code={fix} />
      {mayApply && (
        <form
          className="performance-form"
          onSubmit={(event) => {
            event.preventDefault();
            apply.mutate({ name, text: fix });
          }}
        >
          <Field label={texts.name} hint={texts.fixHint} value={name} onChange={setName} isCode autoComplete="off" />
          <ErrorNote error={apply.error} />
          <Button type="submit" variant="primary" isPending={apply.isPending} isDisabled={!name.trim()}>
            {texts.apply}
          </Button>
        </form>
      )}
    </>
  );
}
