import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";

/** Height of a row that was not measured yet. */
const ESTIMATED_HEIGHT = 64;
/** What is rendered above and below the visible part. */
const OVERSCAN = 600;
/** Distance from an end within which more rows are asked for. */
const LOAD_DISTANCE = 1_200;
/** Distance from the end within which the list follows new rows. */
const FOLLOW_DISTANCE = 40;
/** Distance from the top at which a row is shown that the address names. */
const TARGET_OFFSET = 80;

/** A row to show. */
export interface Target {
  readonly key: string;
  /** Whether the list scrolls only if the row is out of sight. */
  readonly isNearest?: boolean;
  /** Changes when the row is to be shown again. */
  readonly request: unknown;
}

interface Props<T> {
  /** Another array if a row has come or gone. */
  rows: readonly T[];
  rowKey: (row: T) => string;
  render: (row: T, index: number) => ComponentChildren;
  label: string;
  role: "list" | "log";
  estimate?: number;
  /** Starts at the end and stays there while rows are added. */
  followEnd?: boolean;
  /** Whether the list is at its end. True brings it there. */
  isFollowing?: boolean;
  onFollow?: (isFollowing: boolean) => void;
  /** Where the list was scrolled to when it was last shown. */
  position?: Position;
  /** Called while rows are missing near the start or end of what is visible. Absent if there are none to come. */
  onNearStart?: (() => void) | undefined;
  onNearEnd?: (() => void) | undefined;
  target?: Target | null;
  header?: ComponentChildren;
  footer?: ComponentChildren;
}

/** Where a list is scrolled to. */
export interface Position {
  isFollowing: boolean;
  top: number;
  height: number;
  /** The row at the top, which stays where it is when rows above it are added or measured. */
  anchor: { key: string; offset: number } | null;
}

/** The position of a list that was not shown before. */
export function newPosition(isFollowing: boolean): Position {
  return { isFollowing, top: 0, height: 800, anchor: null };
}

/** A list that renders only the rows that are visible. Rows may have any height, and may change it. */
export function VirtualList<T>(props: Props<T>) {
  const { rows, rowKey, render, followEnd = false, target, label, role, header, footer } = props;
  const estimate = props.estimate ?? ESTIMATED_HEIGHT;
  const scroller = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const heights = useMemo(() => new Map<string, number>(), []);
  const position = useRef<Position>(props.position ?? newPosition(followEnd)).current;
  const [measured, update] = useReducer((count: number) => count + 1, 0);
  const handlers = useRef(props);
  handlers.current = props;

  const offsets = useMemo(() => {
    if (heights.size > 2 * rows.length + 100) forgetOthers(heights, new Set(rows.map(rowKey)));
    const sums = new Float64Array(rows.length + 1);
    for (let index = 0; index < rows.length; index += 1) {
      sums[index + 1] = (sums[index] as number) + (heights.get(rowKey(rows[index] as T)) ?? estimate);
    }
    return sums;
  }, [rows, measured]);
  const total = offsets[rows.length] as number;

  const isFollowing = position.isFollowing && props.onNearEnd === undefined;
  if (isFollowing) {
    position.top = Math.max(0, total - position.height);
  } else if (position.anchor !== null) {
    const { key, offset } = position.anchor;
    const index = rows.findIndex((row) => rowKey(row) === key);
    if (index >= 0) position.top = Math.max(0, (offsets[index] as number) + offset);
  }
  const first = Math.max(0, upperBound(offsets, position.top - OVERSCAN) - 1);
  const last = Math.min(rows.length, upperBound(offsets, position.top + position.height + OVERSCAN));

  const measure = () => {
    let isChanged = false;
    for (const element of body.current?.children ?? []) {
      const key = (element as HTMLElement).dataset["key"];
      if (key === undefined) continue;
      const { height } = element.getBoundingClientRect();
      if (Math.abs((heights.get(key) ?? -1) - height) > 0.5) {
        heights.set(key, height);
        isChanged = true;
      }
    }
    if (isChanged) update(0);
  };

  const setAnchor = () => {
    const index = Math.max(0, upperBound(offsets, position.top) - 1);
    const row = rows[index];
    position.anchor = row === undefined ? null : { key: rowKey(row), offset: position.top - (offsets[index] as number) };
  };

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    position.height = element.clientHeight;
    const wanted = isFollowing ? element.scrollHeight - element.clientHeight : position.top + headerHeight(element);
    if (Math.abs(element.scrollTop - wanted) > 1) element.scrollTop = wanted;
    measure();
    if (position.top < LOAD_DISTANCE) props.onNearStart?.();
    if (position.top + position.height > total - LOAD_DISTANCE) props.onNearEnd?.();
  });

  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (position.height !== scroller.current?.clientHeight) update(0);
      measure();
    });
    if (scroller.current !== null) observer.observe(scroller.current);
    if (body.current !== null) observer.observe(body.current);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    if (props.isFollowing !== true || position.isFollowing) return;
    position.isFollowing = true;
    update(0);
  }, [props.isFollowing]);

  const targetIndex = target == null ? -1 : rows.findIndex((row) => rowKey(row) === target.key);
  useEffect(() => {
    const element = scroller.current;
    if (target == null || targetIndex < 0 || element === null) return;
    const top = offsets[targetIndex] as number;
    const bottom = offsets[targetIndex + 1] as number;
    if (target.isNearest === true) {
      if (top < position.top) position.anchor = { key: target.key, offset: 0 };
      else if (bottom > position.top + position.height) position.anchor = { key: target.key, offset: bottom - top - position.height };
      else return;
    } else {
      position.anchor = { key: target.key, offset: -TARGET_OFFSET };
    }
    position.isFollowing = false;
    props.onFollow?.(false);
    update(0);
  }, [target?.key, target?.request, targetIndex < 0]);

  const onScroll = () => {
    const element = scroller.current;
    if (element === null) return;
    const top = Math.max(0, element.scrollTop - headerHeight(element));
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < FOLLOW_DISTANCE;
    if (Math.abs(top - position.top) < 1 && isAtEnd === position.isFollowing) return;
    position.top = top;
    const { followEnd: follows = false, onFollow } = handlers.current;
    if (position.isFollowing !== (follows && isAtEnd)) {
      position.isFollowing = follows && isAtEnd;
      onFollow?.(position.isFollowing);
    }
    setAnchor();
    update(0);
  };

  return (
    <div class="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} role={role} aria-label={label} aria-live="off">
      {header}
      <div class="virtual" style={{ height: `${total}px` }} role="presentation">
        <div class="virtual-body" ref={body} style={{ transform: `translateY(${offsets[first]}px)` }} role="presentation">
          {rows.slice(first, last).map((row, index) => (
            <div
              key={rowKey(row)}
              data-key={rowKey(row)}
              class={target?.key === rowKey(row) && target.isNearest !== true ? "row target" : "row"}
              role={role === "list" ? "listitem" : undefined}
            >
              {render(row, first + index)}
            </div>
          ))}
        </div>
      </div>
      {footer}
    </div>
  );
}

