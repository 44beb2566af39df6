import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef } from "preact/hooks";

/** Height of a row that was not measured yet. */
const ESTIMATED_HEIGHT = 64;
/** What is rendered above and below the visible part. */
const OVERSCAN = 600;
/** Distance from the end within which the list follows new rows. */
const FOLLOW_DISTANCE = 40;

interface Props<T> {
  rows: readonly T[];
  rowKey: (row: T) => string;
  render: (row: T, index: number) => ComponentChildren;
  /** Starts at the end and stays there while rows are added. */
  followEnd?: boolean;
  /** Called when the user comes near the start. */
  onStart?: () => void;
  /** Row to show. */
  target?: string | null;
  label: string;
  estimate?: number;
  header?: ComponentChildren;
}

/** A list that renders only the rows that are visible. Rows may have any height, and may change it. */
export function VirtualList<T>(props: Props<T>) {
  const { rows, rowKey, render, followEnd = false, onStart, target, label, header } = props;
  const estimate = props.estimate ?? ESTIMATED_HEIGHT;
  const scroller = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const heights = useMemo(() => new Map<string, number>(), []);
  const state = useRef({ isFollowing: followEnd, top: 0, height: 800, anchor: null as { key: string; offset: number } | null });
  const [, update] = useReducer((count: number) => count + 1, 0);

  const offsets = new Float64Array(rows.length + 1);
  for (let index = 0; index < rows.length; index += 1) {
    offsets[index + 1] = (offsets[index] as number) + (heights.get(rowKey(rows[index] as T)) ?? estimate);
  }
  const total = offsets[rows.length] as number;

  const current = state.current;
  // Keeps the row at the top where it is when rows above it are added or measured.
  if (current.isFollowing) current.top = Math.max(0, total - current.height);
  else if (current.anchor !== null) {
    const { key, offset } = current.anchor;
    const index = rows.findIndex((row) => rowKey(row) === key);
    if (index >= 0) current.top = Math.max(0, (offsets[index] as number) + offset);
  }
  const first = Math.max(0, upperBound(offsets, current.top - OVERSCAN) - 1);
  const last = Math.min(rows.length, upperBound(offsets, current.top + current.height + OVERSCAN));

  const measure = () => {
    let changed = false;
    for (const element of body.current?.children ?? []) {
      const key = (element as HTMLElement).dataset["key"];
      if (key === undefined) continue;
      const height = (element as HTMLElement).getBoundingClientRect().height;
      if (Math.abs((heights.get(key) ?? -1) - height) > 0.5) {
        heights.set(key, height);
        changed = true;
      }
    }
    if (changed) update(0);
  };

  const setAnchor = () => {
    const index = Math.max(0, upperBound(offsets, current.top) - 1);
    const row = rows[index];
    current.anchor = row === undefined ? null : { key: rowKey(row), offset: current.top - (offsets[index] as number) };
  };

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    current.height = element.clientHeight;
    const wanted = current.isFollowing ? element.scrollHeight - element.clientHeight : current.top + headerHeight(element);
    if (Math.abs(element.scrollTop - wanted) > 1) element.scrollTop = wanted;
    measure();
  });

  useEffect(() => {
    const observer = new ResizeObserver(() => measure());
    const element = scroller.current;
    if (element !== null) observer.observe(element);
    if (body.current !== null) observer.observe(body.current);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (target == null) return;
    const index = rows.findIndex((row) => rowKey(row) === target);
    if (index < 0) return;
    current.isFollowing = false;
    current.anchor = { key: target, offset: -80 };
    update(0);
  }, [target, rows.length === 0]);

  const onScroll = () => {
    const element = scroller.current;
    if (element === null) return;
    const top = Math.max(0, element.scrollTop - headerHeight(element));
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < FOLLOW_DISTANCE;
    if (Math.abs(top - current.top) < 1 && isAtEnd === current.isFollowing) return;
    current.top = top;
    current.isFollowing = followEnd && isAtEnd;
    setAnchor();
    update(0);
    if (top < OVERSCAN * 2) onStart?.();
  };

  return (
    <div class="scroller" ref={scroller} onScroll={onScroll} tabIndex={0} role="log" aria-label={label} aria-live="off">
      {header}
      <div class="virtual" style={{ height: `${total}px` }}>
        <div class="virtual-body" ref={body} style={{ transform: `translateY(${offsets[first]}px)` }}>
          {rows.slice(first, last).map((row, index) => (
            <div key={rowKey(row)} data-key={rowKey(row)} class="row">
              {render(row, first + index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function headerHeight(scroller: HTMLElement): number {
  const body = scroller.querySelector<HTMLElement>(":scope > .virtual");
  return body === null ? 0 : body.offsetTop - scroller.offsetTop;
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
