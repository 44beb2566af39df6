import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Props {
  /** Content of the button. */
  title: ComponentChildren;
  /** What the button is called, if its content does not say it. */
  label?: string;
  class?: string;
  children: ComponentChildren;
  onOpen?: () => void;
}

/** A button that opens a panel. Escape and a click elsewhere close it. */
export function Menu({ title, label, class: name = "", children, onOpen }: Props) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // Before the menu can be seen, so that no key is missed.
  useLayoutEffect(() => {
    if (!isOpen) return;
    const onPointer = (event: Event) => {
      if (!(event.target instanceof Node && root.current?.contains(event.target))) setOpen(false);
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      // The menu is what Escape closes first.
      event.stopPropagation();
      setOpen(false);
      button.current?.focus();
    };
    document.addEventListener("pointerdown", onPointer, true);
    document.addEventListener("keydown", onKey, true);
    return () => {
      document.removeEventListener("pointerdown", onPointer, true);
      document.removeEventListener("keydown", onKey, true);
    };
  }, [isOpen]);
  const toggle = () => {
    if (!isOpen) onOpen?.();
    setOpen(!isOpen);
  };
  return (
    <div class={`menu ${name}`} ref={root}>
      <button type="button" ref={button} class="menu-button" aria-expanded={isOpen} aria-label={label} onClick={toggle}>
        {title}
      </button>
      {isOpen && <div class="menu-items">{children}</div>}
    </div>
  );
}
