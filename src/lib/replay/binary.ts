/** A simulation that the arcade refuses to register, with the reason. */
export class SimulationError extends Error {
  override name = 'SimulationError';
}

/**
 * Reads the binary format of WebAssembly: bytes, and integers in LEB128.
 * @see https://webassembly.github.io/spec/core/binary/
 */
export class Reader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  offset: number;

  constructor(bytes: Uint8Array, offset = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.offset = offset;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.offset >= this.#end;
  }

  /** @throws SimulationError when no byte is left */
  byte(): number {
    const value = this.isAtEnd ? undefined : this.#bytes[this.offset];
    if (value === undefined) throw new SimulationError('the module ends too early');
    this.offset += 1;
    return value;
  }

  /** Reads an unsigned integer of at most 32 bits in at most 5 bytes. */
  u32(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80 && value < 2 ** 32) return value;
    }
    throw new SimulationError('an integer of the module has more than 32 bits');
  }

  /** Skips an integer of at most 64 bits, signed or unsigned. */
  skipInteger(): void {
    for (let count = 0; this.byte() >= 0x80; count += 1) {
      if (count === 9) throw new SimulationError('an integer of the module has more than 64 bits');
    }
  }

  take(length: number): Uint8Array {
    if (length > this.#end - this.offset) throw new SimulationError('the module ends too early');
    this.offset += length;
    return this.#bytes.subarray(this.offset - length, this.offset);
  }

  /** Returns a reader of the next bytes, and skips these bytes. */
  part(length: number): Reader {
    const start = this.offset;
    this.take(length);
    return new Reader(this.#bytes, start, start + length);
  }

  /** Returns the bytes between two offsets. */
  between(start: number, end: number): Uint8Array {
    return this.#bytes.subarray(start, end);
  }
}

/** Writes the binary format of WebAssembly. */
export class Writer {
  #bytes = new Uint8Array(1_024);
  #length = 0;

  byte(...values: number[]): this {
    return this.bytes(values);
  }

  bytes(values: ArrayLike<number>): this {
    const needed = this.#length + values.length;
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(values, this.#length);
    this.#length = needed;
    return this;
  }

  u32(value: number): this {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    return this.byte(rest);
  }

  /** Writes a signed integer. It is not negative and below 2^31. */
  signed(value: number): this {
    let rest = value;
    while (rest >= 0x40) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    return this.byte(rest);
  }

  /** Writes a list of bytes with its length in front. */
  sized(values: Uint8Array): this {
    return this.u32(values.length).bytes(values);
  }

  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.#length);
  }
}
