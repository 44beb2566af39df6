import { render } from "preact";
import { App } from "./app.tsx";
import { startConnection } from "./connection.ts";
import { startDrop } from "./drop.ts";
import { startRouter } from "./router.ts";
import { startSessionList } from "./session-list.ts";
import { watchPage } from "./subscription.ts";
import "./style/index.css";

startRouter();
watchPage();
startDrop();
startSessionList();
startConnection();
render(<App />, document.getElementById("app") as HTMLElement);
