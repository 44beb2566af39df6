/**
 * The feed of all pages of a browser. A browser opens six connections to a server at most, so that pages with a stream
 * each would block one another.
 */
import { Feed, type FeedMessage, type Subscriber } from "./feed.ts";

/** What a page tells the worker. */
export type FeedRequest =
  | { readonly kind: "subscribe"; readonly token: string | undefined; readonly session: string | null }
  | { readonly kind: "follow"; readonly session: string | null }
  | { readonly kind: "announce"; readonly id: string }
  | { readonly kind: "unsubscribe" };

/** One feed for each token: pages with different tokens may see different things. */
const feeds = new Map<string | undefined, Feed>();

addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0] as MessagePort;
  const subscriber: Subscriber = { session: null, send: (message: FeedMessage) => port.postMessage(message) };
  let feed: Feed | undefined;
  const leave = () => {
    feed?.remove(subscriber);
    feed = undefined;
  };
  port.onmessage = ({ data }: MessageEvent<FeedRequest>) => {
    switch (data.kind) {
      case "subscribe":
        leave();
        feed = feeds.get(data.token) ?? new Feed(location.origin, data.token);
        feeds.set(data.token, feed);
        subscriber.session = data.session;
        feed.add(subscriber);
        break;
      case "follow":
        subscriber.session = data.session;
        break;
      case "announce":
        feed?.announce(subscriber, data.id);
        break;
      case "unsubscribe":
        leave();
        break;
    }
  };
  // Browsers that know this event send it when a page crashes.
  port.addEventListener("close", leave);
});
