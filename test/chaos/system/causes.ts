interface FailureLine {
  readonly requestId?: string;
  readonly path?: string;
  readonly closing?: string;
  readonly err?: { readonly stack?: string; readonly code?: string };
}

/** The lines of logs that say why requests and shutdowns failed. */
export class FailureCauses {
  /** By request id, and by name of the process that shut down. */
  readonly #causes = new Map<string, string>();

  /** Reads a line of a log. */
  read(name: string, line: string): void {
    if (line.includes('"the shutdown timed out')) this.#causes.set(name, `it was closing: ${parsed(line).closing}`);
    if (!line.includes('"a request failed; the client gets a 5xx response"') || !line.includes('"level":"error"')) return;
    const { requestId, path, err } = parsed(line);
    if (requestId === undefined) return;
    this.#causes.set(requestId, `${name} logged for ${path}: ${err?.code ?? ''} ${err?.stack ?? 'no stack'}`);
  }

  /** Adds the cause to a sentence that names the id of a failed request, or a process that got SIGTERM. */
  explain(sentence: string): string {
    const id =
      /\(request ([\w.-]+)\)|^([\w-]+) got SIGTERM/
        .exec(sentence)
        ?.slice(1)
        .find((name) => name !== undefined) ?? '';
    const cause = this.#causes.get(id);
    return cause === undefined ? sentence : `${sentence}\n  ${cause}`;
  }
}

/** Returns the fields of a line. Empty when the process was killed while it wrote the line. */
function parsed(line: string): FailureLine {
  try {
    return JSON.parse(line) as FailureLine;
  } catch {
    return {};
  }
}
