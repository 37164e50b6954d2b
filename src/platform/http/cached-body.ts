import { createHash } from 'node:crypto';
import type { z } from 'zod';

/** A JSON answer as it is sent, and the entity tag of its bytes. */
export interface Encoded {
  readonly text: string;
  readonly etag: string;
}

/** Tags a text with the hash of its bytes. */
export const encoded = (text: string): Encoded => ({ text, etag: createHash('sha256').update(text).digest('base64url').slice(0, 22) });

/**
 * A JSON body that many requests are handed: checked and encoded once for a shape, however often it is sent.
 * For reads that concurrent requests share. The value must not change any more.
 */
export class SharedBody<T = unknown> {
  readonly value: T;
  #known: { shape: z.ZodType; encoded: Encoded } | undefined;

  constructor(value: T) {
    this.value = value;
  }

  /** @param encode checks the value by the shape and writes it */
  encode(shape: z.ZodType, encode: (value: T) => string): Encoded {
    if (this.#known?.shape !== shape) this.#known = { shape, encoded: encoded(encode(this.value)) };
    return this.#known.encoded;
  }

  toJSON(): T {
    return this.value;
  }
}
