import { Handle, type NodeProps, Position } from "@xyflow/react";
import { memo, useContext } from "react";
import { schemaTexts } from "../texts.ts";
import { type Box, type BoxColumn, largeHead, mostColumns, nameParts, nameSize, roomForKeys } from "./boxes.ts";
import { DrawingContext, type TableNode } from "./drawing.ts";

const texts = schemaTexts.diagram;

/** A table: its name alone, its name and keys, or all of its columns. The size of the box does not depend on it. */
export const TableBox = memo(function TableBox({ data: { box }, selected }: NodeProps<TableNode>) {
  const { detail, level, nameZoom } = useContext(DrawingContext);
  // In a box with room for all columns the keys are written larger, so that they are legible from afar.
  const isLarge = detail === "auto" && level === "keys";
  return (
    <div
      className={`schema-box${selected ? " is-selected" : ""}${isLarge ? " is-large" : ""}${
        box.isTable ? "" : " is-view"
      }`}
      style={{ width: box.width, height: box.height }}
    >
      <Handle type="target" id="in" position={Position.Left} className="schema-anchor" isConnectable={false} />
      <Handle type="source" id="out" position={Position.Right} className="schema-anchor" isConnectable={false} />
      {level === "names"
        ? <BoxName box={box} size={detail === "auto" ? nameSize(box, nameZoom) : nameSize(box, 1)} />
        : <BoxColumns box={box} isLarge={isLarge} rows={level === "keys" ? box.keys : box.columns} />}
    </div>
  );
});

function BoxName({ box, size }: { box: Box; size: number }) {
  return (
    <div className="schema-box-alone" style={{ fontSize: size }}>
      <span>
        <BrokenName name={box.name} />
      </span>
    </div>
  );
}

/** A name that may be broken between its parts. */
function BrokenName({ name }: { name: string }) {
  return nameParts(name).map((part, index) => (
    <span key={index}>
      {part}
      <wbr />
    </span>
  ));
}

function BoxColumns({ box, isLarge, rows }: { box: Box; isLarge: boolean; rows: readonly BoxColumn[] }) {
  const room = isLarge ? roomForKeys(box) : mostColumns;
  return (
    <>
      <div className="schema-box-name cut" title={box.name} style={isLarge ? { height: largeHead(box) } : {}}>
        <BrokenName name={box.name} />
      </div>
      {rows.slice(0, room).map((column) => <ColumnRow key={column.name} table={box.name} column={column} />)}
      {rows.length > room && <div className="schema-box-column faint">{texts.more(rows.length - room)}</div>}
    </>
  );
}

function ColumnRow({ table, column }: { table: string; column: BoxColumn }) {
  const { marked, mayChange } = useContext(DrawingContext);
  const { name, type, isPrimary, isKey, isNullable, refersTo, outside } = column;
  const isMarked = marked?.[0] === table && marked[1] === name;
  const mark = isPrimary ? texts.primary : refersTo.length > 0 ? texts.foreign : "";
  return (
    <div
      className={`schema-box-column${isMarked ? " is-marked" : ""}`}
      title={[`${name} ${type}${isNullable ? "" : " not null"}`, ...refersTo.map((other) => texts.refersTo(other))]
        .join("\n")}
    >
      {mayChange && isKey && (
        <Handle
          type="target"
          id={`to ${name}`}
          position={Position.Left}
          className="schema-drop"
          isConnectableStart={false}
        />
      )}
      <span className="schema-box-mark">{mark}</span>
      <span className={`cut${isPrimary ? " schema-box-key" : ""}`}>{name}</span>
      <span className="schema-box-type cut">{outside === null ? type : texts.outside(outside)}</span>
      {mayChange && (
        <Handle
          type="source"
          id={`from ${name}`}
          position={Position.Right}
          className="schema-drag"
          isConnectableEnd={false}
        />
      )}
    </div>
  );
}
