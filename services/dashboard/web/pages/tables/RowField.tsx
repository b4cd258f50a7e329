import { useState } from "react";
import { Badge } from "../../components/basics.tsx";
import { Button } from "../../components/Button.tsx";
import type { TableColumn } from "../../generated/operations.ts";
import { Shown } from "./ConflictDialog.tsx";
import { tablesTexts as texts } from "./texts.ts";
import { isWritable, type TextValue } from "./values.ts";
import { ValueField } from "./ValueField.tsx";

/** A column in a form: its name and type, its value, and NULL or the default as a choice. */
export function RowField({ column, value, onChange, isNew, isReadOnly, isFirst }: {
  column: TableColumn;
  value: TextValue | undefined;
  onChange: (value: TextValue | undefined) => void;
  isNew?: boolean;
  isReadOnly?: boolean;
  isFirst?: boolean;
}) {
  // Editors that keep a text of their own begin anew after a button gave the value.
  const [version, setVersion] = useState(0);
  const give = (next: TextValue | undefined) => {
    onChange(next);
    setVersion(version + 1);
  };
  const isFixed = !isWritable(column);
  const fixedNote = column.generated === null ? texts.edit.identity : texts.edit.generated;
  const preset = column.identity !== null
    ? texts.edit.identity
    : column.default === null
    ? null
    : texts.edit.isDefault(column.default);
  return (
    <div className="tables-field">
      <div className="tables-field-head">
        <span className="tables-field-name">{column.name}</span>
        <code className="tables-type">{column.type}</code>
        {!column.is_nullable && !isFixed && preset === null && <Badge>{texts.edit.required}</Badge>}
        {isNew && !isFixed && value === undefined && preset !== null && <span className="hint">{preset}</span>}
        {!isFixed && !isReadOnly && (
          <span className="tables-field-actions">
            {isNew && value !== undefined && preset !== null && (
              <Button
                size="small"
                variant="quiet"
                onPress={() => give(undefined)}
              >
                {texts.edit.useDefault}
              </Button>
            )}
            {column.is_nullable && value !== null && (value !== undefined || preset !== null) && (
              <Button
                size="small"
                variant="quiet"
                aria-label={`${texts.edit.setNull}: ${column.name}`}
                onPress={() => give(null)}
              >
                {texts.edit.setNull}
              </Button>
            )}
          </span>
        )}
      </div>
      {column.comment && <p className="hint">{column.comment}</p>}
      {isFixed || isReadOnly
        ? (
          <div className="tables-fixed">
            {value === undefined ? <span className="soft">{fixedNote}</span> : <Shown value={value} />}
            {value !== undefined && isFixed && <span className="hint">{fixedNote}</span>}
          </div>
        )
        : (
          <ValueField
            key={version}
            column={column}
            value={value ?? null}
            onChange={onChange}
            hasFocus={isFirst ?? false}
            {...(isNew && value === undefined && preset === null ? { placeholder: texts.edit.null } : {})}
          />
        )}
    </div>
  );
}
