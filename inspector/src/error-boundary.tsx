import { Component, type ComponentChildren } from "preact";
import { errorText } from "./notify.ts";

interface Props {
  /** What could not be shown. */
  what: string;
  /** Another value tries again. */
  attempt: unknown;
  children: ComponentChildren;
}

interface State {
  failure: string | null;
  attempt: unknown;
}

/** Shows an error in the place of what failed, so that the rest of the page stays. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { failure: null, attempt: this.props.attempt };

  static override getDerivedStateFromProps({ attempt }: Props, state: State): State | null {
    return attempt === state.attempt ? null : { failure: null, attempt };
  }

  static override getDerivedStateFromError(error: unknown): Partial<State> {
    return { failure: errorText(error) };
  }

  override render() {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    return (
      <div class="card error" role="alert">
        <p>
          The page cannot show {this.props.what}: {failure}
        </p>
      </div>
    );
  }
}
