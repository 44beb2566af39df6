import { render } from "preact";
import { App } from "./app.tsx";
import { startRefreshing } from "./connection.ts";
import { startRouter } from "./router.ts";
import "./style.css";

startRouter();
startRefreshing();
render(<App />, document.getElementById("app") as HTMLElement);
