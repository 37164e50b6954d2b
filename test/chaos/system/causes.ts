interface FailureLine {
  readonly requestId?: string;
  readonly path?: string;
  readonly err?: { readonly stack?: string; readonly code?: string };
}

/** The lines of API logs that say why requests failed, by request id. */
export class FailureCauses {
  readonly #causes = new Map<string, string>();

  /** Reads a line of a log. */
  read(name: string, line: string): void {
    if (!line.includes('"a request failed; the client gets a 5xx response"') || !line.includes('"level":"error"')) return;
    const { requestId, path, err } = parsed(line);
    if (requestId === undefined) return;
    this.#causes.set(requestId, `${name} logged for ${path}: ${err?.code ?? ''} ${err?.stack ?? 'no stack'}`);
  }

  /** Adds the cause to a sentence that names the id of a failed request. */
  explain(sentence: string): string {
    const id = /\(request ([\w.-]+)\)/.exec(sentence)?.[1] ?? '';
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
