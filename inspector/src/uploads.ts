import type { FileToSend, Session } from "interlingua/client";
import { isShownImageType } from "./format.ts";

/** Size up to which an image of the user is kept, so that the page can show it. */
const MAX_IMAGE_BYTES = 4 * 1024 * 1024;
/** Number of images that are kept. */
const MAX_IMAGES = 12;

/** Images that this page has uploaded, by their path on the server, as `data:` addresses. */
const images = new Map<string, string>();

/** The image at a path of the server, if this page has uploaded it. */
export function uploadedImage(path: string): string | undefined {
  return images.get(path);
}

export async function upload(session: Session, file: File): Promise<FileToSend> {
  const uploaded = await session.upload(file);
  if (isShownImageType(file.type) && file.size <= MAX_IMAGE_BYTES) {
    images.set(uploaded.path, await readAsDataUrl(file));
    const oldest = images.keys().next();
    if (images.size > MAX_IMAGES && oldest.done !== true) images.delete(oldest.value);
  }
  return uploaded;
}

/** A file as a `data:` address. The page may not show `blob:` addresses. */
export function readAsDataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error as Error);
    reader.readAsDataURL(file);
  });
}
