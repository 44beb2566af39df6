/** Numbers, times and texts for people. */

export function formatCount(count: number): string {
  if (count < 10_000) return count.toLocaleString("en");
  if (count < 1_000_000) return `${(count / 1_000).toFixed(1)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
}

const CLOCK = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });

/** A time of the day, with the day if it is not today. */
export function formatTime(time: string, now = new Date()): string {
  const date = new Date(time);
  const clock = CLOCK.format(date);
  return date.toDateString() === now.toDateString() ? clock : `${DAY.format(date)}, ${clock}`;
}

/** How long ago a time was. */
export function formatAge(time: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - time) / 1000));
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} kB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** Escape sequences of terminals. */
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Characters that change the direction in which the text around them is shown. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text without control characters; characters that reorder text are shown by their number. */
export function sanitize(text: string): string {
  return text
    .replace(/\r\n/g, "\n")
    .replace(ESCAPES, "")
    .replace(DIRECTION, (character) => `[U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);
}

/** Whether a link leads to the web or to a mail address. */
export function isSafeLink(target: string): boolean {
  return /^(https?:\/\/|mailto:)/i.test(target.trim());
}

/** Types of images that are shown. SVG is not among them, because it can contain links and scripts. */
const SHOWN_IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];
const SHOWN_IMAGE = new RegExp(`^data:(?:${SHOWN_IMAGE_TYPES.join("|")});base64,[A-Za-z0-9+/=\\s]*$`);

export function isShownImageType(type: string): boolean {
  return SHOWN_IMAGE_TYPES.includes(type);
}

/** Whether an image is shown: only its bytes, never an address. */
export function isShownImage(path: string): boolean {
  return SHOWN_IMAGE.test(path);
}
