import { useState } from "react";
import { useChange, useOperation } from "../../api/hooks.ts";
import { Button } from "../../components/Button.tsx";
import { CodeWords } from "../../components/CodeWords.tsx";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import { Select } from "../../components/Select.tsx";
import { texts as shellTexts } from "../../texts.ts";
import { branchesTexts } from "./texts.ts";

const texts = branchesTexts.form;
type Time = keyof typeof texts.times;
const stops: readonly Time[] = ["setting", "0", "1800", "7200", "86400"];
const removals: readonly Time[] = ["setting", "0", "86400", "604800", "2592000"];
const form = /^[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$/;
const reserved = ["main", "master", "git"];

/** Ask for the name, the moment and the times of a branch, and have it made. */
export function NewBranch({ names, onClose }: { names: readonly string[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [moment, setMoment] = useState("");
  const [stopAfter, setStopAfter] = useState<Time>("setting");
  const [removeAfter, setRemoveAfter] = useState<Time>("setting");
  const archive = useOperation("backups.continuous", {});
  const create = useChange("branches.create", { invalidates: ["branches."], onDone: onClose, showsError: true });
  const isWrong = !form.test(name) || reserved.includes(name);
  const error = name === ""
    ? undefined
    : isWrong
    ? texts.nameWrong
    : names.includes(name)
    ? texts.nameTaken
    : undefined;
  const hasArchive = archive.data !== undefined && archive.data.state !== "off";
  const onSubmit = () => {
    if (isWrong || error !== undefined) return;
    create.mutate({
      name,
      moment: moment.trim(),
      stop_after_s: secondsOf(stopAfter),
      remove_after_s: secondsOf(removeAfter),
    });
  };
  return (
    <Dialog
      title={texts.title}
      isOpen
      onClose={onClose}
      onSubmit={onSubmit}
      error={create.error}
      footer={
        <>
          <Button onPress={onClose}>{shellTexts.actions.cancel}</Button>
          <Button
            type="submit"
            variant="primary"
            isPending={create.isPending}
            isDisabled={isWrong || error !== undefined}
          >
            {texts.make}
          </Button>
        </>
      }
    >
      <Field
        label={texts.name}
        value={name}
        onChange={setName}
        hint={texts.nameHint}
        error={error}
        autoComplete="off"
        isCode
        isRequired
        hasFocus
      />
      <Field
        label={texts.moment}
        value={moment}
        onChange={setMoment}
        hint={<CodeWords text={hasArchive ? texts.momentHint : texts.momentOff} />}
        isDisabled={!hasArchive}
        autoComplete="off"
      />
      <Select label={texts.stopAfter} choices={choicesOf(stops)} value={stopAfter} onChange={setStopAfter} />
      <Select label={texts.removeAfter} choices={choicesOf(removals)} value={removeAfter} onChange={setRemoveAfter} />
      <p className="soft">
        <CodeWords text={texts.masks} />
      </p>
    </Dialog>
  );
}

function choicesOf(times: readonly Time[]) {
  return times.map((id) => ({ id, label: texts.times[id] }));
}

function secondsOf(time: Time): number | null {
  return time === "setting" ? null : Number(time);
}