function forgetOthers(heights: Map<string, number>, known: ReadonlySet<string>): void {
  for (const key of heights.keys()) if (!known.has(key)) heights.delete(key);
}

/** Height of what is above the rows. The list is the container that positions are relative to. */
function headerHeight(scroller: HTMLElement): number {
  return scroller.querySelector<HTMLElement>(":scope > .virtual")?.offsetTop ?? 0;
}

/** Index of the first offset that is greater than a value. */
function upperBound(offsets: Float64Array, value: number): number {
  let low = 0;
  let high = offsets.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((offsets[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface FixedProps {
  length: number;
  rowHeight: number;
  rowKey: (index: number) => string | number;
  render: (index: number) => ComponentChildren;
  label: string;
  /** Starts at the end and stays there while rows are added. */
  followEnd: boolean;
  /** Position of a row to show; null for none. */
  target: number | null;
}

/** A list of any length whose rows have the same height. */
export function FixedList({ length, rowHeight, rowKey, render, label, followEnd, target }: FixedProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const position = useRef(newPosition(followEnd && target === null)).current;
  const [, update] = useReducer((count: number) => count + 1, 0);
  const bottom = length * rowHeight;
  if (position.isFollowing) position.top = Math.max(0, bottom - position.height);
  const first = Math.max(0, Math.floor((position.top - OVERSCAN / 2) / rowHeight));
  const last = Math.min(length, Math.ceil((position.top + position.height + OVERSCAN / 2) / rowHeight));

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    if (position.height !== element.clientHeight) {
      position.height = element.clientHeight;
      update(0);
    }
    if (position.isFollowing) element.scrollTop = element.scrollHeight;
  });
  useEffect(() => {
    const observer = new ResizeObserver(() => update(0));
    if (scroller.current !== null) observer.observe(scroller.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (target === null || element === null || target >= length) return;
    position.isFollowing = false;
    const top = target * rowHeight;
    if (top < element.scrollTop || top + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = top - element.clientHeight / 3;
    }
  }, [target, length > (target ?? 0)]);

  const onScroll = () => {
    const element = scroller.current;
    if (element === null) return;
    position.top = element.scrollTop;
    position.isFollowing = followEnd && element.scrollHeight - element.scrollTop - element.clientHeight < FOLLOW_DISTANCE;
    update(0);
  };
  return (
    <div class="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} role="list" aria-label={label}>
      <div class="virtual" style={{ height: `${bottom}px` }} role="presentation">
        <div class="virtual-body" style={{ transform: `translateY(${first * rowHeight}px)` }} role="presentation">
          {Array.from({ length: Math.max(0, last - first) }, (_, index) => (
            <div key={rowKey(first + index)} class="row" role="listitem" aria-setsize={length} aria-posinset={first + index + 1}>
              {render(first + index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
