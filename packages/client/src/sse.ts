/** One block of an event stream, as defined in the HTML standard. */
export interface SseBlock {
  /** Id of the block; null when the block has no id. */
  readonly id: string | null;
  /** Data of the block; '' when the block has no data. */
  readonly data: string;
  /** Reconnect delay that the service sent in the block, ms; null when the block has none. */
  readonly retryMs: number | null;
}

/** Parses an event stream that arrives in pieces of any size. An incomplete block at the end of the stream is ignored. */
export class BlockReader {
  readonly #decoder = new TextDecoder();
  #rest = '';
  #id: string | null = null;
  #data: string[] = [];
  #retryMs: number | null = null;

  /**
   * Parses the next piece of the stream.
   * @returns the blocks that this piece completes; comment lines of the stream are omitted
   */
  read(bytes: Uint8Array): SseBlock[] {
    const blocks: SseBlock[] = [];
    // A CR at the end of the piece may be the first half of the line end CR LF, so it does not end the line yet.
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
