import "@xyflow/react/dist/style.css";
import {
  Background,
  Controls,
  MarkerType,
  MiniMap,
  type NodeChange,
  ReactFlow,
  ReactFlowProvider,
  useNodesState,
  useStore,
  useUpdateNodeInternals,
} from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
import { pathOf, useGo, useSearch } from "../../../address.tsx";
import { Toolbar } from "../../../components/basics.tsx";
import { Button } from "../../../components/Button.tsx";
import { Select } from "../../../components/Select.tsx";
import type { Diagram } from "../../../generated/operations.ts";
import { CreateTable } from "../../tables/CreateTable.tsx";
import { useChangeFlow } from "../changeFlow.tsx";
import { addForeignKey } from "../forms.ts";
import { schemaTexts } from "../texts.ts";
import type { Link, Places } from "./arrange.ts";
import { type Box, boxesOf, type Detail, heightOf, levelOf, levels, zoomStep } from "./boxes.ts";
import { DiagramSearch } from "./DiagramSearch.tsx";
import { type Drawing, DrawingContext, type KeyLine as KeyLineEdge, type TableNode } from "./drawing.ts";
import { KeyLine } from "./KeyLine.tsx";
import { usePlaces } from "./places.ts";
import { SelectedTable } from "./SelectedTable.tsx";
import { TableBox } from "./TableBox.tsx";
import { padding, useView } from "./view.ts";
import "./diagram.css";

const texts = schemaTexts.diagram;
const details: readonly Detail[] = ["auto", ...levels];
const nodeTypes = { table: TableBox };
const edgeTypes = { key: KeyLine };
/** From so many tables on, only what is in view is drawn: the others would have no place in the order of Tab. */
const mostDrawn = 150;
const grid: [number, number] = [20, 20];

/** The drawing of a schema: tables that are found, moved, and changed by SQL that is shown first. */
export default function DiagramCanvas({ diagram }: { diagram: Diagram }) {
  return (
    <ReactFlowProvider>
      <Canvas diagram={diagram} />
    </ReactFlowProvider>
  );
}

function Canvas({ diagram }: { diagram: Diagram }) {
  const { schema } = diagram;
  const go = useGo();
  const { ask, mayChange } = useChangeFlow();
  const [search, changeSearch] = useSearch();
  const [isCreating, setCreating] = useState(false);
  const searchField = useRef<HTMLInputElement>(null);
  const detail = details.find((name) => name === search["detail"]) ?? "auto";
  const boxes = useMemo(() => boxesOf(diagram, detail), [diagram, detail]);
  const links = useMemo(() => linksOf(diagram), [diagram]);
  const kept = usePlaces(schema, detail, boxes, links);
  const [nodes, setNodes, applyChanges] = useNodesState<TableNode>([]);
  useEffect(() => setNodes(nodesOf(boxes, kept.places)), [boxes, kept.places]);
  const selected = boxes.find(({ name }) => name === search["table"]) ?? null;
  const column = search["column"];
  const marked = useMemo(
    () => selected && column ? [selected.name, column] as const : null,
    [selected?.name, column],
  );
  const level = useStore(({ transform }) => levelOf(detail, transform[2]));
  const nameZoom = useStore(({ transform }) => zoomStep(transform[2]));
  const drawing = useMemo<Drawing>(
    () => ({ detail, level, nameZoom, marked, mayChange }),
    [detail, level, nameZoom, marked, mayChange],
  );
  const update = useUpdateNodeInternals();
  // Rows that appear bring points from which keys are drawn; the package measures them when it is told to.
  useEffect(() => update(boxes.map(({ name }) => name)), [level, mayChange, boxes]);
  const view = useView(boxes, kept.places, detail, selected?.name, column);
  const edges = useMemo(() => edgesOf(diagram, boxes, detail, selected?.name), [
    diagram,
    boxes,
    detail,
    selected?.name,
  ]);
  const shown = useMemo(() => nodes.map((node) => withSelection(node, selected?.name)), [nodes, selected?.name]);

  const onNodesChange = (changes: NodeChange<TableNode>[]) => {
    // What is selected stands in the address.
    const selections = changes.filter((change) => change.type === "select");
    const chosen = selections.find((change) => change.selected);
    if (chosen) changeSearch({ table: chosen.id, column: null });
    else if (selections.some(({ id }) => id === selected?.name)) changeSearch({ table: null, column: null });
    applyChanges(changes.filter((change) => change.type !== "select"));
    // Moves by arrow keys; those of the mouse end with onNodeDragStop. A table moves over others freely, as it must get past them.
    const moves = changes.filter((change) => change.type === "position" && change.dragging === false);
    if (moves.length === 0) return;
    const places = placesOf(nodes);
    for (const move of moves) if (move.type === "position" && move.position) places.set(move.id, move.position);
    if (
      moves.some((move) =>
        move.type === "position" && move.position && isElsewhere(kept.places, move.id, move.position)
      )
    ) {
      kept.keep(places);
    }
  };
  const onFind = (table: string, found: string | null) => {
    const box = boxes.find(({ name }) => name === table);
    const isHidden = found !== null &&
      (detail === "names" || (detail === "keys" && !box?.keys.some((key) => key.name === found)));
    changeSearch({ table, column: found, ...(isHidden ? { detail: null } : {}) });
    view.reveal(table, found);
  };
  return (
    <DrawingContext value={drawing}>
      <div className="schema-drawing">
        <Toolbar label={texts.tools}>
          <DiagramSearch boxes={boxes} input={searchField} onFind={onFind} />
          <Select
            label={texts.detail}
            hidesLabel
            choices={details.map((id) => ({ id, label: texts.details[id] }))}
            value={detail}
            onChange={(next) => changeSearch({ detail: next === "auto" ? null : next })}
          />
          {kept.isMoved && (
            <Button
              icon="restore"
              onPress={() => {
                kept.reset();
                view.fitNext();
              }}
            >
              {texts.arrange}
            </Button>
          )}
          {mayChange && <Button icon="plus" onPress={() => setCreating(true)}>{schemaTexts.tables.create}</Button>}
        </Toolbar>
        <div
          className="schema-diagram"
          role="region"
          aria-label={texts.label(schema)}
          onKeyDown={(event) => {
            const id = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node")?.dataset["id"];
            if (event.key === "Enter" && id !== undefined) go(pathOf("schema", "tables", schema, id));
            else if (event.key === "/") searchField.current?.focus();
            else if (!view.onKey(event)) return;
            event.preventDefault();
          }}
        >
          {selected && (
            <SelectedTable
              schema={schema}
              box={selected}
              onClose={() => changeSearch({ table: null, column: null })}
            />
          )}
          <ReactFlow
            nodes={shown}
            edges={edges}
            onNodesChange={onNodesChange}
            onNodeDragStop={(_, node) => {
              const places = placesOf(nodes).set(node.id, node.position);
              if (isElsewhere(kept.places, node.id, node.position)) kept.drop(node.id, places);
            }}
            onNodeDoubleClick={(_, node) => go(pathOf("schema", "tables", schema, node.id))}
            onConnect={(connection) =>
              ask(addForeignKey({ schema, name: connection.source }, {
                column: columnOf(connection.sourceHandle),
                table: connection.target,
                target: columnOf(connection.targetHandle),
              }))}
            isValidConnection={({ sourceHandle, targetHandle, source, target }) =>
              targetHandle?.startsWith("to ") === true &&
              (source !== target || columnOf(sourceHandle ?? null) !== columnOf(targetHandle))}
            nodeTypes={nodeTypes}
            edgeTypes={edgeTypes}
            defaultMarkerColor="var(--line-strong)"
            minZoom={0.05}
            maxZoom={2}
            snapToGrid
            snapGrid={grid}
            nodesConnectable={mayChange}
            edgesFocusable={false}
            deleteKeyCode={null}
            selectionKeyCode={null}
            multiSelectionKeyCode={null}
            panActivationKeyCode={null}
            zoomOnDoubleClick={false}
            onlyRenderVisibleElements={boxes.length > mostDrawn}
            ariaLabelConfig={texts.keys}
            proOptions={{ hideAttribution: true }}
            tabIndex={0}
            aria-label={texts.canvas}
          >
            <Background />
            <Controls showInteractive={false} fitViewOptions={{ padding, maxZoom: 1 }} />
            {!view.isWhole && <MiniMap pannable zoomable nodeBorderRadius={16} />}
          </ReactFlow>
        </div>
      </div>
      {isCreating && (
        <CreateTable
          schema={schema}
          onClose={() => setCreating(false)}
          onCreated={(table) => {
            changeSearch({ table, column: null });
            view.reveal(table, null);
          }}
        />
      )}
    </DrawingContext>
  );
}

