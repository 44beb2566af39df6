import { signal } from "@preact/signals";

/** Files that were dropped on the page, for the message that is written. */
export const droppedFiles = signal<readonly File[]>([]);
/** Whether files are held above the page. */
export const isDragging = signal(false);

/** Takes files that are dropped anywhere: the browser would leave the page and show them. */
export function startDrop(): void {
  const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    isDragging.value = true;
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) isDragging.value = false;
  });
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    isDragging.value = false;
    droppedFiles.value = [...(event.dataTransfer?.files ?? [])];
  });
}
