import { render } from "preact";
import { App } from "./app.tsx";
import { startRouter } from "./router.ts";
import { startSessionList } from "./session-list.ts";
import "./style.css";

startRouter();
startSessionList();
render(<App />, document.getElementById("app") as HTMLElement);