function linksOf(diagram: Diagram): Link[] {
  const names = new Set(diagram.tables.map(({ name }) => name));
  return diagram.foreign_keys
    .filter(({ target }) => target.schema === diagram.schema && names.has(target.table))
    .map(({ table, target }): Link => [table, target.table]);
}

function nodesOf(boxes: readonly Box[], places: Places): TableNode[] {
  return boxes.map((box) => ({
    id: box.name,
    type: "table",
    position: places.get(box.name)!,
    width: box.width,
    height: box.height,
    ariaLabel: texts.table(box.name, box.columns.length, [...new Set(box.keys.flatMap(({ refersTo }) => refersTo))]),
    data: { box },
  }));
}

function edgesOf(diagram: Diagram, boxes: readonly Box[], detail: Detail, selected: string | undefined): KeyLineEdge[] {
  const byName = new Map(boxes.map((box) => [box.name, box]));
  const lines = diagram.foreign_keys.flatMap((key): KeyLineEdge[] => {
    const from = byName.get(key.table);
    const to = key.target.schema === diagram.schema ? byName.get(key.target.table) : undefined;
    if (!from || !to) return [];
    const isRelated = selected === from.name || selected === to.name;
    const color = isRelated ? { color: "var(--accent)" } : {};
    return [{
      id: `${key.table} ${key.name}`,
      type: "key",
      source: from.name,
      sourceHandle: "out",
      target: to.name,
      targetHandle: "in",
      markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16, ...color },
      ariaLabel: `${key.table}: ${texts.refers(key.columns.join(", "), key.target.table)}`,
      data: {
        from: heightOf(from, detail, key.columns[0]),
        to: heightOf(to, detail, key.target.columns[0]),
        isRelated,
      },
    }];
  });
  // Later ones are drawn above earlier ones: those of the selected table are seen from end to end.
  return lines.sort((a, b) => Number(a.data?.isRelated) - Number(b.data?.isRelated));
}

function withSelection(node: TableNode, selected: string | undefined): TableNode {
  const isSelected = node.id === selected;
  return (node.selected ?? false) === isSelected ? node : { ...node, selected: isSelected };
}

function placesOf(nodes: readonly TableNode[]): Map<string, { x: number; y: number }> {
  return new Map(nodes.map(({ id, position }) => [id, position]));
}

function isElsewhere(places: Places, table: string, { x, y }: { x: number; y: number }): boolean {
  const place = places.get(table);
  return place === undefined || Math.abs(place.x - x) >= 1 || Math.abs(place.y - y) >= 1;
}

/** Return the column of a handle, whose id is `from <column>` or `to <column>`. */
function columnOf(handle: string | null): string {
  return handle?.slice(handle.indexOf(" ") + 1) ?? "";
}
