/** One block of an event stream, as the HTML standard reads it. */
export interface Block {
  /** The id that it sets; null = it sets none. */
  readonly id: string | null;
  /** '' = a block without a message. */
  readonly data: string;
  /** What the service asks clients to wait before they connect again, ms; null = nothing said. */
  readonly retryMs: number | null;
}

/** Reads a stream, in whatever pieces it comes; a block that was cut off is none. */
export class Blocks {
  readonly #decoder = new TextDecoder();
  #rest = '';
  #id: string | null = null;
  #data: string[] = [];
  #retryMs: number | null = null;

  /** @returns the blocks that are complete with this piece, those of comments alone left out */
  read(bytes: Uint8Array): Block[] {
    const blocks: Block[] = [];
    // A \r at the end may be half of a line's end.
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') this.#field(line);
      else {
        if (this.#id !== null || this.#data.length > 0 || this.#retryMs !== null)
          blocks.push({ id: this.#id, data: this.#data.join('\n'), retryMs: this.#retryMs });
        this.#id = null;
        this.#data = [];
        this.#retryMs = null;
      }
    }
    return blocks;
  }

  #field(line: string): void {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#data.push(value);
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.#retryMs = Number(value);
  }
}
