/**
 * A response body that is JSON text already, for example because a worker encoded it. In production, the router sends the text without a validation. Outside
 * production, it validates the value by the schema of the route, like every other body.
 * @template T the value that the text encodes
 */
export class JsonText<T = unknown> {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  parse(): T {
    return JSON.parse(this.text);
  }
}
