/**
 * A response body that is JSON text already, for example because a worker encoded it. In production it is sent as it is. Outside production it is validated
 * by the schema of the route like every other body.
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
